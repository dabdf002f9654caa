//! Tests of SIMD traversal of instances and of opacity tests against scalar traversal.

use glam::Vec3;
use raysieve::{
    accel::{
        bvh::{
            nearest_instanced, occluded_instanced,
            wide::{InstancedRay, SimdInstancedScene},
        },
        instance::{InstanceHit, NO_INSTANCE, OpacityTest, Opaque},
        vectors::SimdLevel,
    },
    device::render_scene::RenderScene,
    math::normalize,
    path::{NO_PRIMITIVE, Ray, ShadowRay},
    shading::opacity::{light_passes_opacity, nearest_alpha_tested, occluded_alpha_tested},
};

use crate::common::{Random, scene};

/// Number of random rays per scene.
const RAYS: usize = 20_000;

/// Returns a scene with instances of two meshes, some of them mirrored, flattened or in the same place, and with
/// spheres and triangles beside them. `material` is the RON of the meshes' material.
fn instances(material: &str) -> RenderScene {
    let scene = scene(&format!(
        r#"(
            camera: (origin: (0, 0, 4), target: (0, 0, 0), fov: 40), sky: (1, 1, 1),
            materials: {{ "clay": Diffuse(albedo: (0.5, 0.5, 0.5)), "leaf": {material} }},
            objects: [
                Quad(corner: (-4, -1, 4), edge_u: (8, 0, 0), edge_v: (0, 0, -8), material: "leaf"),
                Sphere(center: (0, -0.5, 0), radius: 0.7, material: "leaf"),
                Sphere(center: (1, 0.5, -1), radius: 0.3, material: "clay"),
                Instances(
                    of: DisplacedSphere(rings: 12, segments: 16, material: "leaf"),
                    scatter: (count: 60, from: (-3, -1, -3), to: (3, 0, 3), seed: 5, scale: (0.2, 0.6)),
                ),
                Instances(
                    of: DisplacedSphere(rings: 6, segments: 9, material: "clay"),
                    at: [
                        (),
                        (),
                        (scale: (1, -0.4, 2), rotate: (10, 20, 30), translate: (0.3, 0, 0)),
                        (scale: 30, translate: (0, -31, 0)),
                    ],
                ),
            ],
        )"#
    ));
    RenderScene::new(&scene).unwrap()
}

/// Returns a scene without instances, whose surfaces are partly opaque.
fn veils() -> RenderScene {
    let scene = scene(
        r#"(
            camera: (origin: (0, 0, 4), target: (0, 0, 0), fov: 40), sky: (1, 1, 1),
            materials: { "leaf": Diffuse(albedo: (0.5, 0.5, 0.5), opacity: 0.4) },
            objects: [
                DisplacedSphere(rings: 12, segments: 16, material: "leaf"),
                Sphere(center: (0, 0, 0), radius: 1.3, material: "leaf"),
            ],
        )"#,
    );
    RenderScene::new(&scene).unwrap()
}

/// Returns the SIMD form of a scene for 8 and for 16 lanes, as far as this processor supports them.
fn simd_scenes(render_scene: &RenderScene) -> Vec<SimdInstancedScene> {
    let mut all = Vec::new();
    for (lanes, vectors) in [("8", SimdLevel::eight()), ("16", SimdLevel::sixteen())] {
        match vectors {
            Some(vectors) => {
                all.push(
                    SimdInstancedScene::new(vectors, &render_scene.instanced_scene()).unwrap(),
                );
            }
            None => println!("skipped: this processor has no vectors of {lanes}"),
        }
    }
    all
}

/// Returns the bits of a hit and its instance.
fn bits(found: &InstanceHit) -> [u32; 5] {
    let hit = &found.hit;
    let [distance, u, v] = [hit.distance, hit.u, hit.v].map(f32::to_bits);
    [distance, hit.primitive, u, v, found.instance]
}

/// Compares all results of SIMD traversal with those of `nearest` and `occluded`, which returns `None` for rays that
/// are not compared. Every second ray starts on a hit of the ray before it.
fn compare(
    render_scene: &RenderScene,
    opacity: &impl OpacityTest,
    nearest: impl Fn(&InstancedRay<Ray>) -> InstanceHit,
    occluded: impl Fn(&InstancedRay<ShadowRay>) -> Option<bool>,
) {
    let mut random = Random::new(21);
    let mut rays: Vec<InstancedRay<Ray>> = Vec::new();
    let mut hits: Vec<InstanceHit> = Vec::new();
    for number in 0..RAYS {
        let mut vector = || Vec3::new(random.signed(), random.signed(), random.signed());
        let mut ray = Ray {
            origin: vector() * 3.0,
            direction: normalize(vector()),
            from_primitive: NO_PRIMITIVE,
            ..Ray::default()
        };
        let mut from = NO_INSTANCE;
        if let (1, Some(last), Some(hit)) = (number % 2, rays.last(), hits.last()) {
            ray.origin = last.ray.origin + last.ray.direction * hit.hit.distance.min(10.0);
            ray.from_primitive = hit.hit.primitive;
            from = hit.instance;
        }
        let traced = InstancedRay {
            ray,
            from,
            to: NO_INSTANCE,
            key: random.word() as u32,
        };
        hits.push(nearest(&traced));
        rays.push(traced);
    }
    let met = hits.iter().filter(|hit| hit.hit.primitive != NO_PRIMITIVE);
    assert!(met.count() > RAYS / 50, "few rays hit anything");
    let shadow_rays: Vec<InstancedRay<ShadowRay>> = rays
        .iter()
        .zip(&hits)
        .map(|(traced, hit)| {
            let far = [0.5, 1.0, 2.0][random.word() as usize % 3];
            let goes_there = random.word().is_multiple_of(2);
            InstancedRay {
                ray: ShadowRay {
                    origin: traced.ray.origin,
                    distance: hit.hit.distance.min(10.0) * far,
                    direction: traced.ray.direction,
                    from_primitive: traced.ray.from_primitive,
                    light: Vec3::ZERO,
                    to_primitive: if goes_there {
                        hit.hit.primitive
                    } else {
                        NO_PRIMITIVE
                    },
                },
                from: traced.from,
                to: if goes_there {
                    hit.instance
                } else {
                    NO_INSTANCE
                },
                key: traced.key,
            }
        })
        .collect();
    let scene = render_scene.instanced_scene();
    for simd_scene in simd_scenes(render_scene) {
        let mut count = 0;
        let traced = rays.iter().copied().enumerate();
        simd_scene.each_nearest(&scene, opacity, traced, |at, found| {
            assert_eq!(bits(&found), bits(&hits[at]), "{:?}", rays[at]);
            count += 1;
        });
        let traced = shadow_rays.iter().copied().enumerate();
        simd_scene.each_occluded(&scene, opacity, traced, |at, blocked| {
            if let Some(expected) = occluded(&shadow_rays[at]) {
                assert_eq!(blocked, expected, "{:?}", shadow_rays[at]);
            }
            count += 1;
        });
        assert_eq!(count, 2 * RAYS);
    }
    compare_beams(render_scene, opacity, nearest);
}

/// Compares the nearest hits of groups of coherent rays, as those of a camera, with those of `nearest`.
fn compare_beams(
    render_scene: &RenderScene,
    opacity: &impl OpacityTest,
    nearest: impl Fn(&InstancedRay<Ray>) -> InstanceHit,
) {
    let mut random = Random::new(22);
    let scene = render_scene.instanced_scene();
    let simd_scenes = simd_scenes(render_scene);
    for _ in 0..RAYS / 64 {
        let mut rays = Vec::new();
        for _ in 0..4 {
            let spread = [0.0, 1e-4, 1e-3, 1e-2][random.word() as usize % 4];
            // As on a lens.
            let shift = [0.0, 1e-2][random.word() as usize % 2];
            let mut vector = || Vec3::new(random.signed(), random.signed(), random.signed());
            let (origin, target) = (vector() * 5.0, vector());
            for _ in 0..16 {
                let direction = normalize(normalize(target - origin) + vector() * spread);
                rays.push(InstancedRay {
                    ray: Ray {
                        origin: origin + vector() * shift,
                        direction,
                        from_primitive: NO_PRIMITIVE,
                        ..Ray::default()
                    },
                    from: NO_INSTANCE,
                    to: NO_INSTANCE,
                    key: vector().x.to_bits(),
                });
            }
        }
        for simd_scene in &simd_scenes {
            let mut found = vec![None; rays.len()];
            let traced = rays.iter().copied().enumerate();
            simd_scene.each_nearest(&scene, opacity, traced, |at, hit| {
                let before = found[at].replace(bits(&hit));
                assert!(before.is_none(), "two results for ray {at}");
            });
            for (ray, found) in rays.iter().zip(found) {
                assert_eq!(found, Some(bits(&nearest(ray))), "{ray:?}");
            }
        }
    }
}

#[test]
fn simd_traversal_of_opaque_instances_finds_the_same_hits() {
    let render_scene = instances("Diffuse(albedo: (0.5, 0.5, 0.5))");
    let scene = render_scene.instanced_scene();
    compare(
        &render_scene,
        &Opaque(&render_scene.primitives),
        |traced| nearest_instanced(&scene, &traced.ray, traced.from),
        |traced| {
            Some(occluded_instanced(
                &scene,
                &traced.ray,
                traced.from,
                traced.to,
            ))
        },
    );
}

#[test]
fn simd_traversal_with_opacity_tests_finds_the_same_hits() {
    for render_scene in [
        instances("Diffuse(albedo: (0.5, 0.5, 0.5), opacity: 0.6)"),
        veils(),
    ] {
        let opacity = render_scene
            .stochastic_opacity()
            .expect("the scene is partly opaque");
        compare(
            &render_scene,
            &opacity,
            |traced| nearest_alpha_tested(&opacity, &traced.ray, traced.from, traced.key),
            |traced| {
                let InstancedRay { ray, from, to, key } = traced;
                // SIMD traversal leaves the light's own surface to its caller.
                let passes = light_passes_opacity(&opacity, ray, *to, *key);
                passes.then(|| occluded_alpha_tested(&opacity, ray, *from, *to, *key))
            },
        );
    }
}
