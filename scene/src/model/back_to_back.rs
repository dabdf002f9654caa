//! Separates faces that lie back to back and have different materials, as programs with a material for each side of a
//! face store them. Without a distance between them, the order of the file would decide which one is seen.

use std::collections::{HashMap, HashSet};

use glam::Vec3;
use rayon::prelude::*;

use super::{Model, ModelMesh};
use crate::memory::vec_with_capacity;

/// Distance by which faces move outwards, relative to the largest coordinate of their mesh. It is several roundings of
/// that coordinate.
const DISTANCE: f32 = 4e-6;

/// Largest cosine between the normals of two faces that count as opposite.
const OPPOSITE: f32 = -0.999;

/// Largest number of triangles at an edge that are compared with each other. Edges of real models have four at most.
const MAX_BESIDE: usize = 64;

/// A triangle of a model, by the index of its instance and its own index in the mesh.
type Place = (usize, usize);

impl Model {
    /// Moves each face outwards that lies back to back with one of another material, by a few millionths of the mesh's
    /// largest coordinate. Meshes that several instances show stay as they are. Fails if memory does not suffice.
    pub(crate) fn separate_back_to_back(&mut self) -> Result<(), String> {
        let mut uses = vec![0; self.meshes.len()];
        for instance in &self.instances {
            uses[instance.mesh] += 1;
        }
        let shown = (0..self.instances.len()).filter(|&at| uses[self.instances[at].mesh] == 1);
        let shown: Vec<usize> = shown.collect();
        let materials: HashSet<usize> =
            shown.iter().flat_map(|&at| self.materials_of(at)).collect();
        if materials.len() < 2 {
            return Ok(());
        }
        let mut meshes: HashMap<usize, Vec<Vec3>> = HashMap::new();
        for (instance, triangle) in self.back_to_back(&shown)? {
            let number = self.instances[instance].mesh;
            let mesh = &self.meshes[number];
            let Some(normal) = mesh.normal(triangle).try_normalize() else {
                continue;
            };
            let moves = meshes
                .entry(number)
                .or_insert_with(|| vec![Vec3::ZERO; mesh.positions.len()]);
            for vertex in mesh.triangles[triangle] {
                moves[vertex as usize] += normal;
            }
        }
        for (number, moves) in meshes {
            let mesh = &mut self.meshes[number];
            let (low, high) = mesh.bounds;
            let distance = DISTANCE * low.abs().max(high.abs()).max_element();
            for (position, by) in mesh.positions.iter_mut().zip(moves) {
                *position += by.normalize_or_zero() * distance;
            }
            mesh.find_bounds();
        }
        Ok(())
    }

    /// Returns the material indices of an instance's triangles.
    fn materials_of(&self, instance: usize) -> Vec<usize> {
        let instance = &self.instances[instance];
        let own = &self.meshes[instance.mesh].triangle_materials;
        match own.is_empty() {
            true => vec![instance.material],
            false => own.iter().map(|&material| material as usize).collect(),
        }
    }

    /// Returns the triangles of these instances that share an edge with one of another material that faces the opposite,
    /// where another instance has their corners, too. The two may be parts of polygons that are split along different diagonals.
    fn back_to_back(&self, shown: &[usize]) -> Result<Vec<Place>, String> {
        let shared = self.shared_corners(shown)?;
        let mut edges: HashMap<u64, Vec<Place>> = HashMap::new();
        for &at in shown {
            for triangle in 0..self.mesh_of(at).triangles.len() {
                let keys = self.keys_of(at, triangle);
                if !keys.iter().all(|key| shared.contains(key)) {
                    continue;
                }
                for [one, other] in [[0, 1], [1, 2], [2, 0]] {
                    let edge = keys[one].wrapping_add(keys[other]);
                    edges.entry(edge).or_default().push((at, triangle));
                }
            }
        }
        let mut found = Vec::new();
        for beside in edges.values().filter(|beside| beside.len() <= MAX_BESIDE) {
            let has_opposite = |&one: &Place| beside.iter().any(|&other| self.oppose(one, other));
            found.extend(beside.iter().copied().filter(has_opposite));
        }
        // The order of a hash table is not that of another run.
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Returns the keys of the corners that at least two of these instances have.
    fn shared_corners(&self, shown: &[usize]) -> Result<HashSet<u64>, String> {
        let count = shown
            .iter()
            .map(|&at| self.mesh_of(at).positions.len())
            .sum();
        let mut corners = vec_with_capacity(count)?;
        for &at in shown {
            let start = self.start_of(at);
            let positions = &self.mesh_of(at).positions;
            corners.extend(positions.iter().map(|&position| (key(start, position), at)));
        }
        corners.par_sort_unstable();
        let pairs = corners.windows(2);
        let shared = pairs.filter(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1);
        Ok(shared.map(|pair| pair[0].0).collect())
    }

    fn mesh_of(&self, instance: usize) -> &ModelMesh {
        &self.meshes[self.instances[instance].mesh]
    }

    /// Returns the start of an instance's keys, which are equal for equal transforms.
    fn start_of(&self, instance: usize) -> u64 {
        let transform = self.instances[instance].transform.to_cols_array();
        transform.map(f64::to_bits).into_iter().fold(0, mixed)
    }

    /// Returns the keys of a triangle's corners.
    fn keys_of(&self, instance: usize, triangle: usize) -> [u64; 3] {
        let start = self.start_of(instance);
        let corners = self.mesh_of(instance).corners_of(triangle);
        corners.map(|corner| key(start, corner))
    }

    /// Returns whether two triangles have opposite fronts and different materials.
    fn oppose(&self, one: Place, other: Place) -> bool {
        let material = |(instance, triangle): Place| {
            let own = &self.mesh_of(instance).triangle_materials;
            let own = own.get(triangle).map(|&material| material as usize);
            own.unwrap_or(self.instances[instance].material)
        };
        let normal = |(instance, triangle): Place| {
            let normal = self.mesh_of(instance).normal(triangle);
            normal.normalize_or_zero()
        };
        material(one) != material(other) && normal(one).dot(normal(other)) < OPPOSITE
    }
}

/// Returns a number that is equal for equal positions and starts.
fn key(start: u64, position: Vec3) -> u64 {
    // Zero has two signs.
    let words = (position + 0.0).to_array();
    words
        .into_iter()
        .fold(start, |hash, word| mixed(hash, word.to_bits().into()))
}

impl ModelMesh {
    fn corners_of(&self, triangle: usize) -> [Vec3; 3] {
        self.triangles[triangle].map(|vertex| self.positions[vertex as usize])
    }

    /// Returns the normal of a triangle's front, as long as twice its area.
    fn normal(&self, triangle: usize) -> Vec3 {
        let [a, b, c] = self.corners_of(triangle);
        (b - a).cross(c - a)
    }
}

/// Mixes a word into a hash, by the multiplication and shifts of SplitMix64.
fn mixed(hash: u64, word: u64) -> u64 {
    let mut hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word;
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}
