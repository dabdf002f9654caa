//! Tests of the BVH against a linear search over all primitives.

mod scenes;

use std::time::Duration;

use glam::Vec3;
use raysieve::{
    accel::{
        bvh::{STACK_SIZE, Tree, build, nearest, occluded, wide::SimdScene},
        primitive::{Primitive, nearer_hit, shear},
        vectors::SimdLevel,
    },
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
};

use crate::{common::Random, thread_time::thread_time};
use scenes::{SCENES, closed_surface, doubles, point, sheet, sphere, triangle};

/// Builds a tree over primitives, which are numbered in order.
fn tree(mut primitives: Vec<Primitive>) -> Tree {
    for (number, primitive) in (0..).zip(&mut primitives) {
        primitive.number = number;
    }
    build(&primitives, STACK_SIZE).unwrap()
}

/// Returns a ray that does not start on any primitive.
fn ray(origin: Vec3, direction: Vec3) -> Ray {
    Ray {
        origin,
        pdf: 0.0,
        direction,
        from_primitive: NO_PRIMITIVE,
    }
}

fn shadow_ray(origin: Vec3, direction: Vec3, distance: f32) -> ShadowRay {
    ShadowRay {
        origin,
        distance,
        direction,
        from_primitive: NO_PRIMITIVE,
        light: Vec3::ZERO,
        to_primitive: NO_PRIMITIVE,
    }
}

/// Returns the nearest hit, found through the tree.
fn through_the_tree(tree: &Tree, origin: Vec3, direction: Vec3) -> Hit {
    nearest(
        &tree.nodes,
        &tree.primitives,
        tree.extent,
        &ray(origin, direction),
    )
}

/// Returns the nearest hit, found by a search over all primitives.
fn one_by_one(tree: &Tree, origin: Vec3, direction: Vec3) -> Hit {
    let mut best = Hit {
        distance: f32::MAX,
        primitive: NO_PRIMITIVE,
        u: 0.0,
        v: 0.0,
    };
    let shear = shear(direction);
    for position in 0..tree.primitives.len() as u32 {
        nearer_hit(
            &tree.primitives,
            position,
            &ray(origin, direction),
            &shear,
            &mut best,
        );
    }
    best
}

/// Returns rays from inside, from far away and from surfaces: in random directions, along axes and towards vertices.
fn rays(tree: &Tree, random: &mut Random) -> Vec<(Vec3, Vec3)> {
    let mut rays = Vec::new();
    for _ in 0..4000 {
        let some = &tree.primitives[random.word() as usize % tree.primitives.len()];
        let origins = [
            point(random),
            point(random) * 1000.0,
            some.a,
            some.a + Vec3::X * 1e-3,
        ];
        let origin = origins[random.word() as usize % 4];
        let near = some.a + point(random) * 0.05;
        let axis = [
            Vec3::X,
            Vec3::NEG_X,
            Vec3::Y,
            Vec3::NEG_Y,
            Vec3::Z,
            Vec3::NEG_Z,
        ][random.word() as usize % 6];
        let flat = Vec3::new(random.signed(), -0.0, random.signed());
        let directions = [point(random), near - origin, some.a - origin, axis, flat];
        let direction = directions[random.word() as usize % 5];
        // On the grid of the walls, so that rays lie in their planes and along their edges.
        let origin = if random.word().is_multiple_of(8) {
            (origin * 5.0).round() / 5.0
        } else {
            origin
        };
        if direction.length() > 1e-20 {
            rays.push((origin, direction.normalize()));
        }
    }
    rays
}

#[test]
fn the_tree_finds_the_same_hit_as_a_linear_search() {
    let mut random = Random::new(11);
    for (name, primitives) in SCENES {
        let tree = tree(primitives(&mut random));
        let mut hits = 0;
        for (origin, direction) in rays(&tree, &mut random) {
            let (found, expected) = (
                through_the_tree(&tree, origin, direction),
                one_by_one(&tree, origin, direction),
            );
            assert_eq!(found, expected, "{name}: from {origin} along {direction}");
            hits += u32::from(found.primitive != NO_PRIMITIVE);
        }
        assert!(
            (100..3900).contains(&hits),
            "{name}: {hits} of the rays hit"
        );
    }
}

#[test]
fn a_shadow_ray_is_blocked_only_by_nearer_primitives() {
    let mut random = Random::new(12);
    for (name, primitives) in SCENES {
        let tree = tree(primitives(&mut random));
        let mut blocked = 0;
        for (origin, direction) in rays(&tree, &mut random) {
            let hit = one_by_one(&tree, origin, direction);
            let middle = if hit.primitive == NO_PRIMITIVE {
                1.0
            } else {
                hit.distance
            };
            for distance in [
                0.5 * middle,
                middle,
                middle.next_up(),
                2.0 * middle,
                f32::MAX,
            ] {
                let got = occluded(
                    &tree.nodes,
                    &tree.primitives,
                    tree.extent,
                    &shadow_ray(origin, direction, distance),
                );
                let expected = hit.primitive != NO_PRIMITIVE && hit.distance < distance;
                assert_eq!(
                    got, expected,
                    "{name}: from {origin} along {direction} to {distance}: {hit:?}"
                );
                blocked += u32::from(got);
            }
        }
        assert!(blocked > 100, "{name}");
    }
}

/// Returns rays that continue from the hits of other rays, some along the hit surface.
fn next_rays(tree: &Tree, random: &mut Random) -> Vec<Ray> {
    let leave = |random: &mut Random, origin: Vec3, direction: Vec3| {
        let hit = through_the_tree(tree, origin, direction);
        if hit.primitive == NO_PRIMITIVE {
            return None;
        }
        let primitive = &tree.primitives[hit.primitive as usize];
        let directions = [point(random), primitive.b - primitive.a, direction];
        let next = directions[random.word() as usize % 3].normalize();
        let from = [hit.primitive, hit.primitive, NO_PRIMITIVE][random.word() as usize % 3];
        next.is_finite().then(|| Ray {
            from_primitive: from,
            ..ray(origin + direction * hit.distance, next)
        })
    };
    let first = rays(tree, random);
    let next: Vec<Ray> = first
        .iter()
        .filter_map(|&(origin, direction)| leave(random, origin, direction))
        .collect();
    let first = first
        .into_iter()
        .map(|(origin, direction)| ray(origin, direction));
    let alone: Vec<Ray> = first.chain(next).collect();
    let beams: Vec<Ray> = (0..400)
        .flat_map(|_| beam(&alone[random.word() as usize % alone.len()], random))
        .collect();
    // Beams come first, so that their rays share vectors from the start.
    beams.into_iter().chain(alone).collect()
}

/// Returns 16 rays close to `ray`, in some cases with the same origin or the same direction.
fn beam(ray: &Ray, random: &mut Random) -> Vec<Ray> {
    let wide = [0.0, 1e-6, 1e-3][random.word() as usize % 3];
    let spread = [0.0, 1e-3][random.word() as usize % 2];
    let near = |random: &mut Random| Ray {
        origin: ray.origin + point(random) * spread,
        direction: (ray.direction + point(random) * wide).normalize(),
        ..*ray
    };
    (0..16).map(|_| near(random)).collect()
}

/// Returns all bits of a hit, so that −0 and 0 differ.
fn bits(hit: &Hit) -> [u32; 4] {
    [
        hit.distance.to_bits(),
        hit.primitive,
        hit.u.to_bits(),
        hit.v.to_bits(),
    ]
}

/// Returns SIMD searches of 8 and of 16 lanes, as far as this processor supports them, over a tree and over a list.
fn simd_scenes(tree: &Tree) -> Vec<(&'static str, SimdScene)> {
    let mut all = Vec::new();
    for (lanes, vectors) in [("8", SimdLevel::eight()), ("16", SimdLevel::sixteen())] {
        let Some(vectors) = vectors else {
            println!("skipped: this processor has no vectors of {lanes}");
            continue;
        };
        let of_tree = SimdScene::tree(vectors, &tree.nodes, &tree.primitives, tree.extent);
        all.push((lanes, of_tree.unwrap()));
        all.push((lanes, SimdScene::list(vectors, &tree.primitives).unwrap()));
    }
    all
}

#[test]
fn simd_traversal_finds_the_same_hits_as_scalar_traversal() {
    let mut random = Random::new(16);
    let mut count = 0;
    while count < 1_000_000 {
        for (name, primitives) in SCENES {
            let tree = tree(primitives(&mut random));
            let rays = next_rays(&tree, &mut random);
            let expected: Vec<Hit> = rays
                .iter()
                .map(|ray| nearest(&tree.nodes, &tree.primitives, tree.extent, ray))
                .collect();
            let shadow_rays: Vec<ShadowRay> = rays
                .iter()
                .zip(&expected)
                .map(|(ray, hit)| {
                    let far = [0.5, 1.0, 2.0, f32::INFINITY][random.word() as usize % 4];
                    ShadowRay {
                        from_primitive: ray.from_primitive,
                        to_primitive: [NO_PRIMITIVE, hit.primitive][random.word() as usize % 2],
                        ..shadow_ray(ray.origin, ray.direction, hit.distance.min(10.0) * far)
                    }
                })
                .collect();
            let expected_blocked: Vec<bool> = shadow_rays
                .iter()
                .map(|ray| occluded(&tree.nodes, &tree.primitives, tree.extent, ray))
                .collect();
            for (lanes, wide) in simd_scenes(&tree) {
                let mut found = vec![None; rays.len()];
                let all = 0..rays.len();
                wide.each_nearest(&tree.primitives, &rays, all.clone(), |at, hit| {
                    assert!(found[at].replace(hit).is_none(), "two results for ray {at}");
                });
                for (at, ray) in rays.iter().enumerate() {
                    let hit = found[at].as_ref().map(bits);
                    assert_eq!(hit, Some(bits(&expected[at])), "{name}, {lanes}: {ray:?}");
                }
                let mut blocked = vec![None; rays.len()];
                wide.each_occluded(&tree.primitives, &shadow_rays, all, |at, is| {
                    assert!(
                        blocked[at].replace(is).is_none(),
                        "two results for ray {at}"
                    );
                });
                for (at, ray) in shadow_rays.iter().enumerate() {
                    let is = Some(expected_blocked[at]);
                    assert_eq!(blocked[at], is, "{name}, {lanes}: {ray:?}");
                }
                count += rays.len() + shadow_rays.len();
            }
            if SimdLevel::eight().is_none() {
                return;
            }
        }
    }
}

#[test]
fn of_equal_hits_the_lowest_primitive_index_is_returned() {
    let mut random = Random::new(13);
    let tree = tree(doubles(&mut random));
    let mut hits = 0;
    for (origin, direction) in rays(&tree, &mut random) {
        let hit = through_the_tree(&tree, origin, direction);
        if hit.primitive != NO_PRIMITIVE {
            // Only the first of each five copies may be returned.
            let number = tree.primitives[hit.primitive as usize].number;
            assert!(
                number < tree.primitives.len() as u32 / 5,
                "number {number} from {origin} along {direction}"
            );
            hits += 1;
        }
    }
    assert!(hits > 100);
}

#[test]
fn no_ray_slips_through_an_edge_or_a_vertex() {
    let mut random = Random::new(14);
    for shift in [Vec3::ZERO, Vec3::new(100.0, -30.0, 7.0)] {
        let (faces, vertices) = closed_surface(&mut random, 20);
        let moved = |v: Vec3| v + shift;
        let tree = tree(
            faces
                .iter()
                .map(|f| triangle(moved(f[0]), moved(f[1]), moved(f[2])))
                .collect(),
        );
        let edges = faces.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
        let mut targets: Vec<Vec3> = vertices.iter().map(|&v| moved(v)).collect();
        for (a, b) in edges {
            let (a, b) = (moved(a), moved(b));
            targets.extend([0.5, random.unit(), 0.001].map(|part| a + (b - a) * part));
        }
        for origin in [
            Vec3::ZERO,
            Vec3::new(0.1, -0.2, 0.3),
            Vec3::new(0.0, 0.5, 0.0),
        ]
        .map(moved)
        {
            for &target in &targets {
                let direction = (target - origin).normalize();
                let hit = through_the_tree(&tree, origin, direction);
                let at = (target - origin).length();
                // The ray must stop at this side and not reach the opposite one.
                assert!(
                    hit.distance < at * 1.001,
                    "from {origin} to {target}: {hit:?}"
                );
                let blocked = occluded(
                    &tree.nodes,
                    &tree.primitives,
                    tree.extent,
                    &shadow_ray(origin, direction, at * 1.01),
                );
                assert!(blocked, "from {origin} to {target}: {hit:?}");
            }
        }
    }
}

/// Clusters degenerate inputs: primitives in a row, at one point, at one distant point, and nested.
///
/// All merges are equally good, or each prefers an inner one. An algorithm that merges a single pair per round would
/// take minutes.
#[test]
fn degenerate_inputs_are_clustered_quickly() {
    // One thread, whose processor time is that of all the work.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap().install(cluster_degenerate_inputs);
}

fn cluster_degenerate_inputs() {
    let mut random = Random::new(31);
    let row = |at: usize| sphere(Vec3::new(at as f32 * 2.0, 0.0, 0.0), 1.0);
    let place = |_| sphere(Vec3::ZERO, 1.0);
    let far = |_| sphere(Vec3::new(1e6, 0.0, 0.0), 0.25);
    let count = 50_000;
    let around = |at: usize| sphere(Vec3::ZERO, 1.0 + at as f32 * 1e-5);
    let start = thread_time();
    tree(
        (0..count)
            .map(|_| sphere(point(&mut random), 0.01))
            .collect(),
    );
    let usual_end = thread_time();
    let row = tree((0..count).map(row).collect());
    // As many as get the most reinsertions, and enough that reinsertion would make the tree too deep.
    let few_around = tree((0..2 * count).map(around).collect());
    let around = tree((0..4 * count).map(around).collect());
    let down = |tree: &Tree, x: f32| {
        let origin = Vec3::new(x, 10.0, 0.25);
        through_the_tree(tree, origin, Vec3::new(0.0, -1.0, 0.0)).primitive
    };
    for at in [0, 1, 777, count - 1] {
        let hit = down(&row, at as f32 * 2.0);
        assert_eq!(row.primitives[hit as usize].number, at as u32);
    }
    for (tree, count) in [(&few_around, 2 * count), (&around, 4 * count)] {
        let hit = down(tree, 0.0);
        assert_eq!(tree.primitives[hit as usize].number, count as u32 - 1);
    }
    for (tree, x) in [
        (tree((0..count).map(place).collect()), 0.0),
        (tree((0..count).map(far).collect()), 1e6),
    ] {
        // Of equal hits, the lowest index is expected.
        let hit = down(&tree, x);
        assert_eq!(tree.primitives[hit as usize].number, 0);
    }
    if let (Some(start), Some(usual_end), Some(end)) = (start, usual_end, thread_time()) {
        let (usual, degenerate) = (usual_end - start, end - usual_end);
        assert!(
            degenerate < Duration::from_secs(5) + 30 * usual,
            "{degenerate:?}, and {usual:?} for as many primitives at different places"
        );
    }
}

#[test]
fn the_tree_contains_every_primitive_once() {
    let mut random = Random::new(15);
    for (name, primitives) in SCENES {
        let primitives = primitives(&mut random);
        let count = primitives.len() as u32;
        let mut numbers: Vec<u32> = tree(primitives)
            .primitives
            .iter()
            .map(|primitive| primitive.number)
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..count).collect::<Vec<_>>(), "{name}");
    }
}

/// Builds trees that are large enough for threads to build many parts in parallel.
#[test]
fn a_large_tree_is_identical_for_any_number_of_threads() {
    for (side, threads) in [(800, 2), (1100, 7)] {
        let primitives = sheet(side);
        let by = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            pool.install(|| tree(primitives.clone()))
        };
        let once = by(1);
        let again = by(threads);
        assert!(
            bytemuck::cast_slice::<_, u8>(&once.nodes)
                == bytemuck::cast_slice::<_, u8>(&again.nodes),
            "{side}: the tree differs with {threads} threads"
        );
        assert!(
            bytemuck::cast_slice::<_, u8>(&once.primitives)
                == bytemuck::cast_slice::<_, u8>(&again.primitives),
            "{side}: the order differs with {threads} threads"
        );
        let mut seen = vec![false; primitives.len()];
        once.primitives
            .iter()
            .for_each(|primitive| seen[primitive.number as usize] = true);
        assert!(seen.into_iter().all(|seen| seen), "{side}");
        let mut random = Random::new(17);
        for _ in 0..20 {
            let origin = Vec3::new(random.signed(), random.signed(), 1.0);
            let direction = (Vec3::new(0.5, 0.5, 0.0) - origin).normalize();
            assert_eq!(
                through_the_tree(&once, origin, direction),
                one_by_one(&once, origin, direction),
                "{side}: from {origin} along {direction}"
            );
        }
    }
}
