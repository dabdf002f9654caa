//! Shapes of pbrt: spheres, meshes, tessellated shapes and instances.

use std::{
    f64::consts::{PI, TAU},
    path::Path,
    rc::Rc,
};

use glam::{DAffine3, DVec2, DVec3, Vec3};

use super::{Converter, lights::Emission, parameters::Parameters};
use crate::{
    error::excerpt,
    import::{
        Tessellated,
        bump::uv_extent,
        curves::{self, Basis, Curve},
        even_scale, mesh_files,
        shapes::{self, DiskCoordinates},
        subdivision,
    },
    memory::vec_with_capacity,
    model::{ModelInstance, ModelMesh},
    origin::origin_of_points,
};

/// The way in which the meshes of a file are read; files are shared between shapes that read them in the same way.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Reading {
    /// Whether the front is the back of the file's faces.
    flip: bool,
    /// Whether the material needs normals at the vertices.
    needs_normals: bool,
    /// Whether the tangents are those of [`ModelMesh::add_right_handed_tangents`], and then its `mirrored`.
    right_handed: Option<bool>,
}

/// Largest number of triangles of a subdivision surface, unless its control mesh has more.
const MAX_SURFACE_TRIANGLES: usize = 1 << 19;

/// Largest number of triangles that all subdivision surfaces of a scene have beyond those of their control meshes.
const MAX_ADDED_TRIANGLES: usize = 1 << 23;

impl Converter {
    /// Converts a shape of the current graphics state.
    pub(super) fn shape(&mut self, kind: &str, parameters: &Parameters) -> Result<(), String> {
        let radius = parameters.number("radius", 1.0);
        let phi_max = parameters.number("phimax", 360.0).clamp(0.001, 360.0) / 360.0 * TAU;
        let scaled = DAffine3::from_scale(DVec3::splat(radius));
        if ["sphere", "disk", "cylinder"].contains(&kind) && radius <= 0.0 {
            return Err(format!("radius: found {radius}, expected a number above 0"));
        }
        let bits =
            |kind: &'static str, parameters: [f64; 3]| Some((kind, parameters.map(f64::to_bits)));
        match kind {
            "sphere" => self.sphere(parameters, radius, phi_max),
            "disk" => {
                let hole = (parameters.number("innerradius", 0.0) / radius).clamp(0.0, 0.9999);
                let mesh = shapes::disk(hole, phi_max, DiskCoordinates::AngleRadius);
                let height = DVec3::new(0.0, 0.0, parameters.number("height", 0.0));
                let key = bits("disk", [hole, phi_max, 0.0]);
                self.mesh(
                    key,
                    mesh,
                    DAffine3::from_translation(height) * scaled,
                    parameters,
                )
            }
            "cylinder" => {
                let (low, high) = (
                    parameters.number("zmin", -1.0),
                    parameters.number("zmax", 1.0),
                );
                let mesh = shapes::cylinder(low.min(high), high.max(low), phi_max);
                let scale = DAffine3::from_scale(DVec3::new(radius, radius, 1.0));
                let key = bits("cylinder", [low, high, phi_max]);
                self.mesh(key, mesh, scale, parameters)
            }
            "trianglemesh" => {
                let mesh = triangle_mesh(parameters)?;
                self.mesh(None, mesh, DAffine3::IDENTITY, parameters)
            }
            "loopsubdiv" => self.subdivision_surface(parameters),
            "bilinearmesh" => {
                let (mesh, is_curved) = bilinear_mesh(parameters)?;
                if is_curved {
                    self.note("approximated: curved bilinear patches by meshes");
                }
                self.mesh(None, mesh, DAffine3::IDENTITY, parameters)
            }
            "curve" => self.curve(parameters),
            "plymesh" => self.mesh_file(parameters),
            kind => {
                let kind = excerpt(kind);
                let text = format!("not shown: {{}} of type `{kind}`");
                self.scene.model.note_count(&text, ["shape", "shapes"], 1);
                Ok(())
            }
        }
    }

    /// Shows the object with this name in the current coordinates.
    pub(super) fn instance(&mut self, name: &str) -> Result<(), String> {
        if self.object.is_some() {
            return Err("objects cannot contain instances; end the object before".to_owned());
        }
        let Some(shapes) = self.objects.get(name).cloned() else {
            return Err(format!("there is no object \"{}\"", excerpt(name)));
        };
        let transform = self.state.transform;
        for &instance in shapes.iter() {
            let instance = self.scene.instance_of_group(&transform, instance)?;
            self.push(instance)?;
        }
        Ok(())
    }

    /// Adds the warning about shapes that become meshes.
    fn note_tessellated(&mut self) {
        self.note(
            "approximated: disks, cylinders and partial, stretched or textured spheres by meshes",
        );
    }

    /// Adds a mesh to the object that is being defined, or else to the scene. Fails if there are too many.
    fn push(&mut self, instance: ModelInstance) -> Result<(), String> {
        let object = self.object.as_mut().map(|(_, shapes)| shapes);
        self.scene.push_instance(instance, object)
    }

    /// Converts a sphere. One that is partial, stretched, textured, turned inside out or in an object becomes a mesh.
    fn sphere(&mut self, parameters: &Parameters, radius: f64, phi_max: f64) -> Result<(), String> {
        let place = self.state.transform * DAffine3::from_scale(DVec3::splat(radius));
        let part =
            |name: &str, default: f64| (parameters.number(name, default) / radius).clamp(-1.0, 1.0);
        let (low, high) = (part("zmin", -radius), part("zmax", radius));
        let (low, high) = (low.min(high), high.max(low));
        let whole = low == -1.0 && high == 1.0 && phi_max >= TAU;
        if let Some(radius) = even_scale(&place)
            && whole
            && !self.state.reverses
            && self.object.is_none()
            && self.hidden_emission(parameters)?.is_none()
        {
            let (circumference, area) = ((TAU * radius) as f32, 4.0 * PI * radius * radius);
            let size = [circumference, circumference / 2.0];
            let material = self.shape_material(size, area, parameters)?;
            let Some(material) = material else {
                return Ok(());
            };
            if !self.scene.is_textured(material) {
                return self.scene.push_sphere(&place, radius, material);
            }
        }
        if high <= low {
            return Err("zmin and zmax: expected a part of the sphere between them".to_owned());
        }
        let mesh = shapes::sphere(low, high, phi_max, true);
        let key = ("sphere", [low, high, phi_max].map(f64::to_bits));
        let scale = DAffine3::from_scale(DVec3::splat(radius));
        self.mesh(Some(key), mesh, scale, parameters)
    }

    /// Adds a mesh with v upwards, to which `place` applies before the transform of the graphics state. Meshes with
    /// equal keys are equal and stored once; one without a key is not shared.
    fn mesh(
        &mut self,
        key: Option<(&'static str, [u64; 3])>,
        mut mesh: ModelMesh,
        place: DAffine3,
        parameters: &Parameters,
    ) -> Result<(), String> {
        let transform = mesh.placed(self.state.transform * place);
        if self.state.reverses {
            mesh.flip();
        }
        for uv in mesh.uvs.iter_mut().flatten() {
            uv[1] = 1.0 - uv[1];
        }
        if let Some(emission) = self.hidden_emission(parameters)? {
            let parameters = key.map(|(kind, bits)| (kind, bits.map(f64::from_bits)));
            let curved = match parameters {
                Some(("disk", [hole, phi_max, _])) => (1.0 - hole * hole) * phi_max / 2.0,
                Some((_, [low, high, phi_max])) => (high - low) * phi_max,
                None => 0.0,
            };
            let flat = area(&mesh, &DAffine3::IDENTITY);
            let larger = if curved > 0.0 { curved / flat } else { 1.0 };
            return self.hidden_light(&mesh, &transform, larger, &emission);
        }
        if key.is_some() {
            self.note_tessellated();
        }
        let right_handed = self.right_handed(&transform)?;
        let size = uv_extent(&mesh, &transform, right_handed);
        let area = area(&mesh, &transform);
        let Some(material) = self.shape_material(size, area, parameters)? else {
            return Ok(());
        };
        if mesh.tangents.is_some() {
            self.keep_tangents(&mut mesh, material)?;
        }
        if let Some(mirrored) = right_handed {
            if mesh.normals.is_none() {
                mesh.facet()?;
            }
            match &mut mesh.tangents {
                // A transform that mirrors negates the bitangent.
                Some(tangents) if mirrored => tangents.iter_mut().for_each(|of| of[3] = -1.0),
                Some(_) => {}
                None => mesh.add_right_handed_tangents(mirrored)?,
            }
        }
        let mesh = match key {
            Some((kind, parameters)) => {
                let shape = Tessellated {
                    kind,
                    parameters,
                    flipped: self.state.reverses,
                    right_handed,
                };
                self.scene.push_tessellated(shape, mesh, material)?
            }
            None => self.scene.push_mesh(mesh, material)?,
        };
        self.push(ModelInstance {
            mesh,
            material,
            transform,
        })
    }

    /// Removes the tangents that a mesh has by `S` if its material does not use them, or has a bump map. Adds the normals
    /// of the triangles to a mesh without normals, and keeps its tangents.
    fn keep_tangents(&mut self, mesh: &mut ModelMesh, material: usize) -> Result<(), String> {
        let converted = self.current_material()?;
        if self.scene.has_bump_map(&converted.material, converted.bump) {
            self.note(
                "not used: `S` of meshes with a bump map, which follows their texture coordinates",
            );
            mesh.tangents = None;
        }
        let model = &self.scene.model;
        if !model.needs_tangents(&model.materials[material]) {
            mesh.tangents = None;
        }
        if mesh.normals.is_none()
            && let Some(tangents) = mesh.tangents.take()
        {
            let corners = mesh.triangles.iter().flatten();
            let copied = corners.map(|&vertex| tangents[vertex as usize]).collect();
            mesh.facet()?;
            mesh.tangents = Some(copied);
        }
        Ok(())
    }

    /// Adds a subdivision surface as a mesh, without the normals and texture coordinates of its control mesh.
    fn subdivision_surface(&mut self, parameters: &Parameters) -> Result<(), String> {
        let ModelMesh {
            origin,
            positions: control,
            ..
        } = vertices(parameters)?;
        let triangles = triangles(parameters, control.len())?;
        let given = triangles.len();
        // Older versions call it `nlevels`.
        let levels = parameters.number("levels", parameters.number("nlevels", 3.0)) as u32;
        let left = MAX_ADDED_TRIANGLES.saturating_sub(self.subdivided);
        let max_triangles = MAX_SURFACE_TRIANGLES.min(left);
        let (mut mesh, done) =
            subdivision::loop_limit_mesh(&control, triangles, levels, max_triangles)?;
        if done < levels {
            self.note("approximated: large subdivision surfaces by fewer levels");
        }
        mesh.origin = origin;
        self.subdivided += mesh.triangles.len() - given;
        // In pbrt, the normals point to the side from which the triangles are clockwise.
        mesh.flip();
        self.mesh(None, mesh, DAffine3::IDENTITY, parameters)
    }

    /// Adds a curve as a mesh: a `ribbon` as it is, and a `cylinder` as a tube. A `flat` curve, which always faces the
    /// viewer, becomes a tube too. Fails if a parameter is invalid.
    fn curve(&mut self, parameters: &Parameters) -> Result<(), String> {
        let basis = match parameters.text("basis", "bezier") {
            "bspline" => Basis::BSpline,
            _ => Basis::Bezier,
        };
        let degree = match parameters.number("degree", 3.0) {
            2.0 => 2,
            _ => 3,
        };
        let width = parameters.number("width", 1.0);
        let widths = ["width0", "width1"].map(|name| parameters.number(name, width).max(0.0));
        let mut points = parameters.vectors("P")?;
        let origin = origin_of_points(points.len(), |point| points[point]);
        points.iter_mut().for_each(|point| *point -= origin);
        let curve = Curve::tapered(&points, basis, degree, widths)?;
        let mut mesh = match parameters.text("type", "flat") {
            "ribbon" => curve.ribbon(&parameters.vectors("N")?)?,
            _ => {
                self.note("approximated: curves by tubes with six sides");
                curve.tube(curves::COARSE)
            }
        };
        if !mesh.positions.iter().all(|position| position.is_finite()) {
            return Err("P: found a curve that is not finite; correct its numbers".to_owned());
        }
        mesh.normalize_attributes();
        mesh.origin = origin;
        self.mesh(None, mesh, DAffine3::IDENTITY, parameters)
    }

    /// Adds the meshes of a PLY file. The file is read once for all shapes that use it in the same way.
    fn mesh_file(&mut self, parameters: &Parameters) -> Result<(), String> {
        let name = parameters.text("filename", "");
        if parameters.get("displacement").is_some() {
            self.note("not shown: the displacement of meshes");
        }
        let path = self.files.find_by_last_component(name)?;
        if self.scene.is_missing(name, &path) {
            return Ok(());
        }
        let converted = self.current_material()?;
        let has_tangents = self.scene.model.needs_tangents(&converted.material);
        let transform = self.state.transform;
        let right_handed = self.right_handed(&transform)?;
        let reading = Reading {
            flip: self.state.reverses,
            needs_normals: has_tangents
                || self.scene.has_bump_map(&converted.material, converted.bump),
            right_handed,
        };
        let read = |path: &Path| {
            let mut meshes = mesh_files::read(path, false)?;
            for mesh in &mut meshes {
                mesh.normalize_attributes();
                mesh.turn_to_normals();
                if reading.flip {
                    mesh.flip();
                }
                if reading.needs_normals && mesh.normals.is_none() {
                    mesh.facet()?;
                }
                if let Some(mirrored) = reading.right_handed {
                    mesh.add_right_handed_tangents(mirrored)?;
                }
            }
            Ok(meshes)
        };
        let model = &mut self.scene.model;
        let meshes = self.meshes.indices(model, &path, reading, read)?;
        if let Some(emission) = self.hidden_emission(parameters)? {
            for &index in meshes.iter() {
                // A light needs the mesh and the whole model, which has it.
                let mesh = std::mem::take(&mut self.scene.model.meshes[index]);
                let place = mesh.placed(transform);
                let done = self.hidden_light(&mesh, &place, 1.0, &emission);
                self.scene.model.meshes[index] = mesh;
                done?;
            }
            return Ok(());
        }
        let total: f64 = (meshes.iter())
            .map(|&mesh| area(&self.scene.model.meshes[mesh], &transform))
            .sum();
        for &mesh in meshes.iter() {
            let of_file = &self.scene.model.meshes[mesh];
            let place = of_file.placed(transform);
            let size = uv_extent(of_file, &transform, right_handed);
            let Some(material) = self.shape_material(size, total, parameters)? else {
                return Ok(());
            };
            self.push(ModelInstance {
                mesh,
                material,
                transform: place,
            })?;
        }
        Ok(())
    }

    /// Returns whether a transform mirrors, if the current material has a normal map, whose bitangent is the cross product
    /// of normal and tangent in pbrt; otherwise `None`.
    fn right_handed(&mut self, transform: &DAffine3) -> Result<Option<bool>, String> {
        let converted = self.current_material()?;
        let has_normal_map = self.scene.model.has_normal_map(&converted.material);
        Ok(has_normal_map.then(|| transform.matrix3.determinant() < 0.0))
    }

    /// Returns the index in the model of the material of a shape of `area` square metres, on which u and v cover `size`
    /// metres. Returns `None` if the shape is invisible.
    fn shape_material(
        &mut self,
        size: [f32; 2],
        area: f64,
        parameters: &Parameters,
    ) -> Result<Option<usize>, String> {
        let alpha = self.scalar(parameters, "alpha", 1.0)?;
        let emission = self.emission();
        self.material(size, area, alpha, emission.as_ref())
    }

    /// Returns the area light of a shape that pbrt does not show, because it has an alpha of 0; `None` for other shapes.
    fn hidden_emission(&mut self, parameters: &Parameters) -> Result<Option<Rc<Emission>>, String> {
        let alpha = self.scalar(parameters, "alpha", 1.0)?;
        let is_hidden = alpha.factor == 0.0 && alpha.texture.is_none();
        Ok(self.emission().filter(|_| is_hidden))
    }

    /// Adds an area light that lights the scene and is not visible. Its surface is `larger` than that of the mesh, by a
    /// factor.
    fn hidden_light(
        &mut self,
        mesh: &ModelMesh,
        transform: &DAffine3,
        larger: f64,
        emission: &Emission,
    ) -> Result<(), String> {
        let area = area(mesh, transform) * larger;
        let (radiance, both_sides) = self.radiance(&emission.parameters, area)?;
        let radiance = radiance.mean(&self.scene.model.library) * larger as f32;
        self.scene
            .push_hidden_light(mesh, transform, radiance, both_sides)
    }
}

/// Returns the area in square metres of a mesh with this transform.
fn area(mesh: &ModelMesh, transform: &DAffine3) -> f64 {
    let of = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle
            .map(|vertex| transform.transform_point3(mesh.positions[vertex as usize].as_dvec3()));
        (b - a).cross(c - a).length() / 2.0
    };
    mesh.triangles.iter().map(of).sum()
}

/// Reads the mesh of a `trianglemesh`, whose texture coordinates keep pbrt's v upwards. The front of each triangle is
/// the side of its vertex normals, if there are any. Fails if a list is invalid or does not fit the others.
fn triangle_mesh(parameters: &Parameters) -> Result<ModelMesh, String> {
    let mut mesh = vertices(parameters)?;
    mesh.triangles = triangles(parameters, mesh.positions.len())?;
    let tangents = parameters.vectors("S")?;
    let (count, expected) = (tangents.len(), mesh.positions.len());
    if count != 0 && count != expected {
        return Err(format!("S: has {count} entries for {expected} vertices"));
    }
    if count != 0 {
        let tangent = |of: &DVec3| of.as_vec3().extend(1.0).to_array();
        mesh.tangents = Some(tangents.iter().map(tangent).collect());
    }
    mesh.normalize_attributes();
    mesh.turn_to_normals();
    Ok(mesh)
}

/// Reads the triangles of a mesh with this number of vertices, at least one triangle. Fails if they are invalid.
fn triangles(parameters: &Parameters, count: usize) -> Result<Vec<[u32; 3]>, String> {
    let mut indices = parameters.indices("indices", count)?;
    if indices.is_empty() && count == 3 {
        indices = vec![0, 1, 2];
    }
    let (given, rest) = indices.as_chunks::<3>();
    if !rest.is_empty() || given.is_empty() {
        return Err("indices: expected three vertices per triangle".to_owned());
    }
    let mut triangles = vec_with_capacity(given.len())?;
    triangles.extend_from_slice(given);
    Ok(triangles)
}

/// Reads the vertices of a mesh, with v upwards, without triangles.
fn vertices(parameters: &Parameters) -> Result<ModelMesh, String> {
    let list = parameters.vectors("P")?;
    let origin = origin_of_points(list.len(), |vertex| list[vertex]);
    let relative = |position: &DVec3| (*position - origin).as_vec3();
    let positions: Vec<Vec3> = list.iter().map(relative).collect();
    if positions.is_empty() || !positions.iter().all(|position| position.is_finite()) {
        return Err("P: expected the positions of vertices".to_owned());
    }
    let count = positions.len();
    let normals: Vec<Vec3> = parameters
        .vectors("N")?
        .iter()
        .map(|normal| normal.as_vec3())
        .collect();
    let name = ["uv", "st"]
        .into_iter()
        .find(|name| parameters.get(name).is_some());
    let uvs = parameters.pairs(name.unwrap_or("uv"))?;
    for (name, length) in [("N", normals.len()), ("uv", uvs.len())] {
        if length != 0 && length != count {
            return Err(format!("{name}: has {length} entries for {count} vertices"));
        }
    }
    Ok(ModelMesh {
        origin,
        positions,
        normals: (!normals.is_empty()).then_some(normals),
        uvs: (!uvs.is_empty()).then(|| uvs.iter().map(|uv| uv.as_vec2().to_array()).collect()),
        ..ModelMesh::default()
    })
}

/// Reads a `bilinearmesh` with v upwards. The flag says whether any patch is curved, so that triangles only approximate
/// it.
fn bilinear_mesh(parameters: &Parameters) -> Result<(ModelMesh, bool), String> {
    let vertices = vertices(parameters)?;
    let count = vertices.positions.len();
    let mut indices = parameters.indices("indices", count)?;
    if indices.is_empty() && count == 4 {
        indices = vec![0, 1, 2, 3];
    }
    let (patches, rest) = indices.as_chunks::<4>();
    if !rest.is_empty() || patches.is_empty() {
        return Err("indices: expected four vertices per patch".to_owned());
    }
    let mut mesh = ModelMesh {
        origin: vertices.origin,
        ..ModelMesh::default()
    };
    let mut is_curved = false;
    for patch in patches {
        let corners = patch.map(|vertex| vertices.positions[vertex as usize].as_dvec3());
        let normals = vertices.normals.as_ref();
        let normals = normals.map(|list| patch.map(|vertex| list[vertex as usize].as_dvec3()));
        let uvs = match &vertices.uvs {
            Some(list) => {
                patch.map(|vertex| DVec2::from_array(list[vertex as usize].map(f64::from)))
            }
            None => [DVec2::ZERO, DVec2::X, DVec2::Y, DVec2::ONE],
        };
        is_curved |= shapes::push_bilinear_patch(&mut mesh, corners, normals, uvs)?;
    }
    mesh.normalize_attributes();
    mesh.turn_to_normals();
    Ok((mesh, is_curved))
}
