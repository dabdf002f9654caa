//! Directives of pbrt files, and the graphics state that they change.

use std::{collections::BTreeMap, path::Path, rc::Rc};

use glam::{DAffine3, DMat3, DMat4, DVec3};

use super::{
    Converter,
    lights::Emission,
    materials::Described,
    parameters::Parameters,
    tokens::{Token, Tokens, read_text},
};
use crate::{
    builder::transform::rotation,
    error::excerpt,
    files::{count_included, display_path},
};

/// Last part of the error messages for scenes of pbrt-v3 and older.
const OLD_VERSION: &str =
    "pbrt-v3 or older; convert the scene with `pbrt --upgrade OLD.pbrt > NEW.pbrt`";
/// Largest depth of included files.
const MAX_DEPTH: usize = 32;
/// Largest number of default parameters for directives of one kind, because each directive copies them.
const MAX_DEFAULTS: usize = 64;
/// Largest number of graphics states that are saved at once.
const MAX_STATES: usize = 1 << 12;

/// The graphics state: what shapes and lights depend on besides their own parameters.
#[derive(Clone)]
pub(super) struct State {
    /// Transform to the world.
    pub(super) transform: DAffine3,
    /// Material of the shapes that follow; `None` before the first one.
    pub(super) material: Option<Rc<Described>>,
    /// Emission of the shapes that follow; `None` if they do not emit.
    pub(super) emission: Option<Rc<Emission>>,
    /// Names of the media inside and outside of the shapes that follow; empty for none.
    pub(super) media: [Rc<str>; 2],
    /// Whether the fronts of shapes are turned to their backs.
    pub(super) reverses: bool,
    /// Parameters of the directives that follow and do not have them, by the target of `Attribute`, such as `shape`.
    defaults: Rc<BTreeMap<String, Parameters>>,
    /// Whether transforms change the state; they do not while only the end of the shutter's time is active.
    transforms: bool,
}

impl Default for State {
    fn default() -> State {
        State {
            transform: DAffine3::IDENTITY,
            material: None,
            emission: None,
            media: [Rc::from(""), Rc::from("")],
            reverses: false,
            defaults: Rc::default(),
            transforms: true,
        }
    }
}

impl Converter {
    /// Reads a file of the scene. Fails with a message that names the line.
    pub(super) fn file(&mut self, path: &Path) -> Result<(), String> {
        let text = read_text(path)?;
        if !self.open.is_empty() {
            count_included(&mut self.included_bytes, text.len() as u64)?;
        }
        self.open.push(path.to_owned());
        let mut tokens = Tokens::new(&text);
        loop {
            let read = match tokens.next() {
                Ok(None) => break,
                Ok(Some(Token::Word(directive))) => self
                    .directive(directive, &mut tokens)
                    .map_err(|problem| format!("{}: {problem}", excerpt(directive))),
                Ok(Some(_)) => Err("expected a directive such as Shape".to_owned()),
                Err(problem) => Err(problem),
            };
            read.map_err(|problem| format!("line {}: {problem}", tokens.line))?;
        }
        self.open.pop();
        Ok(())
    }

    /// Executes the directive with this name, and reads its parameters from `tokens`. Fails if it is unknown or
    /// invalid.
    fn directive(&mut self, name: &str, tokens: &mut Tokens) -> Result<(), String> {
        let is_done = self.state_directive(name, tokens)?
            || self.view_directive(name, tokens)?
            || self.world_directive(name, tokens)?;
        match name {
            _ if is_done => Ok(()),
            "WorldEnd" | "Renderer" | "SurfaceIntegrator" | "VolumeIntegrator" => {
                Err(format!("is a directive of {OLD_VERSION}"))
            }
            _ => Err("is no directive of pbrt-v4; correct or remove it".to_owned()),
        }
    }

    /// Executes a directive that changes, saves or restores the transform and the other state. Returns `false` for
    /// another directive.
    fn state_directive(&mut self, name: &str, tokens: &mut Tokens) -> Result<bool, String> {
        match name {
            "Identity" => self.set_transform(DAffine3::IDENTITY),
            "Translate" => {
                let by = DVec3::from_array(tokens.numbers()?);
                self.transform(DAffine3::from_translation(by));
            }
            "Scale" => {
                let by = DVec3::from_array(tokens.numbers()?);
                self.transform(DAffine3::from_scale(by));
            }
            "Rotate" => {
                let [angle, x, y, z] = tokens.numbers()?;
                let matrix = rotation(DVec3::new(x, y, z), angle);
                let matrix = matrix.ok_or("expected an axis with a length above 0")?;
                self.transform(DAffine3::from_mat3(matrix));
            }
            "LookAt" => {
                let numbers: [f64; 9] = tokens.numbers()?;
                let [origin, target, up] = [0, 3, 6].map(|at| DVec3::from_slice(&numbers[at..]));
                self.transform(
                    look_at(origin, target, up)
                        .ok_or("expected a position and a target that differ")?,
                );
            }
            "ConcatTransform" => {
                let matrix = DMat4::from_cols_array(&tokens.numbers()?);
                self.transform(DAffine3::from_mat4(matrix));
            }
            "Transform" => {
                let matrix = DMat4::from_cols_array(&tokens.numbers()?);
                self.set_transform(DAffine3::from_mat4(matrix));
            }
            "CoordinateSystem" => {
                let name = tokens.text("a name")?;
                self.systems.insert(name, self.state.transform);
            }
            "CoordSysTransform" => {
                let name = tokens.text("a name")?;
                match self.systems.get(&name) {
                    Some(&transform) => self.set_transform(transform),
                    None => {
                        return Err(format!(
                            "there is no coordinate system \"{}\"",
                            excerpt(&name)
                        ));
                    }
                }
            }
            "ReverseOrientation" => self.state.reverses = !self.state.reverses,
            "ActiveTransform" => {
                self.state.transforms = tokens.next()? != Some(Token::Word("EndTime"));
                self.note("not shown: motion; everything is at the start of its motion");
            }
            "TransformTimes" => {
                let _: [f64; 2] = tokens.numbers()?;
            }
            "AttributeBegin" | "TransformBegin" => {
                if self.stack.len() >= MAX_STATES {
                    return Err(format!("more than {MAX_STATES} states are saved at once"));
                }
                self.stack.push(self.state.clone());
            }
            "AttributeEnd" => {
                self.state = self
                    .stack
                    .pop()
                    .ok_or("there is no AttributeBegin before it")?;
            }
            "TransformEnd" => {
                let saved = self
                    .stack
                    .pop()
                    .ok_or("there is no TransformBegin before it")?;
                self.state.transform = saved.transform;
            }
            "WorldBegin" => {
                self.state = State {
                    media: self.state.media.clone(),
                    ..State::default()
                };
                self.systems.insert("world".to_owned(), DAffine3::IDENTITY);
                self.in_world = true;
            }
            "MakeNamedMedium" => {
                let (name, parameters) = typed(tokens)?;
                self.named_medium(name, &parameters)?;
            }
            "MediumInterface" => {
                let inside: Rc<str> = tokens.text("a medium")?.into();
                let outside = match tokens.peek()? {
                    Some(Token::Text(_)) => tokens.text("a medium")?.into(),
                    _ => inside.clone(),
                };
                self.state.media = [inside, outside];
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Executes a directive about the view and the method of the render. Returns `false` for another directive.
    fn view_directive(&mut self, name: &str, tokens: &mut Tokens) -> Result<bool, String> {
        match name {
            "Camera" => {
                let (kind, parameters) = self.typed("Camera", tokens)?;
                let to_world = self.state.transform.inverse();
                self.systems.insert("camera".to_owned(), to_world);
                self.camera = Some((kind, parameters, to_world));
                self.around_camera = self.state.media[1].to_string();
            }
            "Film" => {
                let (kind, parameters) = self.typed("Film", tokens)?;
                if kind == "image" {
                    return Err(format!("its film `image` is of {OLD_VERSION}"));
                }
                if !["rgb", "gbuffer", "spectral"].contains(&kind.as_str()) {
                    self.note(format!("not used: the film `{}`", excerpt(&kind)));
                }
                self.film = parameters;
            }
            "PixelFilter" => self.filter = Some(self.typed("PixelFilter", tokens)?),
            "Sampler" => {
                let (kind, parameters) = self.typed("Sampler", tokens)?;
                self.sampler(&kind, &parameters);
            }
            "Integrator" => {
                let integrator = self.typed("Integrator", tokens)?;
                self.integrator(&integrator);
            }
            "Accelerator" => {
                typed(tokens)?;
            }
            "Option" => {
                let options = Parameters::read(tokens)?;
                self.options(&options);
            }
            "ColorSpace" => {
                let name = tokens.text("a color space")?;
                if name != "srgb" {
                    self.note(format!(
                        "not used: the color space `{}`; colors are sRGB",
                        excerpt(&name)
                    ));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Executes a directive about what the scene contains. Returns `false` for another directive.
    fn world_directive(&mut self, name: &str, tokens: &mut Tokens) -> Result<bool, String> {
        match name {
            "Attribute" => {
                let target = tokens.text("a target")?;
                let parameters = Parameters::read(tokens)?;
                self.attribute(target, parameters)?;
            }
            "Material" => {
                let (kind, parameters) = self.typed("Material", tokens)?;
                self.state.material = Some(self.described(kind, parameters, String::new()));
            }
            "MakeNamedMaterial" => {
                let (name, mut parameters) = typed(tokens)?;
                let kind = parameters.text("type", "").to_owned();
                self.check_names("Material", &kind, &parameters);
                self.add_defaults("Material", &mut parameters);
                let material = self.described(kind, parameters, name.clone());
                self.named.insert(name, material);
            }
            "NamedMaterial" => {
                let name = tokens.text("a name")?;
                match self.named.get(&name) {
                    Some(material) => self.state.material = Some(material.clone()),
                    None => {
                        self.note_unknown_material(&name);
                        self.state.material = None;
                    }
                }
            }
            "Texture" => self.texture(tokens)?,
            "Shape" => {
                let (kind, parameters) = self.typed("Shape", tokens)?;
                self.shape(&kind, &parameters)?;
            }
            "LightSource" => {
                let (kind, parameters) = self.typed("LightSource", tokens)?;
                self.light(&kind, &parameters)?;
            }
            "AreaLightSource" => {
                let (kind, parameters) = self.typed("AreaLightSource", tokens)?;
                if kind != "diffuse" {
                    let kind = excerpt(&kind);
                    self.note(format!(
                        "approximated: area lights of type `{kind}` by `diffuse`"
                    ));
                }
                self.emissions += 1;
                self.state.emission = Some(Rc::new(Emission {
                    number: self.emissions,
                    parameters,
                }));
            }
            "ObjectBegin" => {
                let name = tokens.text("a name")?;
                if self.object.is_some() {
                    return Err("objects cannot be nested; end the one before".to_owned());
                }
                self.stack.push(self.state.clone());
                self.object = Some((name, Vec::new()));
            }
            "ObjectEnd" => {
                let (name, shapes) = self
                    .object
                    .take()
                    .ok_or("there is no ObjectBegin before it")?;
                self.objects.insert(name, Rc::new(shapes));
                if let Some(state) = self.stack.pop() {
                    self.state = state;
                }
            }
            "ObjectInstance" => {
                let name = tokens.text("a name")?;
                self.instance(&name)?;
            }
            "Include" | "Import" => {
                let name = tokens.text("a file name")?;
                self.include(&name)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads the type of a directive and its parameters like [`typed`], with those of `Attribute`, and reports
    /// parameters that it does not have.
    fn typed(
        &mut self,
        directive: &str,
        tokens: &mut Tokens,
    ) -> Result<(String, Parameters), String> {
        let (kind, mut parameters) = typed(tokens)?;
        self.check_names(directive, &kind, &parameters);
        self.add_defaults(directive, &mut parameters);
        Ok((kind, parameters))
    }

    /// Makes parameters those of the directives that follow and do not have them. Fails if pbrt has no such target, or
    /// if the target has too many parameters.
    fn attribute(&mut self, target: String, mut parameters: Parameters) -> Result<(), String> {
        if !["shape", "light", "material", "medium", "texture"].contains(&target.as_str()) {
            return Err(format!(
                "found the target \"{}\", expected shape, light, material, medium or texture",
                excerpt(&target)
            ));
        }
        let defaults = Rc::make_mut(&mut self.state.defaults);
        let known = defaults.entry(target).or_default();
        // Later parameters replace earlier ones of their names.
        parameters.add_missing(known);
        if parameters.count() > MAX_DEFAULTS {
            return Err(format!(
                "more than {MAX_DEFAULTS} parameters of one target; write them into its directives"
            ));
        }
        *known = parameters;
        Ok(())
    }

    /// Adds the parameters of `Attribute` for a directive to those that it has.
    pub(super) fn add_defaults(&self, directive: &str, parameters: &mut Parameters) {
        let target = match directive {
            "Shape" => "shape",
            "LightSource" | "AreaLightSource" => "light",
            "Material" => "material",
            "Texture" => "texture",
            _ => return,
        };
        if let Some(defaults) = self.state.defaults.get(target) {
            parameters.add_missing(defaults);
        }
    }

    /// Makes a transform apply to points before that of the state. Does nothing while only the end of the shutter's
    /// time is active.
    fn transform(&mut self, transform: DAffine3) {
        if self.state.transforms {
            self.state.transform *= transform;
        }
    }

    /// Replaces the transform of the state. Does nothing while only the end of the shutter's time is active.
    fn set_transform(&mut self, transform: DAffine3) {
        if self.state.transforms {
            self.state.transform = transform;
        }
    }

    /// Reads an included file. Fails if it is missing, includes itself, or there are too many.
    fn include(&mut self, name: &str) -> Result<(), String> {
        let path = self.files.file(name)?;
        if self.open.contains(&path) {
            return Err(format!(
                "`{}` includes itself; remove the directive",
                excerpt(name)
            ));
        }
        if self.open.len() > MAX_DEPTH {
            return Err(format!(
                "`{}` is included by too many files in turn",
                excerpt(name)
            ));
        }
        let problem = |problem| format!("{}: {problem}", display_path(&path));
        self.file(&path).map_err(problem)
    }

    /// Numbers a material that a directive describes.
    fn described(&mut self, kind: String, parameters: Parameters, name: String) -> Rc<Described> {
        self.described += 1;
        Rc::new(Described {
            number: self.described,
            kind,
            name,
            parameters,
        })
    }
}

/// Reads the type of a directive and its parameters.
pub(super) fn typed(tokens: &mut Tokens) -> Result<(String, Parameters), String> {
    let kind = tokens.text("a type")?;
    Ok((kind, Parameters::read(tokens)?))
}

/// Returns the transform from the world to a camera at `origin` that looks at `target`. The camera looks along +z, with
/// +x to the right in the image. Returns `None` if both are the same point. An `up` along the view is replaced.
fn look_at(origin: DVec3, target: DVec3, up: DVec3) -> Option<DAffine3> {
    let forward = (target - origin).try_normalize()?;
    let right = up.cross(forward).try_normalize();
    let right = right.unwrap_or_else(|| forward.any_orthonormal_vector());
    let to_world = DAffine3 {
        matrix3: DMat3::from_cols(right, forward.cross(right), forward),
        translation: origin,
    };
    Some(to_world.inverse())
}
