//! Shapes of Mitsuba: meshes, tessellated shapes, spheres, groups and instances.

use std::{f64::consts::TAU, path::Path, rc::Rc};

use glam::{DAffine3, DMat4, DVec3};

use super::{Converter, affine, bsdf, document::Object, serialized, values::Value};
use crate::{
    error::{escaped, excerpt},
    import::{
        MAX_SHAPES, Tessellated,
        bump::uv_extent,
        even_scale,
        materials::{Color, emit},
        media::shows_inside,
        mesh_files,
        shapes::{self, DiskCoordinates},
    },
    limits::check_brightness,
    model::{ModelInstance, ModelMesh},
    scene::{MaterialTextures, Parameter, Surface},
};

/// The way in which the meshes of a file are read; files are shared between shapes that read them in the same way.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Reading {
    /// Number of the mesh in a `.serialized` file, from 0; 0 for other files.
    index: u64,
    /// Whether the file's normals are replaced by those of the faces.
    facets: bool,
    /// Whether the front is turned to the back.
    flip: bool,
    /// Whether the transform of the shape mirrors.
    mirrored: bool,
    /// Whether v grows upwards in the file.
    flip_v: bool,
    /// Whether the material has a normal map or a bump map or is anisotropic, which needs normals at the vertices.
    bent: bool,
    /// Whether the material has a normal map.
    has_normal_map: bool,
    /// Whether the vertex or face colors of the file multiply the color of the material.
    has_colors: bool,
}

impl Converter<'_> {
    /// Converts a shape with `transform` after its own. Its meshes are added to `group`, or to the scene if that is
    /// `None`.
    pub(super) fn shape(
        &mut self,
        object: &Rc<Object>,
        transform: DAffine3,
        mut group: Option<&mut Vec<ModelInstance>>,
    ) -> Result<(), String> {
        let document = self.document;
        self.shapes += 1;
        if self.shapes > MAX_SHAPES {
            return Err(format!(
                "is one of more than {MAX_SHAPES} shapes; split the scene"
            ));
        }
        if document.child_of_kind(object, "subsurface").is_some() {
            self.scene.note("not shown: subsurface scattering");
        }
        for id in document.dangling(object) {
            let one = format!(
                "no object has the id `{}`, to which a shape refers",
                excerpt(id)
            );
            let several = "no objects have {} ids to which shapes refer, such as `{first}`";
            self.scene.note_each(several, id, one);
        }
        let to_world = transform * self.transform(object, "to_world");
        let flip = object.flag("flip_normals", false);
        match object.plugin.as_str() {
            // Groups are shown by their instances.
            "shapegroup" => Ok(()),
            "instance" => {
                let inner = document.children(object).map(|(_, child)| child);
                let of = inner.filter(|child| child.plugin == "shapegroup").last();
                let Some(of) = of else {
                    self.scene
                        .note("not shown: instances without a shape group");
                    return Ok(());
                };
                for &instance in self.group(of)?.iter() {
                    let instance = self.scene.instance_of_group(&to_world, instance)?;
                    self.scene.push_instance(instance, group.as_deref_mut())?;
                }
                Ok(())
            }
            "merge" => self.nested(object, |own| {
                for (_, child) in document.children(object) {
                    if child.tag == "shape" {
                        own.shape(child, to_world, group.as_deref_mut())?;
                    }
                }
                Ok(())
            }),
            "sphere" => self.sphere(object, to_world, flip, group),
            "rectangle" => self.mesh(
                object,
                "rectangle",
                shapes::rectangle(),
                to_world,
                flip,
                group,
            ),
            "cube" => self.mesh(object, "cube", shapes::cube(), to_world, flip, group),
            "disk" => {
                let disk = shapes::disk(0.0, TAU, DiskCoordinates::RadiusAngle);
                self.note_tessellated();
                self.mesh(object, "disk", disk, to_world, flip, group)
            }
            "cylinder" => {
                let vector = |name: &str, default: DVec3| match object.value(name) {
                    Some(&Value::Vector(vector)) => vector,
                    _ => default,
                };
                let (from, to) = (vector("p0", DVec3::ZERO), vector("p1", DVec3::Z));
                let radius = object.number("radius", 1.0);
                let axis = to - from;
                let (side, up) = match self.shows_coordinates(object)? {
                    // The axes of T. Duff et al. (2017), as in Mitsuba.
                    true => axis.normalize_or(DVec3::Z).any_orthonormal_pair(),
                    // The films of others depend on where their edges are.
                    false => {
                        let side = axis.any_orthogonal_vector().normalize_or_zero();
                        (side, axis.cross(side).normalize_or_zero())
                    }
                };
                let place = DAffine3::from_cols(side * radius, up * radius, axis, from);
                self.note_tessellated();
                let cylinder = shapes::cylinder(0.0, 1.0, TAU);
                self.mesh(object, "cylinder", cylinder, to_world * place, flip, group)
            }
            "obj" | "ply" | "serialized" => self.mesh_file(object, to_world, flip, group),
            "bsplinecurve" | "linearcurve" => self.curves(object, to_world, group),
            plugin => {
                let plugin = excerpt(plugin);
                let text = format!("not shown: {{}} of type `{plugin}`");
                self.scene.model.note_count(&text, ["shape", "shapes"], 1);
                Ok(())
            }
        }
    }

    /// Adds the warning about shapes that become meshes.
    fn note_tessellated(&mut self) {
        self.scene
            .note("approximated: disks, cylinders and stretched or textured spheres by meshes");
    }

    /// Returns the meshes of a shape group.
    fn group(&mut self, object: &Rc<Object>) -> Result<Rc<Vec<ModelInstance>>, String> {
        if let Some(known) = self.groups.get(&object.number) {
            return Ok(known.clone());
        }
        let document = self.document;
        let mut placed = Vec::new();
        self.nested(object, |own| {
            for (_, child) in document.children(object) {
                if child.tag == "shape" {
                    own.shape(child, DAffine3::IDENTITY, Some(&mut placed))?;
                }
            }
            Ok(())
        })?;
        let placed = Rc::new(placed);
        self.groups.insert(object.number, placed.clone());
        Ok(placed)
    }

    /// Converts a sphere. One that is stretched, textured, turned inside out or in a group becomes a mesh.
    fn sphere(
        &mut self,
        object: &Rc<Object>,
        to_world: DAffine3,
        flip: bool,
        group: Option<&mut Vec<ModelInstance>>,
    ) -> Result<(), String> {
        let center = match object.value("center") {
            Some(&Value::Vector(center)) => center,
            _ => DVec3::ZERO,
        };
        let radius = object.number("radius", 1.0);
        let place = DMat4::from_translation(center) * DMat4::from_scale(DVec3::splat(radius));
        let place = to_world * affine(place);
        // A mirrored sphere has its front inside, as in Mitsuba.
        let inside = flip != (place.matrix3.determinant() < 0.0);
        let circumference = (TAU * place.matrix3.x_axis.length()) as f32;
        let Some(material) = self.material(object, [circumference, circumference / 2.0])? else {
            return Ok(());
        };
        let even = even_scale(&place);
        if even.is_none() {
            self.scene.note("shown as ellipsoids: spheres whose `to_world` scales unevenly, which Mitsuba shows round");
        }
        if let Some(radius) = even
            && !inside
            && !self.scene.is_textured(material)
            && group.is_none()
        {
            return self.scene.push_sphere(&place, radius, material);
        }
        self.note_tessellated();
        // The mesh of a mirrored sphere keeps its front outside.
        let mesh = shapes::sphere(-1.0, 1.0, TAU, false);
        self.mesh(object, "sphere", mesh, place, inside, group)
    }

    /// Adds the mesh of a shape that has no file, such as a rectangle.
    fn mesh(
        &mut self,
        object: &Rc<Object>,
        kind: &'static str,
        mut mesh: ModelMesh,
        to_world: DAffine3,
        flip: bool,
        group: Option<&mut Vec<ModelInstance>>,
    ) -> Result<(), String> {
        if flip {
            mesh.flip();
        }
        let mirrored = to_world.matrix3.determinant() < 0.0;
        let right_handed = self.has_normal_map(object)?.then_some(mirrored);
        let size = uv_extent(&mesh, &to_world, right_handed);
        let Some(material) = self.material(object, size)? else {
            return Ok(());
        };
        let shape = Tessellated {
            kind,
            parameters: [0; 3],
            flipped: flip,
            right_handed,
        };
        self.orient_normal_map(object, &mut mesh, mirrored)?;
        let mesh = self.scene.push_tessellated(shape, mesh, material)?;
        let instance = ModelInstance {
            mesh,
            material,
            transform: to_world,
        };
        self.scene.push_instance(instance, group)
    }

    /// Adds the meshes of a file. The file is read once for all shapes that use it in the same way.
    fn mesh_file(
        &mut self,
        object: &Rc<Object>,
        to_world: DAffine3,
        flip: bool,
        mut group: Option<&mut Vec<ModelInstance>>,
    ) -> Result<(), String> {
        let name = object.text("filename", "");
        let path = self.files.find_by_last_component(name)?;
        if self.scene.is_missing(name, &path) {
            return Ok(());
        }
        let bumped = self.relief_size(object, [1.0; 2])?.is_some();
        let has_normal_map = self.has_normal_map(object)?;
        let mirrored = to_world.matrix3.determinant() < 0.0;
        let facets = object.flag("face_normals", false);
        let reading = Reading {
            index: match object.plugin.as_str() {
                "serialized" => object.number("shape_index", 0.0).clamp(0.0, 1e9) as u64,
                _ => 0,
            },
            facets,
            flip,
            mirrored,
            flip_v: object.flag("flip_tex_coords", object.plugin == "obj"),
            bent: bumped || self.needs_tangents(object)?,
            has_normal_map,
            has_colors: self.shows_mesh_colors(object)?,
        };
        let read = |path: &Path| {
            let is_serialized = object.plugin == "serialized";
            let mut meshes = match is_serialized {
                true => vec![serialized::read(path, reading.index)?],
                false => mesh_files::read(path, reading.has_colors)?,
            };
            prepare(&mut meshes, is_serialized, reading)?;
            Ok(meshes)
        };
        let model = &mut self.scene.model;
        let meshes = self.meshes.indices(model, &path, reading, read)?;
        for &mesh in meshes.iter() {
            let right_handed = has_normal_map.then_some(mirrored);
            let of_file = &self.scene.model.meshes[mesh];
            let transform = of_file.placed(to_world);
            let size = uv_extent(of_file, &to_world, right_handed);
            let Some(mut material) = self.material(object, size)? else {
                return Ok(());
            };
            if reading.has_colors {
                let model = &mut self.scene.model;
                let is_blend = matches!(model.materials[material].surface, Surface::Blend { .. });
                if model.meshes[mesh].colors.is_none() {
                    let text = "not shown: a `mesh_attribute` of {} without colors";
                    model.note_count(text, ["mesh", "meshes"], 1);
                } else if is_blend {
                    let text = "not shown: the colors of {} whose BSDF is a blend";
                    model.note_count(text, ["mesh", "meshes"], 1);
                }
                material = model.with_vertex_colors(mesh, material)?;
            }
            let instance = ModelInstance {
                mesh,
                material,
                transform,
            };
            self.scene.push_instance(instance, group.as_deref_mut())?;
        }
        Ok(())
    }

    /// Adds the tangents that the normal map of a shape's BSDF needs, and the normals of the faces to a mesh without
    /// normals. `mirrored` tells whether the shape's transform mirrors. Does nothing without a normal map. Fails if
    /// memory does not suffice or the BSDF is invalid.
    pub(super) fn orient_normal_map(
        &mut self,
        object: &Rc<Object>,
        mesh: &mut ModelMesh,
        mirrored: bool,
    ) -> Result<(), String> {
        if !self.has_normal_map(object)? {
            return Ok(());
        }
        if mesh.normals.is_none() {
            mesh.facet()?;
        }
        mesh.add_right_handed_tangents(mirrored)
    }

    /// Returns whether the image of a shape depends on its texture coordinates: it has a texture or is anisotropic.
    fn shows_coordinates(&mut self, object: &Rc<Object>) -> Result<bool, String> {
        let document = self.document;
        let emitter = document.child_of_kind(object, "emitter");
        let emits = emitter.is_some_and(|of| document.child_of_kind(of, "texture").is_some());
        let Some(of) = document.child_of_kind(object, "bsdf") else {
            return Ok(emits);
        };
        let bsdf = self.bsdf(of)?;
        let is_bumpy = self.scene.has_bump_map(&bsdf.material, bsdf.bump);
        Ok(emits || is_bumpy || self.scene.model.needs_uvs(&bsdf.material))
    }

    /// Returns whether the BSDF of a shape has a normal map.
    pub(super) fn has_normal_map(&mut self, object: &Rc<Object>) -> Result<bool, String> {
        let Some(of) = self.document.child_of_kind(object, "bsdf") else {
            return Ok(false);
        };
        let bsdf = self.bsdf(of)?;
        Ok(self.scene.model.has_normal_map(&bsdf.material))
    }

    /// Returns whether a texture of the colors of a shape's mesh determines the color of its material, or of its light.
    fn shows_mesh_colors(&mut self, object: &Rc<Object>) -> Result<bool, String> {
        let document = self.document;
        let before = std::mem::take(&mut self.reads_mesh_colors);
        if let Some(of) = document.child_of_kind(object, "bsdf") {
            self.bsdf(of)?;
        }
        if let Some(emitter) = document.child_of_kind(object, "emitter") {
            self.emission(emitter, "radiance")?;
        }
        Ok(std::mem::replace(&mut self.reads_mesh_colors, before))
    }

    /// Returns whether the BSDF of a shape needs tangents: it has a normal map or is anisotropic.
    fn needs_tangents(&mut self, object: &Rc<Object>) -> Result<bool, String> {
        let Some(of) = self.document.child_of_kind(object, "bsdf") else {
            return Ok(false);
        };
        let bsdf = self.bsdf(of)?;
        Ok(self.scene.model.needs_tangents(&bsdf.material))
    }

    /// Returns the sizes of [`Imported::relief_size`](crate::import::Imported::relief_size) for a shape on which u and v
    /// cover `size` metres. Returns `None` if its BSDF has no bump map.
    fn relief_size(
        &mut self,
        object: &Rc<Object>,
        size: [f32; 2],
    ) -> Result<Option<[f32; 2]>, String> {
        let Some(of) = self.document.child_of_kind(object, "bsdf") else {
            return Ok(None);
        };
        let bsdf = self.bsdf(of)?;
        Ok(self.scene.relief_size(&bsdf.material, bsdf.bump, size))
    }

    /// Returns the index of the material of a shape on which u and v cover `size` metres. Returns `None` if the shape is
    /// invisible.
    pub(super) fn material(
        &mut self,
        object: &Rc<Object>,
        size: [f32; 2],
    ) -> Result<Option<usize>, String> {
        let document = self.document;
        let of = document.child_of_kind(object, "bsdf");
        let emitter = document.child_of_kind(object, "emitter");
        let is_area = |emitter: &&Rc<Object>| emitter.plugin == "area";
        let relief_size = self.relief_size(object, size)?;
        let number = |object: Option<&Rc<Object>>| object.map_or(0, |object| object.number);
        let interior = document.child(object, "interior");
        let interior = interior.filter(|child| child.tag == "medium");
        let key = (
            number(of),
            number(emitter),
            number(interior),
            relief_size.map_or([0; 2], |size| size.map(f32::to_bits)),
        );
        let bsdf = match (of, emitter) {
            (Some(of), _) => self.bsdf(of)?,
            (None, None) => bsdf::grey(),
            (None, Some(_)) => bsdf::black(),
        };
        if let Some(&known) = self.materials.get(&key) {
            return Ok(Some(known));
        }
        // Others have transforms of their own, as in Mitsuba, and shine without the shape.
        if let Some(other) = emitter.filter(|emitter| !is_area(emitter))
            && self.lit.insert(other.number)
        {
            self.emitter(other)?;
        }
        let medium = match interior {
            Some(interior) => self.medium(interior)?,
            None => None,
        };
        let is_boundary = bsdf.invisible && emitter.filter(is_area).is_none();
        let mut material = match (is_boundary, medium) {
            (true, None) => return Ok(None),
            (true, Some(_)) => Surface::Boundary.into(),
            (false, _) => bsdf.material,
        };
        if shows_inside(&material.surface) {
            material.medium = medium;
        }
        if is_boundary {
            material.name = interior.map_or(String::new(), |of| escaped(&of.id));
            let index = self.scene.model.materials.len();
            self.scene.model.materials.push(material);
            self.materials.insert(key, index);
            return Ok(Some(index));
        }
        self.scene.add_relief(&mut material, bsdf.bump, size)?;
        material.maps.hidden_from_camera = emitter.is_some() && self.hides_emitters;
        if let Some(emitter) = emitter.filter(is_area) {
            let radiance = self.emission(emitter, "radiance")?;
            if bsdf.invisible {
                // All light passes in Mitsuba. A lower opacity would be noisier.
                material = bsdf::black().material;
                material.maps.opacity = 0.5;
                self.scene
                    .note("approximated: area lights whose BSDF is `null` by half opaque ones");
            }
            let radiance = self.compensate_opacity(radiance, &material.maps);
            if !emit(&mut material, radiance) {
                self.scene
                    .note("approximated: the reflection of area lights that are not diffuse");
            }
        }
        let index = self.scene.model.materials.len();
        if relief_size.is_some() {
            self.scene.bumped.insert(index);
        }
        self.scene.model.materials.push(material);
        self.materials.insert(key, index);
        Ok(Some(index))
    }

    /// Divides the radiance by a constant opacity, so that the surface emits as in Mitsuba. There, the light of a
    /// surface does not depend on its opacity, and here it comes from the opaque part. Leaves the radiance and warns if
    /// the opacity has a texture or is 0, or if the result would be too bright.
    fn compensate_opacity(&mut self, radiance: Color, maps: &MaterialTextures) -> Color {
        let scene = &mut self.scene;
        let in_texture = radiance
            .texture
            .map_or(1.0, |map| scene.model.library.brightest(map));
        let brightest = in_texture * radiance.factor.max_element();
        if maps.textures.contains_key(&Parameter::Opacity) {
            scene.note("approximated: area lights whose `mask` has a texture, which shine where they are opaque");
            radiance
        } else if maps.opacity == 0.0 {
            scene.note(
                "not shown: area lights with an opacity of 0; raise the `opacity` of their `mask`",
            );
            radiance
        } else if check_brightness(brightest / maps.opacity, scene.spp).is_err() {
            scene.note(
                "approximated: bright area lights with a `mask`, which are darker by its opacity",
            );
            radiance
        } else {
            Color {
                factor: radiance.factor / maps.opacity,
                ..radiance
            }
        }
    }
}

/// Changes the meshes of a file as `reading` tells.
fn prepare(meshes: &mut [ModelMesh], is_serialized: bool, reading: Reading) -> Result<(), String> {
    let without_normals = meshes.iter().all(|mesh| mesh.normals.is_none());
    for mesh in meshes {
        mesh.normalize_attributes();
        // The readers of OBJ and PLY return v downwards, that of serialized meshes as it is in the file.
        if is_serialized == reading.flip_v {
            for uv in mesh.uvs.iter_mut().flatten() {
                uv[1] = 1.0 - uv[1];
            }
        }
        // Mitsuba computes normals after the transform, so that those of a mirrored mesh point to the other side. Normals
        // of the file stay where they are, as the front of a mesh does here.
        if reading.flip != (reading.mirrored && (reading.facets || without_normals)) {
            mesh.flip();
        }
        if reading.facets {
            mesh.normals = None;
        } else if without_normals {
            mesh.smooth();
        }
        // The front of a triangle is the side of its vertex normals, whatever its winding.
        mesh.turn_to_normals();
        if reading.bent && mesh.normals.is_none() {
            mesh.facet()?;
        }
        if reading.has_normal_map {
            mesh.add_right_handed_tangents(reading.mirrored)?;
        }
    }
    Ok(())
}
