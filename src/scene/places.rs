//! Meshes that stand in many places: the shape, made once, and where it goes.

use std::{collections::HashMap, f64::consts::PI};

use glam::{DAffine3, DMat3, DVec3, Vec3};

use super::{
    Instance, Mesh, Triangle,
    geometry::{Corner, make_room},
    source::MAX_LENGTH,
    transform::Transform,
};

/// Places in a row, a layer or a block, about a centre.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// Along x, y and z.
    pub(super) count: [u32; 3],
    /// From one to the next, metres.
    pub(super) spacing: DVec3,
    pub(super) center: DVec3,
}

/// Places by chance, evenly over a box, upright and turned about +y.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scatter {
    pub(super) count: u32,
    /// Corners of the box, metres.
    pub(super) from: DVec3,
    pub(super) to: DVec3,
    pub(super) seed: u32,
    /// Smallest and largest factor.
    pub(super) scale: (f64, f64),
    /// The largest turn, degrees.
    pub(super) turn: f64,
}

impl Grid {
    /// Places in all.
    pub(super) fn len(&self) -> u32 {
        self.count.iter().product()
    }

    pub(super) fn place(&self, number: u32) -> Transform {
        let [x, y, _] = self.count;
        let step = [number % x, number / x % y, number / x / y];
        let middle = self.count.map(|count| f64::from(count - 1) / 2.0);
        let offset = DVec3::from_array(step.map(f64::from)) - DVec3::from_array(middle);
        Transform {
            scale: DVec3::ONE,
            rotate_degrees: DVec3::ZERO,
            translate: self.center + offset * self.spacing,
        }
    }
}

impl Scatter {
    pub(super) fn place(&self, number: u32) -> Transform {
        let unit = |dimension: u64| {
            let key = (u64::from(self.seed) << 32 | u64::from(number)) * 8 + dimension;
            (mixed(key) >> 11) as f64 / (1u64 << 53) as f64
        };
        let share = DVec3::new(unit(0), unit(1), unit(2));
        let (least, most) = self.scale;
        Transform {
            scale: DVec3::splat(least + (most - least) * unit(3)),
            rotate_degrees: DVec3::new(0.0, self.turn * unit(4), 0.0),
            translate: self.from + (self.to - self.from) * share,
        }
    }
}

/// SplitMix64's finalizer.
fn mixed(key: u64) -> u64 {
    let word = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The instance of a mesh that a transform puts somewhere. `Err` if some of it would be too far away, or nothing of it
/// would be left.
pub(super) fn instance(
    mesh: u32,
    reach: f64,
    transform: &Transform,
    material: Option<u32>,
) -> Result<Instance, String> {
    let affine = transform.affine();
    let axes = affine.matrix3;
    let far = (axes.x_axis.abs() + axes.y_axis.abs() + axes.z_axis.abs()) * reach
        + transform.translate.abs();
    if far.max_element() > MAX_LENGTH {
        return Err(format!("reaches to {far}, expected metres within 1e8 of 0"));
    }
    placed(mesh, &affine, material)
        .ok_or_else(|| "is scaled to nothing, expected a larger scale".to_owned())
}

/// The instance of a mesh in a place. `None` if nothing of it would be left.
pub(super) fn placed(mesh: u32, place: &DAffine3, material: Option<u32>) -> Option<Instance> {
    let DMat3 {
        x_axis,
        y_axis,
        z_axis,
    } = place.matrix3;
    let axes = [x_axis, y_axis, z_axis].map(DVec3::as_vec3);
    let inverse = DMat3::from_cols_array_2d(&axes.map(|axis| axis.as_dvec3().to_array())).inverse();
    let fits = |axis: DVec3| axis.is_finite() && axis.abs().max_element() < 1e15;
    [inverse.x_axis, inverse.y_axis, inverse.z_axis]
        .into_iter()
        .all(fits)
        .then_some(Instance {
            mesh,
            axes,
            position: place.translation.as_vec3(),
            material,
        })
}

/// Triangles that share the vertices that lie at one place, and are alike there. What `corners` have is taken, if all of
/// them have it: texture coordinates, and of a smooth mesh normals.
pub(super) fn indexed(
    triangles: &[Triangle],
    corners: &[[Corner; 3]],
    smooth: bool,
) -> Result<Mesh, String> {
    let all =
        |has: fn(&Corner) -> bool| !corners.is_empty() && corners.as_flattened().iter().all(has);
    let with_uvs = all(|corner| corner.uv[0].is_finite() && corner.uv[1].is_finite());
    let with_normals = smooth && all(|corner| corner.normal.length_squared().is_normal());
    let mut mesh = Mesh::default();
    let mut numbers: HashMap<[u32; 8], u32> = HashMap::new();
    for (triangle, shared) in triangles.iter().enumerate() {
        let mut vertices = [0; 3];
        for (corner, vertex) in vertices.iter_mut().enumerate() {
            let position = shared.vertices[corner];
            let has = |has: bool| corners.get(triangle).filter(|_| has);
            let [u, v] = has(with_uvs).map_or([0.0; 2], |corners| corners[corner].uv);
            let normal = has(with_normals).map_or(Vec3::ZERO, |corners| corners[corner].normal);
            let [x, y, z] = position.to_array();
            let [a, b, c] = normal.to_array();
            // Both zeros are one place.
            let bits = [x, y, z, u, v, a, b, c].map(|number| (number + 0.0).to_bits());
            let next = mesh.positions.len() as u32;
            *vertex = *numbers.entry(bits).or_insert(next);
            if *vertex == next {
                make_room(&mut mesh.positions)?;
                mesh.positions.push(position);
                if with_uvs {
                    make_room(&mut mesh.uvs)?;
                    mesh.uvs.push([u, v]);
                }
                if with_normals {
                    make_room(&mut mesh.normals)?;
                    mesh.normals.push(normal.normalize());
                }
            }
        }
        make_room(&mut mesh.triangles)?;
        mesh.triangles.push(vertices);
    }
    mesh.materials = vec![triangles.first().map_or(0, |triangle| triangle.material)];
    if smooth && !with_normals {
        mesh.normals = smooth_normals(&mesh);
    }
    Ok(mesh)
}

/// At each vertex the mean of its triangles' normals, each by its angle there (Thürmer & Wüthrich 1998); vertices that lie
/// at one place have the same.
fn smooth_normals(mesh: &Mesh) -> Vec<Vec3> {
    let mut places: HashMap<[u32; 3], u32> = HashMap::new();
    let place_of: Vec<u32> = mesh
        .positions
        .iter()
        .map(|position| {
            let bits = (*position + 0.0).to_array().map(f32::to_bits);
            let next = places.len() as u32;
            *places.entry(bits).or_insert(next)
        })
        .collect();
    let mut sums = vec![DVec3::ZERO; places.len()];
    for corners in &mesh.triangles {
        let at = corners.map(|vertex| mesh.positions[vertex as usize].as_dvec3());
        let normal = (at[1] - at[0]).cross(at[2] - at[0]).normalize_or_zero();
        for corner in 0..3 {
            let here = at[corner];
            let to_next = (at[(corner + 1) % 3] - here).normalize_or_zero();
            let to_last = (at[(corner + 2) % 3] - here).normalize_or_zero();
            let angle = libm::acos(to_next.dot(to_last).clamp(-1.0, 1.0));
            let place = place_of[corners[corner] as usize];
            sums[place as usize] += normal * angle.min(PI);
        }
    }
    place_of
        .iter()
        .map(|&place| sums[place as usize].normalize_or(DVec3::Y).as_vec3())
        .collect()
}
