//! From a scene's text to a checked scene.

use std::path::Path;

use glam::{DVec3, Vec3};
use serde::de::DeserializeOwned;

use super::{
    Camera, Scene, Sphere, Surface, check_brightness, check_max_bounces, check_size, check_spp,
    displaced_sphere::DisplacedSphere,
    geometry::{Geometry, MeshBuilder},
    mesh,
    source::{Extent, Object, Raw, Source, shown},
    text::{CameraText, DisplacedSphereText, MaterialText, MeshText, ObjectText, SceneText},
    transform::{Transform, rotate_y},
    wording::alternatives,
};
use crate::Error;

pub(super) fn scene(path: &Path, text: &str) -> Result<Scene, Error> {
    let source = &Source::new(path, text);
    let written: SceneText = source.parse_all()?;
    let setting = Setting { source };
    let size = setting.read(
        "size",
        written.size,
        (512, 512),
        "(width, height) in whole pixels",
        check_size,
    )?;
    let spp = setting.read(
        "spp",
        written.spp,
        64,
        "a whole number of samples from 1",
        check_spp,
    )?;
    let bounces = "a whole number from 0 to 1024";
    let max_bounces = setting.read(
        "max_bounces",
        written.max_bounces,
        8,
        bounces,
        check_max_bounces,
    )?;
    let seed = setting.read(
        "seed",
        written.seed,
        0,
        "a whole number from 0 to 4294967295",
        |_| Ok(()),
    )?;
    let camera = camera(
        source,
        &Object {
            name: "camera".to_owned(),
            raw: written.camera,
        },
    )?;
    let sky = match written.sky {
        Some(raw) => radiance(
            source,
            &Object {
                name: "sky".to_owned(),
                raw,
            },
            "radiance",
            raw,
            spp,
        )?,
        None => Vec3::ZERO,
    };
    let names = material_names(source, &written)?;
    let mut materials = Vec::with_capacity(names.len());
    for (name, &(_, raw)) in names.iter().zip(&written.materials.0) {
        materials.push(material(
            source,
            &Object {
                name: format!("material {name:?}"),
                raw,
            },
            spp,
        )?);
    }
    let mut builder = Builder {
        source,
        names,
        geometry: Geometry::default(),
        notes: Vec::new(),
    };
    for (index, raw) in written.objects.0.iter().enumerate() {
        builder.object(&Object {
            name: object_name(index, raw),
            raw,
        })?;
    }
    let Builder {
        geometry: Geometry { triangles, spheres },
        mut notes,
        ..
    } = builder;
    if sky == Vec3::ZERO
        && materials
            .iter()
            .all(|material| material.radiance() == Vec3::ZERO)
    {
        notes.push("nothing in the scene shines: the picture will be black".to_owned());
    }
    let path = path.to_owned();
    Ok(Scene {
        path,
        size,
        spp,
        max_bounces,
        seed,
        camera,
        sky,
        materials,
        triangles,
        spheres,
        notes,
    })
}

/// "object 3 (Sphere)", counted from 1.
fn object_name(index: usize, raw: Raw<'_>) -> String {
    let text = raw.trim().get_ron();
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    match &text[..end] {
        "" => format!("object {}", index + 1),
        kind => format!("object {} ({kind})", index + 1),
    }
}

/// The numbers that a scene gives and the command line may change.
struct Setting<'s, 'a> {
    source: &'s Source<'a>,
}

impl<'a> Setting<'_, 'a> {
    fn read<T: DeserializeOwned + Copy>(
        &self,
        name: &str,
        raw: Option<Raw<'a>>,
        default: T,
        expected: &str,
        check: impl Fn(T) -> Result<(), String>,
    ) -> Result<T, Error> {
        let Some(raw) = raw else { return Ok(default) };
        let object = Object {
            name: "scene".to_owned(),
            raw,
        };
        let value = self.source.field(&object, name, raw, expected, |_| true)?;
        match check(value) {
            Ok(()) => Ok(value),
            Err(problem) => {
                let found = raw.trim().get_ron();
                Err(self
                    .source
                    .error(&object, raw, format!("{name}: found `{found}`: {problem}")))
            }
        }
    }
}

fn camera(source: &Source, object: &Object) -> Result<Camera, Error> {
    let written: CameraText = source.parse(object)?;
    let origin = source.position(object, "origin", written.origin)?.as_vec3();
    let target = source.position(object, "target", written.target)?.as_vec3();
    let up = match written.up {
        Some(raw) => source.position(object, "up", raw)?.as_vec3(),
        None => Vec3::Y,
    };
    let degrees = "degrees above 0 and below 180";
    // A view that rounds to none or to all of 180 degrees has no picture.
    let has_picture = |fov: f64| (1e-3..=179.999).contains(&fov);
    let fov_degrees = source.number(object, "fov", written.fov, degrees, has_picture)? as f32;
    if !(target - origin).length_squared().is_normal() {
        return Err(source.error(
            object,
            written.target,
            "target: is the origin too, expected a point to look at",
        ));
    }
    let up_at = written.up.unwrap_or(object.raw);
    if !up.length_squared().is_normal() {
        return Err(source.error(
            object,
            up_at,
            "up: has no length, expected a direction such as (0, 1, 0)",
        ));
    }
    let (view, upwards) = (
        (target - origin).as_dvec3().normalize(),
        up.as_dvec3().normalize(),
    );
    if view.cross(upwards).length() < 1e-5 {
        return Err(source.error(
            object,
            up_at,
            "up: is parallel to the view, expected another direction",
        ));
    }
    Ok(Camera {
        origin,
        target,
        up,
        fov_degrees,
    })
}

fn radiance(
    source: &Source,
    object: &Object,
    field: &str,
    raw: Raw,
    spp: u32,
) -> Result<Vec3, Error> {
    let radiance = source
        .triple(
            object,
            field,
            raw,
            "(r, g, b), each 0 or more",
            Extent::FromZero,
        )?
        .as_vec3();
    check_brightness(radiance.max_element(), spp)
        .map_err(|problem| source.error(object, raw, problem))?;
    Ok(radiance)
}

fn material_names(source: &Source, written: &SceneText) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = Vec::new();
    for (index, &(key, _)) in written.materials.0.iter().enumerate() {
        let object = Object {
            name: format!("material {}", index + 1),
            raw: key,
        };
        let name: String = source.field(&object, "name", key, "a text in quotes", |_| true)?;
        if names.contains(&name) {
            let object = Object {
                name: format!("material {name:?}"),
                raw: key,
            };
            return Err(source.error(&object, key, "is given twice, expected another name"));
        }
        names.push(name);
    }
    Ok(names)
}

fn material(source: &Source, object: &Object, spp: u32) -> Result<Surface, Error> {
    let part = |field, raw| {
        source
            .triple(
                object,
                field,
                raw,
                "(r, g, b), each from 0 to 1",
                Extent::Part,
            )
            .map(|part| part.as_vec3())
    };
    let flag = |raw: Option<Raw>| match raw {
        Some(raw) => source.field(object, "one_sided", raw, "true or false", |_| true),
        None => Ok(false),
    };
    Ok(match source.parse(object)? {
        MaterialText::Diffuse { albedo, one_sided } => Surface::Diffuse {
            albedo: part("albedo", albedo)?,
            one_sided: flag(one_sided)?,
        },
        MaterialText::Mirror {
            reflectance,
            one_sided,
        } => Surface::Mirror {
            reflectance: part("reflectance", reflectance)?,
            one_sided: flag(one_sided)?,
        },
        MaterialText::Dielectric { ior } => {
            let valid = |ior: f64| (0.1..=10.0).contains(&ior);
            Surface::Dielectric {
                ior: source.number(object, "ior", ior, "a number from 0.1 to 10", valid)? as f32,
            }
        }
        MaterialText::Emissive {
            radiance: raw,
            albedo,
            one_sided,
        } => Surface::Emissive {
            radiance: radiance(source, object, "radiance", raw, spp)?,
            albedo: albedo.map_or(Ok(Vec3::ZERO), |raw| part("albedo", raw))?,
            one_sided: flag(one_sided)?,
        },
    })
}

/// Objects become triangles and spheres.
struct Builder<'s, 'a> {
    source: &'s Source<'a>,
    /// Of the materials.
    names: Vec<String>,
    geometry: Geometry,
    notes: Vec<String>,
}

impl<'a> Builder<'_, 'a> {
    fn object(&mut self, object: &Object<'a>) -> Result<(), Error> {
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
                let expected = "(x, y, z) in metres, each above 0";
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
            ObjectText::DisplacedSphere(written) => self.displaced_sphere(object, &written),
        }
    }

    fn material(&self, object: &Object, raw: Raw) -> Result<u32, Error> {
        let source = self.source;
        let wanted: String = source.field(
            object,
            "material",
            raw,
            "the name of a material in quotes",
            |_| true,
        )?;
        match self.names.iter().position(|name| *name == wanted) {
            Some(index) => Ok(index as u32),
            None => {
                let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
                let alternatives = alternatives(&wanted, &names);
                Err(source.error(
                    object,
                    raw,
                    format!("material: there is no {wanted:?}{alternatives}"),
                ))
            }
        }
    }

    /// Polygons of an object that is nothing without any of them.
    fn polygons(
        &mut self,
        object: &Object,
        polygons: &[[DVec3; 4]],
        material: u32,
    ) -> Result<(), Error> {
        for polygon in polygons {
            let flat = self.geometry.push_polygon(polygon, material);
            if flat.map_err(|problem| self.source.error(object, object.raw, problem))? > 0 {
                let problem = "has a side without area, expected edges that have a length and are not parallel";
                return Err(self.source.error(object, object.raw, problem));
            }
        }
        Ok(())
    }

    fn mesh(&mut self, object: &Object, written: &MeshText) -> Result<(), Error> {
        let source = self.source;
        let file: String = source.field(
            object,
            "file",
            written.file,
            "a path in quotes",
            |path: &String| !path.is_empty(),
        )?;
        let material = self.material(object, written.material)?;
        let scale = written
            .scale
            .map_or(Ok(DVec3::ONE), |raw| source.scale(object, "scale", raw))?;
        let rotate_degrees = written.rotate.map_or(Ok(DVec3::ZERO), |raw| {
            source.triple(
                object,
                "rotate",
                raw,
                "degrees about (x, y, z)",
                Extent::Finite,
            )
        })?;
        let translate = written.translate.map_or(Ok(DVec3::ZERO), |raw| {
            source.position(object, "translate", raw)
        })?;
        let transform = Transform {
            scale,
            rotate_degrees,
            translate,
        };
        let path = source.folder().join(file);
        let mut builder = MeshBuilder::new(&mut self.geometry, transform, material);
        let result = mesh::read(&path, &mut builder).and_then(|()| builder.finish());
        let flat = result.map_err(|problem| {
            source.error(object, written.file, format!("{}: {problem}", shown(&path)))
        })?;
        self.note_flat(object, flat);
        Ok(())
    }

    fn displaced_sphere(
        &mut self,
        object: &Object,
        written: &DisplacedSphereText,
    ) -> Result<(), Error> {
        let source = self.source;
        let steps = |field, raw, least: u32| {
            source.field(
                object,
                field,
                raw,
                &format!("a whole number from {least}"),
                |&steps: &u32| steps >= least,
            )
        };
        let (rings, segments) = (
            steps("rings", written.rings, 2)?,
            steps("segments", written.segments, 3)?,
        );
        let amplitudes = match written.amplitudes {
            Some(raw) => {
                let valid = |&(a, b): &(f64, f64)| a.abs() + b.abs() < 1.0;
                source.field(
                    object,
                    "amplitudes",
                    raw,
                    "two numbers (a, b) with |a| + |b| below 1",
                    valid,
                )?
            }
            None => (0.08, 0.03),
        };
        let center = written.center.map_or(Ok(DVec3::ZERO), |raw| {
            source.position(object, "center", raw)
        })?;
        let radius = written
            .radius
            .map_or(Ok(1.0), |raw| source.length(object, "radius", raw))?;
        let material = self.material(object, written.material)?;
        let sphere = DisplacedSphere {
            rings,
            segments,
            amplitudes,
            center,
            radius,
        };
        let before = self.geometry.triangles.len();
        let flat = sphere
            .push(&mut self.geometry, material)
            .map_err(|problem| source.error(object, object.raw, problem))?;
        if self.geometry.triangles.len() == before {
            return Err(source.error(
                object,
                object.raw,
                "has no triangle with an area; check its radius and steps",
            ));
        }
        self.note_flat(object, flat);
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
