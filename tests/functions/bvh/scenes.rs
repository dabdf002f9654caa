//! Sets of primitives that are difficult for a BVH.

use glam::Vec3;
use raysieve::accel::primitive::{Primitive, SPHERE, TRIANGLE};

use crate::common::Random;

pub(super) fn triangle(a: Vec3, b: Vec3, c: Vec3) -> Primitive {
    Primitive {
        a,
        b,
        c,
        kind_bits: TRIANGLE,
        ..Primitive::default()
    }
}

pub(super) fn sphere(center: Vec3, radius: f32) -> Primitive {
    Primitive {
        a: center,
        b: Vec3::new(radius, 0.0, 0.0),
        kind_bits: SPHERE,
        ..Primitive::default()
    }
}

pub(super) fn point(random: &mut Random) -> Vec3 {
    Vec3::new(random.signed(), random.signed(), random.signed())
}

/// Returns a heap of triangles and spheres of very different sizes.
fn heap(random: &mut Random) -> Vec<Primitive> {
    let mut primitives = Vec::new();
    for _ in 0..400 {
        let size = 10_f32.powf(2.0 * random.signed() - 1.5);
        let at = point(random);
        primitives.push(triangle(
            at,
            at + point(random) * size,
            at + point(random) * size,
        ));
        primitives.push(sphere(point(random), 0.3 * size.min(0.5)));
    }
    primitives
}

/// Returns adjacent squares in axis-aligned planes.
fn walls(_: &mut Random) -> Vec<Primitive> {
    let mut primitives = Vec::new();
    for index in 0..300 {
        let corner = Vec3::new(
            (index % 10) as f32 * 0.2 - 1.0,
            (index / 10 % 10) as f32 * 0.2 - 1.0,
            0.0,
        );
        let square = [
            Vec3::ZERO,
            Vec3::X * 0.2,
            Vec3::new(0.2, 0.2, 0.0),
            Vec3::Y * 0.2,
        ]
        .map(|edge| corner + edge);
        let turned = square.map(|v| match index / 100 {
            0 => v,
            1 => Vec3::new(v.z, v.x, v.y),
            _ => Vec3::new(v.y, v.z, v.x),
        });
        primitives.push(triangle(turned[0], turned[1], turned[2]));
        primitives.push(triangle(turned[0], turned[2], turned[3]));
    }
    primitives
}

/// Returns primitives in one plane, each five times.
pub(super) fn doubles(random: &mut Random) -> Vec<Primitive> {
    let flat = |random: &mut Random| Vec3::new(random.signed(), 0.25, random.signed());
    let once: Vec<Primitive> = (0..60)
        .map(|_| triangle(flat(random), flat(random), flat(random)))
        .chain([sphere(Vec3::ZERO, 0.5)])
        .collect();
    (0..5).flat_map(|_| once.clone()).collect()
}

/// Returns long thin triangles, some without area.
fn needles(random: &mut Random) -> Vec<Primitive> {
    let mut primitives = Vec::new();
    for _ in 0..200 {
        let (a, b) = (point(random), point(random));
        primitives.push(triangle(a, b, b + point(random) * 1e-4));
        primitives.push(triangle(a, b, a + (b - a) * 0.5));
        primitives.push(triangle(a, a, a));
    }
    primitives
}

/// Returns a single primitive on an axis, which makes a tree of one leaf.
fn one(_: &mut Random) -> Vec<Primitive> {
    vec![triangle(Vec3::ZERO, Vec3::X, Vec3::Y)]
}

/// Returns tiny primitives next to huge ones, far from the origin.
fn scales(random: &mut Random) -> Vec<Primitive> {
    let mut primitives = vec![sphere(Vec3::new(0.0, -1e4, 0.0), 1e4 - 1.0)];
    for _ in 0..200 {
        let at = Vec3::new(1000.0, 0.0, -500.0) + point(random);
        primitives.push(triangle(
            at,
            at + point(random) * 0.01,
            at + point(random) * 0.01,
        ));
        let near = point(random);
        primitives.push(triangle(
            near,
            near + point(random) * 0.1,
            near + point(random) * 0.1,
        ));
    }
    primitives
}

/// Returns a thousand identical spheres at one point.
fn one_place(_: &mut Random) -> Vec<Primitive> {
    vec![sphere(Vec3::ZERO, 0.5); 1000]
}

/// A function that makes the primitives of a scene.
pub(super) type Maker = fn(&mut Random) -> Vec<Primitive>;

/// Names and makers of the scenes.
pub(super) const SCENES: [(&str, Maker); 7] = [
    ("heap", heap),
    ("walls", walls),
    ("doubles", doubles),
    ("needles", needles),
    ("one", one),
    ("scales", scales),
    ("one place", one_place),
];

/// Returns a rough closed surface around the origin with shared vertices; every point is visible from near the origin.
pub(super) fn closed_surface(random: &mut Random, side: usize) -> (Vec<[Vec3; 3]>, Vec<Vec3>) {
    use std::collections::HashMap;
    let mut bumps: HashMap<[i32; 3], f32> = HashMap::new();
    let mut vertex = |x: i32, y: i32, z: i32| {
        let bump = *bumps
            .entry([x, y, z])
            .or_insert_with(|| 1.0 + 0.01 * random.signed());
        Vec3::new(x as f32, y as f32, z as f32).normalize() * bump
    };
    let (side, half) = (side as i32, side as i32);
    let mut faces = Vec::new();
    for axis in 0..3 {
        for front in [-half, half] {
            for (i, j) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))) {
                let mut corner = |i: i32, j: i32| {
                    let mut place = [0; 3];
                    place[axis] = front;
                    place[(axis + 1) % 3] = 2 * i - half;
                    place[(axis + 2) % 3] = 2 * j - half;
                    vertex(place[0], place[1], place[2])
                };
                let [a, b, c, d] = [
                    corner(i, j),
                    corner(i + 1, j),
                    corner(i + 1, j + 1),
                    corner(i, j + 1),
                ];
                faces.extend([[a, b, c], [a, c, d]]);
            }
        }
    }
    let vertices = faces.iter().flatten().copied().collect();
    (faces, vertices)
}

/// Returns a wavy sheet of `side` × `side` squares, two triangles each.
pub(super) fn sheet(side: u32) -> Vec<Primitive> {
    let corner = |x: u32, y: u32| {
        let at = Vec3::new(x as f32, y as f32, 0.0) / side as f32;
        at.with_z((at.x * 40.0).sin() * (at.y * 30.0).cos() * 0.05)
    };
    let squares = (0..side).flat_map(|y| (0..side).map(move |x| (x, y)));
    squares
        .flat_map(|(x, y)| {
            let [a, b] = [corner(x, y), corner(x + 1, y)];
            let [c, d] = [corner(x, y + 1), corner(x + 1, y + 1)];
            [triangle(a, b, c), triangle(b, d, c)]
        })
        .collect()
}
