//! Stores meshes that objects show through instances: `Instances`, and smooth or textured meshes.

use glam::DVec3;

use super::Builder;
use crate::{
    Error,
    builder::{
        geometry::Geometry, indexed_mesh::indexed_mesh, placement::check_reach,
        transform::Transform,
    },
    limits::{BUILDING_BYTES, INSTANCE_BYTES},
    memory,
    origin::{MANY_FACES, Parts},
    ron::{
        placements::{read_grid, read_scatter, read_transform},
        source::{Object, Raw},
        text::{DisplacedSphereText, InstancesText, ObjectText, PlaceText},
    },
    scene::{Instance, Mesh},
};

/// A mesh that instances refer to.
struct InstancedMesh {
    /// Index among the scene's meshes.
    number: u32,
    /// Largest magnitude of the mesh's coordinates in metres.
    reach: f64,
    /// Position of the mesh's own 0 in the coordinates of its object.
    origin: DVec3,
    /// Bounding box in the coordinates of its object.
    extent: (DVec3, DVec3),
}

impl<'a> Builder<'_, 'a> {
    /// Adds a `Mesh` or `DisplacedSphere` as a mesh with one instance, which has the identity transform. Fails with
    /// [`Error::Scene`].
    pub(super) fn object_as_instance(&mut self, object: &Object<'a>) -> Result<(), Error> {
        let mesh = self.instanced_mesh(object)?;
        let place = Transform::default();
        let parts = &mut self.geometry.parts;
        parts.push_placed(&place.affine(), mesh.extent, MANY_FACES);
        self.place(object, object.raw, &mesh, &place, None)
    }

    /// Stores a `Mesh` or `DisplacedSphere` as a mesh of the scene, without an instance. Any other object is an
    /// [`Error::Scene`].
    fn instanced_mesh(&mut self, object: &Object<'a>) -> Result<InstancedMesh, Error> {
        // The scene's origin often suits the mesh, so that its file is read once.
        let mut origin = self.geometry.origin;
        let notes = self.notes.len();
        let (mut mesh, mut parts) = self.mesh_around(object, origin);
        if !parts.fits(origin) {
            self.notes.truncate(notes);
            origin = parts.origin();
            (mesh, parts) = self.mesh_around(object, origin);
        }
        let mesh = mesh?;
        let reach = mesh.positions.iter().fold(0.0, |reach: f32, position| {
            reach.max(position.abs().max_element())
        });
        let number = self.geometry.push_mesh(mesh);
        Ok(InstancedMesh {
            number: number.map_err(|problem| self.source.error(object, object.raw, problem))?,
            reach: f64::from(reach),
            origin,
            extent: parts.extent(),
        })
    }

    /// Reads a mesh like [`Self::instanced_mesh`], with coordinates that are relative to `origin`, without storing it.
    /// Also returns the extent of the object, which is missing after most errors.
    fn mesh_around(&mut self, object: &Object<'a>, origin: DVec3) -> (Result<Mesh, Error>, Parts) {
        let source = self.source;
        let scene_geometry = std::mem::replace(&mut self.geometry, Geometry::around(origin));
        let made = match source.parse(object) {
            Ok(ObjectText::Mesh(written)) => {
                let corners = self.mesh_triangles(object, &written, true);
                corners.and_then(|corners| {
                    Ok((
                        corners,
                        source.flag(object, "smooth", written.smooth, false)?,
                    ))
                })
            }
            Ok(ObjectText::DisplacedSphere(written)) => {
                let plain = DisplacedSphereText {
                    smooth: None,
                    ..written
                };
                self.displaced_sphere(object, &plain).and_then(|()| {
                    Ok((
                        Vec::new(),
                        source.flag(object, "smooth", written.smooth, false)?,
                    ))
                })
            }
            Ok(_) => Err(source.error(
                object,
                object.raw,
                "cannot be instanced; expected Mesh(..) or DisplacedSphere(..)",
            )),
            Err(error) => Err(error),
        };
        let shape = std::mem::replace(&mut self.geometry, scene_geometry);
        let mesh = made.and_then(|(corners, smooth)| {
            indexed_mesh(&shape.triangles, &corners, smooth)
                .map_err(|problem| source.error(object, object.raw, problem))
        });
        (mesh, shape.parts)
    }

    /// Adds an instance of a mesh. `material` replaces the mesh's own unless it is `None`.
    ///
    /// Errors are [`Error::Scene`] about `object` at the value `at`.
    fn place(
        &mut self,
        object: &Object,
        at: Raw,
        mesh: &InstancedMesh,
        transform: &Transform,
        material: Option<u32>,
    ) -> Result<(), Error> {
        let mut place = transform.affine();
        if mesh.origin != DVec3::ZERO {
            place.translation = transform.apply(mesh.origin);
        }
        check_reach(mesh.reach, &place)
            .and_then(|()| self.geometry.push_instance(mesh.number, &place, material))
            .and_then(|is_placed| match is_placed {
                true => Ok(()),
                false => Err("is scaled to 0 or almost 0, expected a larger scale".to_owned()),
            })
            .map_err(|problem| self.source.error(object, at, problem))
    }

    /// Adds an `Instances` object: stores the mesh of its field `of`, and adds the instances that `at`, `grid` or
    /// `scatter` describes. Fails with [`Error::Scene`].
    pub(super) fn instances(
        &mut self,
        object: &Object<'a>,
        written: &InstancesText<'a>,
    ) -> Result<(), Error> {
        let source = self.source;
        let shape =
            self.instanced_mesh(&Object::new(format!("{}, of", object.name), written.of))?;
        match (written.at, written.grid, written.scatter) {
            (Some(at), None, None) => self.places(object, at, &shape),
            (None, Some(raw), None) => {
                let grid = read_grid(source, &Object::new(format!("{}, grid", object.name), raw))?;
                self.reserve_places(object, raw, grid.len() as usize)?;
                let ends = [0, grid.len() - 1].map(|number| grid.place(number).translate);
                self.push_extent_of_places(ends, &shape);
                (0..grid.len()).try_for_each(|number| {
                    self.place(object, raw, &shape, &grid.place(number), None)
                })
            }
            (None, None, Some(raw)) => {
                let name = format!("{}, scatter", object.name);
                let scatter = read_scatter(source, &Object::new(name, raw))?;
                self.reserve_places(object, raw, scatter.count as usize)?;
                self.push_extent_of_places([scatter.from, scatter.to], &shape);
                (0..scatter.count).try_for_each(|number| {
                    self.place(object, raw, &shape, &scatter.place(number), None)
                })
            }
            _ => Err(source.error(
                object,
                object.raw,
                "expected exactly one of the fields `at`, `grid` and `scatter`",
            )),
        }
    }

    /// Allocates memory for `count` more instances, after a check that they are allowed and can be rendered. Errors are
    /// [`Error::Scene`] about `object` at the value `at`.
    fn reserve_places(&mut self, object: &Object, at: Raw, count: usize) -> Result<(), Error> {
        // The instances stay in memory while the tree over them is built.
        let each = size_of::<Instance>() as u64 + BUILDING_BYTES + INSTANCE_BYTES;
        let geometry = &mut self.geometry;
        geometry
            .check_room(count)
            .and_then(|()| Ok(memory::check(count as u64 * each)?))
            .and_then(|()| memory::reserve_more(&mut geometry.instances, count))
            .map_err(|problem| self.source.error(object, at, problem))
    }

    /// Adds the extent of instances of a mesh whose translations fill the box between two opposite corners.
    fn push_extent_of_places(&mut self, [from, to]: [DVec3; 2], mesh: &InstancedMesh) {
        let (low, high) = mesh.extent;
        let (low, high) = (from.min(to) + low, from.max(to) + high);
        self.geometry.parts.push(low, high, MANY_FACES);
    }

    /// Adds one instance of a mesh for each entry of the field `at`. Fails with [`Error::Scene`].
    fn places(
        &mut self,
        object: &Object<'a>,
        at: Raw<'a>,
        mesh: &InstancedMesh,
    ) -> Result<(), Error> {
        let source = self.source;
        let places: Vec<Raw> = source.parse(&Object::new(format!("{}, at", object.name), at))?;
        if places.is_empty() {
            return Err(source.error(object, at, "at: is empty; expected at least one place"));
        }
        self.reserve_places(object, at, places.len())?;
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
            let parts = &mut self.geometry.parts;
            parts.push_placed(&transform.affine(), mesh.extent, MANY_FACES);
            self.place(&place, raw, mesh, &transform, material)?;
        }
        Ok(())
    }
}
