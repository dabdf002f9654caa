//! Meshes of the shapes of other renderers, in the coordinates of the shape.

use std::f64::consts::{PI, TAU};

use glam::{DVec2, DVec3, Vec3};

use crate::{memory::reserve_one, model::ModelMesh};

/// Number of straight edges that approximate a full circle.
const SEGMENTS: u32 = 128;

/// A grid of vertices while it is built. Each has a position, a normal and texture coordinates.
#[derive(Default)]
struct Grid {
    positions: Vec<Vec3>,
    normals: Vec<Vec3>,
    uvs: Vec<[f32; 2]>,
}

/// Point of a parametric surface in the coordinates of the shape: position, unit normal and texture coordinates.
pub(super) type Point = (DVec3, DVec3, [f64; 2]);

/// Returns the mesh of a surface over a grid of `columns` by `rows` cells. `point` gives the surface at a column and a
/// row. The front is the side from which rows are to the left of columns.
pub(super) fn surface(columns: u32, rows: u32, point: impl Fn(u32, u32) -> Point) -> ModelMesh {
    let mut grid = Grid::default();
    for row in 0..=rows {
        for column in 0..=columns {
            let (position, normal, uv) = point(column, row);
            grid.positions.push(position.as_vec3());
            grid.normals.push(normal.as_vec3());
            grid.uvs.push(uv.map(|part| part as f32));
        }
    }
    let mut triangles = Vec::new();
    let at = |column: u32, row: u32| row * (columns + 1) + column;
    for row in 0..rows {
        for column in 0..columns {
            let corners = [
                at(column, row),
                at(column + 1, row),
                at(column + 1, row + 1),
                at(column, row + 1),
            ];
            for [a, b, c] in [[0, 1, 2], [0, 2, 3]] {
                let triangle = [corners[a], corners[b], corners[c]];
                let [a, b, c] = triangle.map(|vertex| grid.positions[vertex as usize]);
                if a != b && b != c && c != a {
                    triangles.push(triangle);
                }
            }
        }
    }
    ModelMesh {
        positions: grid.positions,
        normals: Some(grid.normals),
        uvs: Some(grid.uvs),
        triangles,
        ..ModelMesh::default()
    }
}

/// Returns the square from (-1, -1, 0) to (1, 1, 0), with its front towards +z.
pub(crate) fn rectangle() -> ModelMesh {
    ModelMesh {
        positions: [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
            .map(|[x, y]| Vec3::new(x, y, 0.0))
            .to_vec(),
        uvs: Some(vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]),
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        ..ModelMesh::default()
    }
}

/// Returns the cube from (-1, -1, -1) to (1, 1, 1), with its front outside. Each face shows the whole image, as the
/// faces of Mitsuba's cube do.
pub(crate) fn cube() -> ModelMesh {
    // For each face its normal, the direction of growing u and the direction of growing v.
    let faces = [
        [Vec3::X, Vec3::Y, Vec3::NEG_Z],
        [Vec3::NEG_X, Vec3::Y, Vec3::Z],
        [Vec3::Y, Vec3::NEG_X, Vec3::NEG_Z],
        [Vec3::NEG_Y, Vec3::Z, Vec3::X],
        [Vec3::Z, Vec3::Y, Vec3::X],
        [Vec3::NEG_Z, Vec3::NEG_Y, Vec3::X],
    ];
    let mut mesh = ModelMesh::default();
    let mut uvs = Vec::new();
    for [normal, along_u, along_v] in faces {
        let first = mesh.positions.len() as u32;
        for [u, v] in [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]] {
            let corner = normal + along_u * (2.0 * u - 1.0) + along_v * (2.0 * v - 1.0);
            mesh.positions.push(corner);
            uvs.push([u, v]);
        }
        let order = match along_u.cross(along_v).dot(normal) > 0.0 {
            true => [[0, 1, 2], [0, 2, 3]],
            false => [[0, 2, 1], [0, 3, 2]],
        };
        mesh.triangles
            .extend(order.map(|corners| corners.map(|corner| first + corner)));
    }
    mesh.uvs = Some(uvs);
    mesh
}

/// Returns the part of a unit sphere around z with z from `low` to `high` and angles around z, from +x towards +y, up
/// to `phi_max` radians. It has no caps, and its front is outside.
///
/// u and v cover 0 to 1 over this part: u grows with the angle around z, v with the angle from +z, or against it if
/// `v_up`.
pub(crate) fn sphere(low: f64, high: f64, phi_max: f64, v_up: bool) -> ModelMesh {
    let (top, bottom) = (libm::acos(high), libm::acos(low));
    let columns = segments(phi_max);
    let rows = ((bottom - top) / PI * f64::from(SEGMENTS / 2))
        .ceil()
        .max(1.0) as u32;
    surface(columns, rows, |column, row| {
        let u = f64::from(column) / f64::from(columns);
        let v = f64::from(row) / f64::from(rows);
        // The rows run upwards, so that the front is outside.
        let theta = bottom + (top - bottom) * v;
        let (sin, cos) = match row {
            _ if theta <= 1e-9 => (0.0, 1.0),
            _ if theta >= PI - 1e-9 => (0.0, -1.0),
            _ => libm::sincos(theta),
        };
        let (y, x) = around(u * phi_max);
        let normal = DVec3::new(sin * x, sin * y, cos);
        let v = match v_up {
            true => v,
            false => 1.0 - v,
        };
        (normal, normal, [u, v])
    })
}

/// Returns the side of a cylinder of radius 1 around z, with z from `low` to `high` and angles from +x towards +y up to
/// `phi_max` radians. Its front is outside. u grows with the angle and v with z, both from 0 to 1.
pub(crate) fn cylinder(low: f64, high: f64, phi_max: f64) -> ModelMesh {
    let columns = segments(phi_max);
    surface(columns, 1, |column, row| {
        let u = f64::from(column) / f64::from(columns);
        let (y, x) = around(u * phi_max);
        let z = if row == 0 { low } else { high };
        let normal = DVec3::new(x, y, 0.0);
        (DVec3::new(x, y, z), normal, [u, f64::from(row)])
    })
}

/// The meaning of u and v on a disk.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum DiskCoordinates {
    /// u is the radius, 1 at the edge, and v the angle as a fraction of the disk's largest angle, as in Mitsuba.
    RadiusAngle,
    /// u is the angle as a fraction of the disk's largest angle, and v is 0 at the outer edge and 1 at the center or at
    /// the edge of the hole, as in pbrt.
    AngleRadius,
}

/// Returns a disk of radius 1 in the plane z = 0, with a hole of radius `hole` and angles up to `phi_max` radians. Its
/// front faces +z.
pub(crate) fn disk(hole: f64, phi_max: f64, coordinates: DiskCoordinates) -> ModelMesh {
    let columns = segments(phi_max);
    // The corners lie outside the circle, so that the disk keeps its area.
    let step = phi_max / f64::from(columns);
    let scale = libm::sqrt(step / libm::sin(step));
    surface(columns, 1, |column, row| {
        let turn = f64::from(column) / f64::from(columns);
        let (y, x) = around(turn * phi_max);
        // Rows run inwards, so that the front faces +z.
        let radius = if row == 0 { 1.0 } else { hole };
        let at = DVec2::new(x, y) * (radius * scale);
        let uv = match coordinates {
            DiskCoordinates::RadiusAngle => [radius, turn],
            DiskCoordinates::AngleRadius => [turn, (1.0 - radius) / (1.0 - hole)],
        };
        (DVec3::new(at.x, at.y, 0.0), DVec3::Z, uv)
    })
}

/// Adds a bilinear patch with these corners to a mesh: the corners at (u, v) of (0, 0), (1, 0), (0, 1) and (1, 1). A
/// curved patch becomes 16 by 16 cells. `normals` are those at the corners. Returns whether the patch is curved. Fails if
/// memory does not suffice.
pub(crate) fn push_bilinear_patch(
    mesh: &mut ModelMesh,
    corners: [DVec3; 4],
    normals: Option<[DVec3; 4]>,
    uvs: [DVec2; 4],
) -> Result<bool, String> {
    let [a, b, c, d] = corners;
    let scale = corners
        .iter()
        .fold(0.0_f64, |sum, at| sum.max(at.abs().max_element()));
    let normal = (b - a).cross(c - a).normalize_or_zero();
    let cells = match normal.dot(d - a).abs() > 1e-6 * scale {
        true => 16,
        false => 1,
    };
    fn mix<T>([a, b, c, d]: [T; 4], u: f64, v: f64) -> T
    where
        T: std::ops::Mul<f64, Output = T> + std::ops::Add<Output = T>,
    {
        (a * (1.0 - u) + b * u) * (1.0 - v) + (c * (1.0 - u) + d * u) * v
    }
    let patch = surface(cells, cells, |column, row| {
        let (u, v) = (
            f64::from(column) / f64::from(cells),
            f64::from(row) / f64::from(cells),
        );
        let own = || {
            let along_u = (b - a) * (1.0 - v) + (d - c) * v;
            let along_v = (c - a) * (1.0 - u) + (d - b) * u;
            along_u.cross(along_v)
        };
        let normal = normals.map_or_else(own, |normals| mix(normals, u, v));
        let uv = mix(uvs, u, v);
        (
            mix(corners, u, v),
            normal.normalize_or(DVec3::Z),
            uv.to_array(),
        )
    });
    let first = mesh.positions.len() as u32;
    for position in patch.positions {
        reserve_one(&mut mesh.positions)?;
        mesh.positions.push(position);
    }
    mesh.normals
        .get_or_insert_default()
        .extend(patch.normals.unwrap_or_default());
    mesh.uvs
        .get_or_insert_default()
        .extend(patch.uvs.unwrap_or_default());
    mesh.triangles.extend(
        patch
            .triangles
            .iter()
            .map(|corners| corners.map(|corner| first + corner)),
    );
    Ok(cells > 1)
}

/// Returns the number of edges for an arc of `phi` radians, at least 1.
fn segments(phi: f64) -> u32 {
    (phi / TAU * f64::from(SEGMENTS))
        .ceil()
        .clamp(1.0, SEGMENTS.into()) as u32
}

/// Returns sine and cosine of an angle in radians. They are exact at full turns, so that a closed shape has no gap.
fn around(phi: f64) -> (f64, f64) {
    match phi >= TAU - 1e-9 {
        true => (0.0, 1.0),
        false => libm::sincos(phi),
    }
}

impl ModelMesh {
    /// Exchanges front and back of the mesh: reverses the winding of all triangles, and negates the normals if there
    /// are any. Tangents stay.
    pub(crate) fn flip(&mut self) {
        self.triangles
            .iter_mut()
            .for_each(|[_, b, c]| std::mem::swap(b, c));
        for normal in self.normals.iter_mut().flatten() {
            *normal = -*normal;
        }
    }

    /// Reverses each triangle whose front is not the side of the normals at its vertices, as the sum of the three tells.
    /// Does nothing without normals.
    pub(crate) fn turn_to_normals(&mut self) {
        let Some(normals) = &self.normals else {
            return;
        };
        for corners in &mut self.triangles {
            let [a, b, c] = corners.map(|vertex| self.positions[vertex as usize]);
            let around: Vec3 = corners.iter().map(|&vertex| normals[vertex as usize]).sum();
            if (b - a).cross(c - a).dot(around) < 0.0 {
                corners.swap(1, 2);
            }
        }
    }

    /// Sets the normal of each vertex to the average of those of its triangles, weighted by their angles there
    /// (Thürmer & Wüthrich 1998). Vertices at equal positions count as different.
    pub(crate) fn smooth(&mut self) {
        let mut sums = vec![DVec3::ZERO; self.positions.len()];
        for corners in &self.triangles {
            let at = corners.map(|vertex| self.positions[vertex as usize].as_dvec3());
            let normal = (at[1] - at[0]).cross(at[2] - at[0]).normalize_or_zero();
            for corner in 0..3 {
                let to_next = (at[(corner + 1) % 3] - at[corner]).normalize_or_zero();
                let to_last = (at[(corner + 2) % 3] - at[corner]).normalize_or_zero();
                let angle = libm::acos(to_next.dot(to_last).clamp(-1.0, 1.0));
                sums[corners[corner] as usize] += normal * angle;
            }
        }
        let normals = sums.iter().map(|sum| sum.normalize_or(DVec3::Z).as_vec3());
        self.normals = Some(normals.collect());
    }

    /// Gives each triangle its own vertices, with its geometric normal. Tangents and vertex colors are removed. Fails
    /// if memory does not suffice.
    pub(crate) fn facet(&mut self) -> Result<(), String> {
        let count = self.triangles.len().saturating_mul(3);
        crate::memory::check(count as u64 * 48)?;
        let corners = || {
            self.triangles
                .iter()
                .flatten()
                .map(|&vertex| vertex as usize)
        };
        let positions: Vec<Vec3> = corners().map(|vertex| self.positions[vertex]).collect();
        let copied = |list: &Option<Vec<[f32; 2]>>| {
            list.as_ref()
                .map(|list| corners().map(|vertex| list[vertex]).collect())
        };
        let (uvs, second_uvs) = (copied(&self.uvs), copied(&self.second_uvs));
        let normals = positions.chunks_exact(3).flat_map(|at| {
            let normal = (at[1] - at[0]).cross(at[2] - at[0]);
            [normal.normalize_or(Vec3::Z); 3]
        });
        self.normals = Some(normals.collect());
        self.positions = positions;
        self.uvs = uvs;
        self.second_uvs = second_uvs;
        self.tangents = None;
        self.colors = None;
        self.triangles = (0..count as u32 / 3)
            .map(|at| [3 * at, 3 * at + 1, 3 * at + 2])
            .collect();
        Ok(())
    }
}
