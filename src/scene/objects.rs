//! Objects become triangles and spheres.

use std::{
    collections::{HashMap, hash_map::Entry},
    path::{Path, PathBuf},
};

use glam::{DAffine3, DVec3};

use super::{
    Instance, Light, Sphere,
    displaced_sphere::DisplacedSphere,
    geometry::{Corner, Geometry, MeshBuilder},
    materials::Materials,
    memory, mesh,
    model::Model,
    places::{Grid, Scatter, indexed, instance},
    source::{Extent, Object, Raw, Source, excerpt, shown},
    text::{
        DisplacedSphereText, GridText, InstancesText, MeshText, ModelText, ObjectText, PlaceText,
        ScatterText,
    },
    transform::{Transform, rotate_y},
    wording::alternatives,
};
use crate::{Error, trees::BUILDING_BYTES};

/// Longer than any system takes, short enough to be shown.
pub(super) const MAX_PATH_BYTES: usize = 4096;

/// "object 3 (Sphere)", counted from 1.
pub(super) fn object_name(index: usize, raw: Raw<'_>) -> String {
    let text = raw.trim().get_ron();
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    match &text[..end] {
        "" => format!("object {}", index + 1),
        kind => format!("object {} ({})", index + 1, excerpt(kind)),
    }
}

/// All objects so far.
pub(super) struct Builder<'s, 'a> {
    source: &'s Source<'a>,
    /// Those that have names, and what models bring.
    materials: Materials,
    spp: u32,
    geometry: Geometry,
    /// What models' files brought.
    lights: Vec<Light>,
    /// By path.
    models: HashMap<PathBuf, ReadModel>,
    notes: Vec<String>,
}

/// A model's file that was read.
struct ReadModel {
    model: Model,
    /// Where its materials begin among the scene's, if they are.
    first: Option<u32>,
}

impl<'s, 'a> Builder<'s, 'a> {
    pub(super) fn new(source: &'s Source<'a>, materials: Materials, spp: u32) -> Self {
        Builder {
            source,
            materials,
            spp,
            geometry: Geometry::default(),
            lights: Vec::new(),
            models: HashMap::new(),
            notes: Vec::new(),
        }
    }

    /// The objects, what they are made of, their lights, and what there is to say of them.
    pub(super) fn finish(self) -> (Geometry, Materials, Vec<Light>, Vec<String>) {
        (self.geometry, self.materials, self.lights, self.notes)
    }

    pub(super) fn object(&mut self, object: &Object<'a>) -> Result<(), Error> {
        let source = self.source;
        match source.parse(object)? {
            ObjectText::Quad {
                corner,
                edge_u,
                edge_v,
                material,
            } => {
                let corner = source.position(object, "corner", corner)?;
                let u = source.position(object, "edge_u", edge_u)?;
                let v = source.position(object, "edge_v", edge_v)?;
                let material = self.material(object, material)?;
                self.polygons(
                    object,
                    &[[corner, corner + u, corner + u + v, corner + v]],
                    material,
                )
            }
            ObjectText::Box {
                center,
                half_size,
                rotate_y,
                material,
            } => {
                let center = source.position(object, "center", center)?;
                let expected = "(x, y, z) in metres, each from 1e-15 to 1e8";
                let half_size =
                    source.triple(object, "half_size", half_size, expected, Extent::Length)?;
                let degrees = match rotate_y {
                    Some(raw) => source.number(object, "rotate_y", raw, "degrees", |_| true)?,
                    None => 0.0,
                };
                let material = self.material(object, material)?;
                self.polygons(object, &box_faces(center, half_size, degrees), material)
            }
            ObjectText::Sphere {
                center,
                radius,
                material,
            } => {
                let center = source.position(object, "center", center)?.as_vec3();
                let radius = source.length(object, "radius", radius)? as f32;
                let material = self.material(object, material)?;
                let sphere = Sphere {
                    center,
                    radius,
                    material,
                };
                self.geometry
                    .push_sphere(sphere)
                    .map_err(|problem| source.error(object, object.raw, problem))
            }
            ObjectText::Mesh(written) => self.mesh(object, &written),
            ObjectText::Model(written) => self.model(object, &written),
            ObjectText::DisplacedSphere(written) => self.displaced_sphere(object, &written),
            ObjectText::Instances(written) => self.instances(object, &written),
        }
    }

    fn material(&self, object: &Object, raw: Raw) -> Result<u32, Error> {
        let expected = "the name of a material in quotes";
        let wanted: String = self
            .source
            .field(object, "material", raw, expected, |_| true)?;
        self.materials.names.get(&wanted).copied().ok_or_else(|| {
            let mut names: Vec<&str> = self.materials.names.keys().map(String::as_str).collect();
            names.sort_unstable();
            let (wanted, alternatives) = (excerpt(&wanted), alternatives(&wanted, &names));
            let problem = format!("material: there is no `{wanted}`{alternatives}");
            self.source.error(object, raw, problem)
        })
    }

    /// Polygons of an object that is nothing without any of them.
    fn polygons(
        &mut self,
        object: &Object,
        polygons: &[[DVec3; 4]],
        material: u32,
    ) -> Result<(), Error> {
        let flat: Result<u64, String> = if self.materials.is_textured(material) {
            self.geometry.push_upright(polygons, material)
        } else {
            let mut each = polygons.iter();
            each.try_fold(0, |flat, polygon| {
                Ok(flat + self.geometry.push_polygon(polygon, material)?)
            })
        };
        if flat.map_err(|problem| self.source.error(object, object.raw, problem))? > 0 {
            let problem =
                "has a side without area, expected edges that have a length and are not parallel";
            return Err(self.source.error(object, object.raw, problem));
        }
        Ok(())
    }

    fn mesh(&mut self, object: &Object<'a>, written: &MeshText<'a>) -> Result<(), Error> {
        let material = self.material(object, written.material)?;
        let smooth = self.smooth(object, written.smooth)?;
        if smooth || self.materials.is_textured(material) {
            return self.smooth_object(object);
        }
        self.flat_mesh(object, written, false).map(|_| ())
    }

    /// A mesh's triangles, and what its file has at their corners, if that is asked for.
    fn flat_mesh(
        &mut self,
        object: &Object,
        written: &MeshText,
        attributes: bool,
    ) -> Result<Vec<[Corner; 3]>, Error> {
        let source = self.source;
        let path = self.path(object, written.file)?;
        let material = self.material(object, written.material)?;
        let (scale, rotate, translate) = (written.scale, written.rotate, written.translate);
        let transform = read_transform(source, object, scale, rotate, translate)?;
        let mut builder = MeshBuilder::new(&mut self.geometry, transform, material, attributes);
        let result = mesh::read(&path, &mut builder).and_then(|()| builder.finish());
        let (flat, corners) = result.map_err(|problem| {
            source.error(object, written.file, format!("{}: {problem}", shown(&path)))
        })?;
        self.note_flat(object, flat);
        Ok(corners)
    }

    fn model(&mut self, object: &Object, written: &ModelText) -> Result<(), Error> {
        let source = self.source;
        let path = self.path(object, written.file)?;
        let (scale, rotate, translate) = (written.scale, written.rotate, written.translate);
        let transform = read_transform(source, object, scale, rotate, translate)?.affine();
        let other = written
            .material
            .map(|raw| self.material(object, raw))
            .transpose()?;
        let lights = written.lights.map_or(Ok(true), |raw| {
            source.field(object, "lights", raw, "true or false", |_| true)
        })?;
        let before = self.geometry.standing();
        let flat = self
            .place_model(&path, &transform, other, lights)
            .and_then(|flat| {
                if self.geometry.standing() > before {
                    return Ok(flat);
                }
                Err("has no triangle with an area; check its vertices and the scale".to_owned())
            })
            .map_err(|problem| {
                source.error(object, written.file, format!("{}: {problem}", shown(&path)))
            })?;
        self.note_flat(object, flat);
        Ok(())
    }

    /// Shows a model's file, which is read once; how many triangles have no area.
    fn place_model(
        &mut self,
        path: &Path,
        transform: &DAffine3,
        other: Option<u32>,
        lights: bool,
    ) -> Result<u64, String> {
        let known = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let ReadModel { model, first } = match self.models.entry(known) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(place) => {
                let model = mesh::read_model(path)?;
                let file = shown(path);
                let notes = model.notes.iter().map(|note| format!("{file}: {note}"));
                self.notes.extend(notes);
                place.insert(ReadModel { model, first: None })
            }
        };
        if lights {
            for light in &model.lights {
                self.lights.push(light.placed(transform)?);
            }
        }
        let (materials, geometry) = (&mut self.materials, &mut self.geometry);
        if let Some(other) = other {
            return geometry.push_model(model, transform, |_| other, materials);
        }
        let first = match *first {
            Some(first) => first,
            None => *first.insert(materials.adopt(model, self.spp)?),
        };
        let own = |material| first + material as u32;
        geometry.push_model(model, transform, own, materials)
    }

    /// The path of a file that an object names.
    fn path(&self, object: &Object, raw: Raw) -> Result<PathBuf, Error> {
        let named = |path: &String| (1..=MAX_PATH_BYTES).contains(&path.len());
        let file = self
            .source
            .field(object, "file", raw, "a path in quotes", named)?;
        Ok(self.source.folder().join(file))
    }

    fn displaced_sphere(
        &mut self,
        object: &Object<'a>,
        written: &DisplacedSphereText,
    ) -> Result<(), Error> {
        let source = self.source;
        if self.smooth(object, written.smooth)? {
            return self.smooth_object(object);
        }
        let sphere = read_displaced_sphere(source, object, written)?;
        let material = self.material(object, written.material)?;
        let before = self.geometry.triangles.len();
        let flat = sphere
            .push(&mut self.geometry, material)
            .map_err(|problem| source.error(object, object.raw, problem))?;
        if self.geometry.triangles.len() == before {
            let problem = "has no triangle with an area; check its radius and steps";
            return Err(source.error(object, object.raw, problem));
        }
        self.note_flat(object, flat);
        Ok(())
    }

    fn smooth(&self, object: &Object, written: Option<Raw>) -> Result<bool, Error> {
        let expected = "true or false";
        written.map_or(Ok(false), |raw| {
            self.source.field(object, "smooth", raw, expected, |_| true)
        })
    }

    /// A mesh with normals that stands where it is.
    fn smooth_object(&mut self, object: &Object<'a>) -> Result<(), Error> {
        let mesh = self.shape(object)?;
        self.place(object, object.raw, mesh, &Transform::default(), None)
    }

    /// What is placed many times, as a mesh: its number, and its largest coordinate.
    fn shape(&mut self, object: &Object<'a>) -> Result<(u32, f64), Error> {
        let source = self.source;
        let apart = std::mem::take(&mut self.geometry);
        let made = match source.parse(object) {
            Ok(ObjectText::Mesh(written)) => {
                let corners = self.flat_mesh(object, &written, true);
                corners.and_then(|corners| Ok((corners, self.smooth(object, written.smooth)?)))
            }
            Ok(ObjectText::DisplacedSphere(written)) => {
                let plain = DisplacedSphereText {
                    smooth: None,
                    ..written
                };
                self.displaced_sphere(object, &plain)
                    .and_then(|()| Ok((Vec::new(), self.smooth(object, written.smooth)?)))
            }
            Ok(_) => Err(source.error(
                object,
                object.raw,
                "is neither a Mesh nor a DisplacedSphere, which alone can stand in many places",
            )),
            Err(error) => Err(error),
        };
        let shape = std::mem::replace(&mut self.geometry, apart);
        let wrong = |problem: String| source.error(object, object.raw, problem);
        let (corners, smooth) = made?;
        let mesh = indexed(&shape.triangles, &corners, smooth).map_err(wrong)?;
        let reach = mesh.positions.iter().fold(0.0, |reach: f32, position| {
            reach.max(position.abs().max_element())
        });
        let number = self.geometry.push_mesh(mesh).map_err(wrong)?;
        Ok((number, f64::from(reach)))
    }

    fn place(
        &mut self,
        object: &Object,
        at: Raw,
        (mesh, reach): (u32, f64),
        transform: &Transform,
        material: Option<u32>,
    ) -> Result<(), Error> {
        instance(mesh, reach, transform, material)
            .and_then(|instance| self.geometry.push_instance(instance))
            .map_err(|problem| self.source.error(object, at, problem))
    }

    fn instances(&mut self, object: &Object<'a>, written: &InstancesText<'a>) -> Result<(), Error> {
        let source = self.source;
        let shape = self.shape(&Object::new(format!("{}, of", object.name), written.of))?;
        match (written.at, written.grid, written.scatter) {
            (Some(at), None, None) => self.places(object, at, shape),
            (None, Some(raw), None) => {
                let grid = read_grid(source, &Object::new(format!("{}, grid", object.name), raw))?;
                self.check_places(object, raw, grid.len())?;
                (0..grid.len()).try_for_each(|number| {
                    self.place(object, raw, shape, &grid.place(number), None)
                })
            }
            (None, None, Some(raw)) => {
                let name = format!("{}, scatter", object.name);
                let scatter = read_scatter(source, &Object::new(name, raw))?;
                self.check_places(object, raw, scatter.count)?;
                (0..scatter.count).try_for_each(|number| {
                    self.place(object, raw, shape, &scatter.place(number), None)
                })
            }
            _ => Err(source.error(
                object,
                object.raw,
                "expected one of `at`, `grid` and `scatter`, which say where",
            )),
        }
    }

    /// `Err` if so many places do not fit, before they fill the memory.
    fn check_places(&self, object: &Object, at: Raw, count: u32) -> Result<(), Error> {
        // They are kept until there is a tree over them.
        let each = size_of::<Instance>() as u64 + BUILDING_BYTES;
        let bytes = u64::from(count) * each;
        self.geometry
            .check_room(count as usize)
            .and_then(|()| memory::check(bytes))
            .map_err(|problem| self.source.error(object, at, problem))
    }

    /// A list of places.
    fn places(&mut self, object: &Object<'a>, at: Raw<'a>, shape: (u32, f64)) -> Result<(), Error> {
        let source = self.source;
        let places: Vec<Raw> = source.parse(&Object::new(format!("{}, at", object.name), at))?;
        if places.is_empty() {
            return Err(source.error(object, at, "at: is empty, expected at least one place"));
        }
        for (index, raw) in places.into_iter().enumerate() {
            let name = format!("{}, place {}", object.name, index + 1);
            let place = Object::new(name, raw);
            let written: PlaceText = source.parse(&place)?;
            let transform = read_transform(
                source,
                &place,
                written.scale,
                written.rotate,
                written.translate,
            )?;
            let material = written
                .material
                .map(|raw| self.material(&place, raw))
                .transpose()?;
            self.place(&place, raw, shape, &transform, material)?;
        }
        Ok(())
    }

    fn note_flat(&mut self, object: &Object, flat: u64) {
        if flat > 0 {
            self.notes.push(format!(
                "{}: {flat} triangles without area are left out",
                object.name
            ));
        }
    }
}

fn read_transform(
    source: &Source,
    object: &Object,
    scale: Option<Raw>,
    rotate: Option<Raw>,
    translate: Option<Raw>,
) -> Result<Transform, Error> {
    let angles = "degrees about (x, y, z)";
    let read_scale = |raw| source.scale(object, "scale", raw);
    let read_rotate = |raw| source.triple(object, "rotate", raw, angles, Extent::Finite);
    let read_translate = |raw| source.position(object, "translate", raw);
    Ok(Transform {
        scale: scale.map_or(Ok(DVec3::ONE), read_scale)?,
        rotate_degrees: rotate.map_or(Ok(DVec3::ZERO), read_rotate)?,
        translate: translate.map_or(Ok(DVec3::ZERO), read_translate)?,
    })
}

fn read_grid(source: &Source, object: &Object) -> Result<Grid, Error> {
    let written: GridText = source.parse(object)?;
    let expected =
        "(x, y, z) in whole numbers from 1, of which there are at most 2147483648 in all";
    let counted = |count: &[u32; 3]| {
        let mut counts = count.iter();
        let all = counts.try_fold(1, |all: u64, &count| all.checked_mul(count.into()));
        all.is_some_and(|all| (1..=1 << 31).contains(&all))
    };
    let spacing = |raw| {
        source.triple(
            object,
            "spacing",
            raw,
            "(x, y, z) in metres",
            Extent::Coordinate,
        )
    };
    let center = |raw| source.position(object, "center", raw);
    Ok(Grid {
        count: source.field(object, "count", written.count, expected, counted)?,
        spacing: spacing(written.spacing)?,
        center: written.center.map_or(Ok(DVec3::ZERO), center)?,
    })
}

fn read_scatter(source: &Source, object: &Object) -> Result<Scatter, Error> {
    let written: ScatterText = source.parse(object)?;
    let whole = "a whole number from 1 to 2147483648";
    let count = |&count: &u32| (1..=1 << 31).contains(&count);
    let seed = |raw| {
        let expected = "a whole number from 0 to 4294967295";
        source.field(object, "seed", raw, expected, |_| true)
    };
    let scale = |raw| {
        let expected = "(least, most), factors above 0 of which the second is not smaller";
        let ordered = |&(least, most): &(f64, f64)| {
            Extent::Length.holds(least) && Extent::Length.holds(most) && least <= most
        };
        source.field(object, "scale", raw, expected, ordered)
    };
    let turn = |raw| source.number(object, "turn", raw, "degrees", |_| true);
    Ok(Scatter {
        count: source.field(object, "count", written.count, whole, count)?,
        from: source.position(object, "from", written.from)?,
        to: source.position(object, "to", written.to)?,
        seed: written.seed.map_or(Ok(0), seed)?,
        scale: written.scale.map_or(Ok((1.0, 1.0)), scale)?,
        turn: written.turn.map_or(Ok(360.0), turn)?,
    })
}

fn read_displaced_sphere(
    source: &Source,
    object: &Object,
    written: &DisplacedSphereText,
) -> Result<DisplacedSphere, Error> {
    let steps = |field, raw, least: u32| {
        let expected = format!("a whole number from {least}");
        source.field(object, field, raw, &expected, |&steps: &u32| steps >= least)
    };
    let waves = |raw| {
        let expected = "two numbers (a, b) with |a| + |b| below 1";
        let valid = |&(a, b): &(f64, f64)| a.abs() + b.abs() < 1.0;
        source.field(object, "amplitudes", raw, expected, valid)
    };
    let center = |raw| source.position(object, "center", raw);
    let radius = |raw| source.length(object, "radius", raw);
    Ok(DisplacedSphere {
        rings: steps("rings", written.rings, 2)?,
        segments: steps("segments", written.segments, 3)?,
        amplitudes: written.amplitudes.map_or(Ok((0.08, 0.03)), waves)?,
        center: written.center.map_or(Ok(DVec3::ZERO), center)?,
        radius: written.radius.map_or(Ok(1.0), radius)?,
    })
}

/// Six sides, seen from outside counter-clockwise.
fn box_faces(center: DVec3, half_size: DVec3, degrees: f64) -> [[DVec3; 4]; 6] {
    let corner = |x, y, z| center + rotate_y(DVec3::new(x, y, z) * half_size, degrees);
    let [a, b, c, d] =
        [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(x, y)| corner(x, y, 1.0));
    let [e, f, g, h] =
        [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(x, y)| corner(x, y, -1.0));
    [
        [a, b, c, d],
        [f, e, h, g],
        [b, f, g, c],
        [e, a, d, h],
        [d, c, g, h],
        [e, f, b, a],
    ]
}
