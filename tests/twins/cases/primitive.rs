//! Cases of primitives.

use glam::Vec3;
use raysieve::{
    accel::primitive::{
        Primitive, Shear, blocks, difference_of_products, hit_primitive, hit_sphere, hit_triangle,
        largest_coordinate, nearer_hit, point_error, shear, sphere_coordinates, sphere_tangent,
        surface_at, turn,
    },
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
};

use super::{Case, twin};

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!("primitive", "is_sphere", |primitive: Primitive| primitive
            .is_sphere()),
        twin!("primitive", "is_triangle", |primitive: Primitive| primitive
            .is_triangle()),
        twin!(
            ("primitive", "turn", "turn"),
            |inputs| (inputs.draw(), inputs.one_of(&[0, 1, 2])),
            |v: Vec3, axis: u32| turn(v, axis)
        ),
        twin!("primitive", "shear", |direction: Vec3| shear(direction)),
        twin!(
            "primitive",
            "difference_of_products",
            |a: f32, b: f32, c: f32, d: f32| difference_of_products(a, b, c, d)
        ),
        twin!(
            ("primitive", "hit_triangle", "hit_triangle"),
            |inputs| {
                let (primitive, origin, direction) = inputs.met();
                (primitive, origin, shear(direction))
            },
            |triangle: Primitive, origin: Vec3, shear: Shear| hit_triangle(
                &triangle, origin, &shear
            )
        ),
        hit_pair_case(),
        twin!(
            ("primitive", "hit_sphere", "hit_sphere"),
            |inputs| {
                let (primitive, origin, direction) = inputs.met();
                (primitive, origin, direction, inputs.draw())
            },
            |sphere: Primitive, origin: Vec3, direction: Vec3, leaves: bool| hit_sphere(
                &sphere, origin, direction, leaves
            )
        ),
        twin!(
            ("primitive", "hit_primitive", "hit_primitive"),
            |inputs| {
                let (primitive, origin, direction) = inputs.met();
                (
                    primitive,
                    origin,
                    direction,
                    shear(direction),
                    inputs.draw(),
                )
            },
            |primitive: Primitive, origin: Vec3, direction: Vec3, shear: Shear, leaves: bool| {
                hit_primitive(&primitive, origin, direction, &shear, leaves)
            }
        ),
        nearer_hit_case(),
        blocks_case(),
        twin!("primitive", "largest_coordinate", |v: Vec3| {
            largest_coordinate(v)
        }),
        twin!("primitive", "point_error", |primitive: Primitive| {
            point_error(&primitive)
        }),
        twin!("primitive", "sphere_coordinates", |normal: Vec3| {
            sphere_coordinates(normal)
        }),
        twin!("primitive", "sphere_tangent", |normal: Vec3| {
            sphere_tangent(normal)
        }),
        twin!(
            ("primitive", "surface_at", "surface_at"),
            |inputs| {
                let (ray, hit) = inputs.one_of(&inputs.harvest.hits);
                let primitive = inputs.harvest.scene.primitives[hit.primitive as usize];
                match inputs.below(4) {
                    0 => (inputs.draw(), ray, hit),
                    1 => (primitive, inputs.draw(), inputs.draw()),
                    _ => (primitive, ray, hit),
                }
            },
            |primitive: Primitive, ray: Ray, hit: Hit| surface_at(&primitive, &ray, &hit)
        ),
    ]
}

/// The hits of both triangles of a quadrilateral, flat or not, against those of each alone.
fn hit_pair_case() -> Case {
    twin!(
        (
            "primitive",
            "hit_pair",
            "+[](Primitive first, Primitive second, Vec3 origin, Shear shear) {
                TriangleHit missed = {-1.0f, 0.0f, 0.0f};
                PairHit pair = hit_pair(first, true, second.c, origin, shear);
                bool of_second = pair.tested == BOTH_FOR_SECOND;
                TriangleHit hits[2] = {of_second ? missed : pair.hit, of_second ? pair.hit : missed};
                if (pair.tested == FIRST_ALONE) hits[1] = hit_triangle(second, origin, shear);
                calls::Several<f32, 6> numbers;
                for (u32 i = 0; i < 2; i++) {
                    TriangleHit hit = hits[i].distance > 0.0f ? hits[i] : missed;
                    numbers.items[3 * i] = hit.distance;
                    numbers.items[3 * i + 1] = hit.u;
                    numbers.items[3 * i + 2] = hit.v;
                }
                return numbers;
            }"
        ),
        |inputs| {
            let (first, origin, direction) = inputs.met();
            let parallelogram = first.a + first.c - first.b;
            let fourth = match inputs.below(4) {
                0 => inputs.draw(),
                1 => first.b,
                _ => parallelogram,
            };
            let second = Primitive {
                b: first.c,
                c: fourth,
                ..first
            };
            // Aims at either triangle.
            let (origin, direction) = match inputs.below(2) {
                0 => (origin, direction),
                _ => inputs.aimed(&second),
            };
            (first, second, origin, shear(direction))
        },
        |first: Primitive, second: Primitive, origin: Vec3, shear: Shear| {
            [first, second].map(|triangle| {
                let (distance, u, v) = hit_triangle(&triangle, origin, &shear);
                if distance > 0.0 {
                    [distance, u, v]
                } else {
                    [-1.0, 0.0, 0.0]
                }
            })
        }
    )
}

fn nearer_hit_case() -> Case {
    twin!(
        (
            "primitive",
            "nearer_hit",
            "+[](calls::Several<Primitive, 3> several, u32 position, Ray ray, Shear shear, Hit best) {
                nearer_hit(several.items, position, ray, shear, best);
                return best;
            }"
        ),
        |inputs| {
            let (several, origin, direction) = inputs.several();
            let from = inputs.position_or_none();
            let ray = Ray {
                origin,
                direction,
                from_primitive: from,
                ..Ray::default()
            };
            let best = match inputs.below(3) {
                0 => inputs.draw(),
                1 => nothing(),
                // Exactly the distance at which the first primitive and its copy are hit.
                _ => {
                    let mut best = nothing();
                    nearer_hit(&several, 0, &ray, &shear(direction), &mut best);
                    best
                }
            };
            let best = Hit {
                primitive: inputs.position_or_none(),
                ..best
            };
            let position = inputs.one_of(&[0, 1, 1, 2]);
            (several, position, ray, shear(direction), best)
        },
        |several: [Primitive; 3], position: u32, ray: Ray, shear: Shear, best: Hit| {
            let mut best = best;
            nearer_hit(&several, position, &ray, &shear, &mut best);
            best
        }
    )
}

pub(super) fn nothing() -> Hit {
    Hit {
        distance: f32::MAX,
        primitive: NO_PRIMITIVE,
        u: 0.0,
        v: 0.0,
    }
}

fn blocks_case() -> Case {
    twin!(
        (
            "primitive",
            "blocks",
            "+[](calls::Several<Primitive, 3> several, u32 position, ShadowRay ray, Shear shear) {
                return blocks(several.items, position, ray, shear);
            }"
        ),
        |inputs| {
            let (several, origin, direction) = inputs.several();
            let ray = ShadowRay {
                origin,
                direction,
                distance: inputs.draw(),
                from_primitive: inputs.position_or_none(),
                to_primitive: inputs.position_or_none(),
                ..ShadowRay::default()
            };
            (several, inputs.one_of(&[0, 0, 1, 2]), ray, shear(direction))
        },
        |several: [Primitive; 3], position: u32, ray: ShadowRay, shear: Shear| blocks(
            &several, position, &ray, &shear
        )
    )
}
