//! Points and lines, which become spheres and tubes. Tubes consist of triangles. So do spheres that need textures, have
//! too many colors, or would be too many lights.

use std::f64::consts::{FRAC_PI_2, TAU};

use glam::{DAffine3, DVec3, Vec3};

use super::{Model, ModelInstance, ModelMesh, ModelSphere, check_position};
use crate::{
    limits::{MAX_INSTANCED_LIGHTS, MAX_LENGTH},
    memory::{self, reserve_more, vec_with_capacity},
    origin::origin_of_points,
};

/// Default diameter of points and lines, as a fraction of the diagonal of the model's bounding box.
const RELATIVE_WIDTH: f64 = 1.0 / 200.0;
/// Largest number of points and lines of a model that are finely tessellated, with up to 64 triangles each. More of
/// them have up to 20.
const MAX_FINE: usize = 1 << 14;

/// Points and lines of a primitive, in model coordinates once they are added to a model.
#[derive(Default)]
pub(crate) struct Strokes {
    /// Positions relative to its `origin`, colors and texture coordinates of the vertices, without triangles.
    pub(crate) vertices: ModelMesh,
    /// Indices of the two ends of each line. A point has two equal ones.
    pub(crate) segments: Vec<[u32; 2]>,
    /// Index of the material in the model, without vertex colors.
    pub(crate) material: usize,
}

impl Strokes {
    /// Returns whether a segment is a point: whether its ends are at the same position.
    fn is_point(&self, ends: &[u32; 2]) -> bool {
        let [a, b] = ends.map(|end| self.vertices.positions[end as usize]);
        a == b
    }

    /// Returns the number of segments that are points.
    fn point_count(&self) -> usize {
        let segments = self.segments.iter();
        segments.filter(|ends| self.is_point(ends)).count()
    }

    /// Returns a copy for each transform, all in one. Fails if a position is not within 1e8 m of 0 afterwards, if there
    /// are too many vertices, or if memory does not suffice.
    pub(crate) fn transformed(&self, transforms: &[DAffine3]) -> Result<Strokes, String> {
        let copies = transforms.len();
        let count = self.vertices.positions.len();
        if u32::try_from(count.saturating_mul(copies)).is_err() {
            return Err(format!(
                "its points and lines have {count} vertices in {copies} places, which is too many"
            ));
        }
        let point = |number: usize| {
            let position = self.vertices.positions[number % count];
            transforms[number / count].transform_point3(position.as_dvec3())
        };
        let origin = origin_of_points(count * copies, point);
        let mut positions = vec_with_capacity(count * copies)?;
        let mut segments = vec_with_capacity(self.segments.len().saturating_mul(copies))?;
        for transform in transforms {
            let first = positions.len() as u32;
            segments.extend(self.segments.iter().map(|ends| ends.map(|end| first + end)));
            for position in &self.vertices.positions {
                let point = transform.transform_point3(position.as_dvec3());
                check_position(point, "a vertex")?;
                positions.push((point - origin).as_vec3());
            }
        }
        Ok(Strokes {
            vertices: ModelMesh {
                origin,
                positions,
                uvs: repeated(&self.vertices.uvs, copies)?,
                second_uvs: repeated(&self.vertices.second_uvs, copies)?,
                colors: repeated(&self.vertices.colors, copies)?,
                ..ModelMesh::default()
            },
            segments,
            material: self.material,
        })
    }
}

/// Returns an attribute `copies` times in a row, or `None` if there is none. Fails if memory does not suffice.
fn repeated<T: Copy>(list: &Option<Vec<T>>, copies: usize) -> Result<Option<Vec<T>>, String> {
    let Some(list) = list else { return Ok(None) };
    let mut all = vec_with_capacity(list.len().saturating_mul(copies))?;
    (0..copies).for_each(|_| all.extend_from_slice(list));
    Ok(Some(all))
}

impl Model {
    /// Adds spheres for points, and meshes of tubes with round ends for lines, with the diameter `width` in metres.
    /// `None` selects 1/200 of the diagonal of the bounding box of the model and `strokes`, with a warning that names
    /// the width.
    ///
    /// Fails if `width` is 0 or less or above 1e8 m, or a vertex of a tube is beyond 1e8 m. Also fails if there are too
    /// many vertices, or memory does not suffice. The extent of spheres is checked only when the model is placed.
    pub(crate) fn add_strokes(
        &mut self,
        strokes: Vec<Strokes>,
        width: Option<f64>,
    ) -> Result<(), String> {
        if let Some(width) = width
            && !(width > 0.0 && width <= MAX_LENGTH)
        {
            return Err(format!(
                "its lines cannot be {width} m wide; expected a width above 0 and up to 1e8"
            ));
        }
        let count: usize = strokes.iter().map(|strokes| strokes.segments.len()).sum();
        if count == 0 {
            if width.is_some() {
                self.note("has no points or lines, so that their width has no effect".to_owned());
            }
            return Ok(());
        }
        let used = match width {
            Some(width) => width,
            None => RELATIVE_WIDTH * self.diagonal(&strokes),
        };
        let shape = Shape::new(count <= MAX_FINE);
        let shining = strokes.iter().filter(|strokes| self.shines(strokes));
        let shining: usize = shining.map(Strokes::point_count).sum();
        // Each emissive sphere is a light, whatever their number, and lights take much memory. Of triangles only a
        // limited number are lights.
        let are_too_many_lights = shining as u64 > MAX_INSTANCED_LIGHTS;
        for mut stroke in strokes {
            if !(are_too_many_lights && self.shines(&stroke)) {
                self.add_points(&mut stroke, used / 2.0)?;
            }
            if stroke.segments.is_empty() {
                continue;
            }
            let mesh = shape.mesh(&stroke, used / 2.0)?;
            let mesh = self.push_mesh(mesh);
            let material = self.with_vertex_colors(mesh, stroke.material)?;
            self.instances.push(ModelInstance {
                mesh,
                material,
                transform: DAffine3::from_translation(stroke.vertices.origin),
            });
        }
        if width.is_none() {
            self.note(format!(
                "its points and lines are shown as spheres and tubes {used:.3e} m wide"
            ));
        }
        Ok(())
    }

    /// Returns whether the material of `strokes` emits light.
    fn shines(&self, strokes: &Strokes) -> bool {
        let material = self.materials.get(strokes.material);
        material.is_some_and(|material| material.surface.radiance() != Vec3::ZERO)
    }

    /// Moves the points of `strokes` into the spheres of the model, with a radius in metres. Only lines remain.
    ///
    /// Leaves `strokes` unchanged if its material has textures, its points have more than 1,024 colors, or the radius
    /// is too small for `f32`. Fails if memory does not suffice.
    fn add_points(&mut self, strokes: &mut Strokes, radius: f64) -> Result<(), String> {
        let radius = radius as f32;
        let points = strokes
            .segments
            .iter()
            .filter(|ends| strokes.is_point(ends));
        let points: Vec<u32> = points.map(|&[vertex, _]| vertex).collect();
        if points.is_empty() || !radius.is_normal() {
            return Ok(());
        }
        let colors = strokes.vertices.colors.as_deref();
        let Some(materials) = self.tinted_materials(strokes.material, colors, &points)? else {
            return Ok(());
        };
        reserve_more(&mut self.spheres, points.len())?;
        for (&vertex, material) in points.iter().zip(materials) {
            let center = strokes.vertices.positions[vertex as usize].as_dvec3();
            self.spheres.push(ModelSphere {
                center: strokes.vertices.origin + center,
                radius,
                material,
            });
        }
        let segments = std::mem::take(&mut strokes.segments);
        strokes.segments = segments
            .into_iter()
            .filter(|ends| !strokes.is_point(ends))
            .collect();
        Ok(())
    }

    /// Returns the diagonal of the bounding box of the model and `strokes` in metres, or 1 if all is at one point.
    fn diagonal(&self, strokes: &[Strokes]) -> f64 {
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let mut add = |point: DVec3| (low, high) = (low.min(point), high.max(point));
        for instance in &self.instances {
            let corners = self.meshes[instance.mesh].corners();
            let place = |corner: &Vec3| instance.transform.transform_point3(corner.as_dvec3());
            corners.iter().map(place).for_each(&mut add);
        }
        for stroke in strokes {
            let corners = stroke.segments.as_flattened().iter();
            let ModelMesh {
                origin, positions, ..
            } = &stroke.vertices;
            let place = |&vertex: &u32| *origin + positions[vertex as usize].as_dvec3();
            corners.map(place).for_each(&mut add);
        }
        let diagonal = (high - low).length();
        if diagonal.is_normal() { diagonal } else { 1.0 }
    }
}

/// A ring of vertices around the axis of the tube or sphere that shows a line or point. Lengths are fractions of the
/// radius of that tube or sphere.
struct Ring {
    /// End of the line to which the ring belongs: 0 or 1.
    end: usize,
    /// Signed distance of the ring from that end along the axis, -1..=1, positive towards end 1.
    along: f64,
    /// Radius of the ring itself, 0..=1. A ring with radius 0 is a single vertex, a pole.
    radius: f64,
}

/// The tessellation of points and lines: rings from one pole to the other.
struct Shape {
    /// Cosine and sine of the angle of each vertex of a ring.
    sides: Vec<(f64, f64)>,
    /// Rings of a tube with round ends.
    tube: Vec<Ring>,
    /// Rings of a sphere around the first end.
    sphere: Vec<Ring>,
}

impl Shape {
    /// Creates a tessellation: a fine one with 64 triangles for a line, or a coarse one with 20.
    fn new(fine: bool) -> Shape {
        let (sides, steps) = if fine { (8, 2) } else { (5, 1) };
        let angle = |side: i32| libm::sincos(TAU * f64::from(side) / f64::from(sides));
        let ring = |end: usize, step: i32| {
            let (along, radius) = libm::sincos(FRAC_PI_2 * f64::from(step) / f64::from(steps));
            let radius = if step.abs() == steps { 0.0 } else { radius };
            Ring { end, along, radius }
        };
        let lower = |last: i32| (-steps..=last).map(move |step| ring(0, step));
        Shape {
            sides: (0..sides)
                .map(|side| {
                    let (sine, cosine) = angle(side);
                    (cosine, sine)
                })
                .collect(),
            tube: lower(0)
                .chain((0..=steps).map(|step| ring(1, step)))
                .collect(),
            sphere: lower(steps).collect(),
        }
    }

    /// Returns the number of vertices and of triangles of these rings.
    fn size(&self, rings: &[Ring]) -> (usize, usize) {
        let sides = self.sides.len();
        // The two poles are single vertices, and the rings next to them have one triangle for each side.
        (2 + (rings.len() - 2) * sides, 2 * sides * (rings.len() - 2))
    }

    /// Returns a mesh of all points and lines with a radius in metres. Every vertex has the color and the texture
    /// coordinates of its end of the line. Fails if there are too many vertices or too little memory.
    fn mesh(&self, strokes: &Strokes, radius: f64) -> Result<ModelMesh, String> {
        let points = strokes.point_count();
        let lines = strokes.segments.len() - points;
        let (sphere, tube) = (self.size(&self.sphere), self.size(&self.tube));
        let vertices = points * sphere.0 + lines * tube.0;
        let triangles = points * sphere.1 + lines * tube.1;
        if u32::try_from(vertices).is_err() {
            return Err(format!(
                "its {} points and lines are too many; a primitive has at most {} of them",
                strokes.segments.len(),
                u32::MAX as usize / tube.0
            ));
        }
        let attributes = size_of::<[f32; 4]>() + 2 * size_of::<[f32; 2]>();
        let per_vertex = (2 * size_of::<Vec3>() + size_of::<u32>() + attributes) as u64;
        let bytes = vertices as u64 * per_vertex + triangles as u64 * size_of::<[u32; 3]>() as u64;
        memory::check(bytes).map_err(|problem| format!("its points and lines: {problem}"))?;
        let mut mesh = ModelMesh {
            positions: vec_with_capacity(vertices)?,
            triangles: vec_with_capacity(triangles)?,
            ..ModelMesh::default()
        };
        let mut normals = vec_with_capacity(vertices)?;
        // The vertex of the file whose attributes each vertex of the mesh has.
        let mut sources = vec_with_capacity(vertices)?;
        for ends in &strokes.segments {
            let rings = if strokes.is_point(ends) {
                &self.sphere
            } else {
                &self.tube
            };
            let place = ends.map(|end| strokes.vertices.positions[end as usize].as_dvec3());
            let axis = (place[1] - place[0]).normalize_or(DVec3::Y);
            let across = axis.any_orthonormal_vector();
            let aside = axis.cross(across);
            let first = mesh.positions.len() as u32;
            for ring in rings {
                let of_pole = if ring.radius == 0.0 {
                    1
                } else {
                    self.sides.len()
                };
                for &(cosine, sine) in &self.sides[..of_pole] {
                    let outwards = (across * cosine + aside * sine) * ring.radius;
                    let normal = axis * ring.along + outwards;
                    let position = place[ring.end] + normal * radius;
                    check_position(strokes.vertices.origin + position, "a vertex")?;
                    mesh.positions.push(position.as_vec3());
                    normals.push(normal.as_vec3());
                    sources.push(ends[ring.end]);
                }
            }
            self.connect(rings.len(), first, &mut mesh.triangles);
        }
        mesh.normals = Some(normals);
        mesh.colors = gathered(&strokes.vertices.colors, &sources)?;
        mesh.uvs = gathered(&strokes.vertices.uvs, &sources)?;
        mesh.second_uvs = gathered(&strokes.vertices.second_uvs, &sources)?;
        Ok(mesh)
    }

    /// Adds the triangles between consecutive rings, which have a vertex per entry of `self.sides`; the first and last
    /// ring are single vertices, the poles. `rings` counts the poles too, and `first` is the index of the first pole.
    fn connect(&self, rings: usize, first: u32, triangles: &mut Vec<[u32; 3]>) {
        let sides = self.sides.len() as u32;
        let start = |ring: u32| first + 1 + (ring - 1) * sides;
        let last = rings as u32 - 1;
        for side in 0..sides {
            let next = (side + 1) % sides;
            triangles.push([first, start(1) + next, start(1) + side]);
            for ring in 1..last - 1 {
                let (low, high) = (start(ring), start(ring + 1));
                triangles.push([low + side, low + next, high + next]);
                triangles.push([low + side, high + next, high + side]);
            }
            let low = start(last - 1);
            triangles.push([low + side, low + next, start(last)]);
        }
    }
}

/// Returns the attribute of each vertex in `sources`, or `None` if there is no attribute. Fails if memory does not
/// suffice.
fn gathered<T: Copy>(list: &Option<Vec<T>>, sources: &[u32]) -> Result<Option<Vec<T>>, String> {
    let Some(list) = list else { return Ok(None) };
    let mut gathered = vec_with_capacity(sources.len())?;
    gathered.extend(sources.iter().map(|&source| list[source as usize]));
    Ok(Some(gathered))
}
