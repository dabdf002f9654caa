//! Scenes in memory with one wrong value each: `Renderer::new` names the object and the field.

use std::{f32, sync::Arc};

use glam::{Affine2, DVec3, Vec3};
use raysieve::{
    Error,
    render::renderer::Renderer,
    scene::{
        self, Absorption, Background, Channel, Encoding, Environment, Focus, Image, Instance, Lens,
        Light, MaterialTexture, MaterialTextures, Medium, Mesh, Parameter, PixelFilter, Projection,
        Scene, Sphere, SpotFalloff, Surface, Texels, Texture,
    },
};

use crate::common::{self, on_cpu};

/// Returns a valid scene with an object, a material and a light of each kind that the cases change.
fn valid() -> Scene {
    let mut scene = common::scene(
        r#"(
            size: (8, 8), spp: 1,
            camera: (origin: (0, 1, 5), target: (0, 0, 0), fov: 40),
            materials: {
                "clay": Diffuse(albedo: (0.7, 0.5, 0.3)),
                "glass": Dielectric(ior: 1.5),
                "paint": Principled(base_color: (0.3, 0.4, 0.8)),
                "gold": RoughConductor(color: (0.9, 0.8, 0.5), alpha: 0.3),
                "lamp": Emissive(radiance: (9, 8, 7)),
                "mix": Blend(first: "clay", second: "gold", weight: 0.5),
            },
            objects: [
                Quad(corner: (-4, -1, 4), edge_u: (8, 0, 0), edge_v: (0, 0, -8), material: "clay"),
                Sphere(center: (1, 0, 0), radius: 0.5, material: "glass"),
            ],
        )"#,
    );
    scene.meshes = Arc::new(vec![Mesh {
        positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y],
        triangles: vec![[0, 1, 2]],
        materials: vec![2],
        normals: vec![Vec3::Z; 3],
        uvs: vec![[0.0; 2]; 3],
        second_uvs: vec![[0.0; 2]; 3],
        tangents: vec![[1.0, 0.0, 0.0, 1.0]; 3],
    }]);
    scene.instances = Arc::new(vec![Instance {
        mesh: 0,
        axes: [Vec3::X, Vec3::Y, Vec3::Z],
        position: Vec3::ZERO,
        material: None,
    }]);
    scene.images = vec![Arc::new(Image {
        width: 1,
        height: 1,
        texels: Texels::Floats(vec![[0.5; 4]]),
    })];
    scene.textures = vec![Texture::new(0, Encoding::Linear)];
    let color = MaterialTexture {
        texture: 0,
        channel: Channel::Red,
    };
    let maps = MaterialTextures {
        textures: [(Parameter::Color, color)].into(),
        ..MaterialTextures::default()
    };
    scene.maps.insert(0, maps);
    scene.lights = vec![
        Light::Point {
            position: Vec3::Y,
            intensity: Vec3::ONE,
        },
        Light::Spot {
            position: Vec3::Y,
            direction: Vec3::NEG_Y,
            intensity: Vec3::ONE,
            inner_degrees: 10.0,
            outer_degrees: 20.0,
            falloff: SpotFalloff::Squared,
        },
        Light::Directional {
            direction: Vec3::NEG_Y,
            irradiance: Vec3::ONE,
            angle_degrees: 0.0,
        },
        Light::Environment(Environment::new(2, vec![Vec3::ONE; 2], 0.0)),
    ];
    scene
}

/// Returns the only mesh of the scene.
fn mesh(scene: &mut Scene) -> &mut Mesh {
    &mut Arc::make_mut(&mut scene.meshes)[0]
}

/// Returns the only instance of the scene.
fn instance(scene: &mut Scene) -> &mut Instance {
    &mut Arc::make_mut(&mut scene.instances)[0]
}

/// Returns the only sphere of the scene.
fn sphere(scene: &mut Scene) -> &mut Sphere {
    &mut Arc::make_mut(&mut scene.spheres)[0]
}

/// Returns the only environment of the scene.
fn environment(scene: &mut Scene) -> &mut Environment {
    match &mut scene.lights[3] {
        Light::Environment(environment) => environment,
        other => panic!("{other:?} is no environment"),
    }
}

/// The start of the expected message, and the change that makes the scene wrong.
type Case = (&'static str, fn(&mut Scene));

/// Wrong settings, cameras, skies and backgrounds.
const SETTINGS: &[Case] = &[
    ("size 0x8: must be at least 1x1", |s| s.size = (0, 8)),
    ("size 70000x70000: is too large", |s| {
        s.size = (70_000, 70_000)
    }),
    ("spp 0: must be at least 1", |s| s.spp = 0),
    ("max_bounces 5000: must be at most 4096", |s| {
        s.max_bounces = 5000
    }),
    ("roulette 5000: must be", |s| s.roulette = 5000),
    ("spp 4000000000: a radiance of 9 is too bright", |s| {
        s.spp = 4_000_000_000
    }),
    ("scene: exposure_stops is inf, expected -32 to 32", |s| {
        s.exposure_stops = f32::INFINITY;
    }),
    (
        "scene: clamp_indirect is 0, expected 1e-6 to 1000000",
        |s| {
            s.clamp_indirect = Some(0.0);
        },
    ),
    ("scene: origin is [NaN, 0, 0], expected", |s| {
        s.origin = DVec3::new(f64::NAN, 0.0, 0.0)
    }),
    (
        "scene: sky is [0, -1, 0], expected 0 to below 16777216",
        |s| s.sky = Vec3::NEG_Y,
    ),
    ("scene: background is [NaN, NaN, NaN], expected", |s| {
        s.background = Background::Color(Vec3::NAN);
    }),
    ("scene: shadow_catcher is inf, expected -1e8 to 1e8", |s| {
        s.shadow_catcher = Some(f32::INFINITY);
    }),
    ("scene: fog.anisotropy is 1, expected -0.99 to 0.99", |s| {
        s.fog = Some(Medium {
            scattering: Vec3::ONE,
            absorption: Vec3::ZERO,
            anisotropy: 1.0,
        });
    }),
    (
        "scene: fog: scattering + absorption is [0, 0, 0], expected at least",
        |s| {
            s.fog = Some(Medium {
                scattering: Vec3::ZERO,
                absorption: Vec3::ZERO,
                anisotropy: 0.0,
            });
        },
    ),
    ("camera: target is [0, 1, 5], as is origin", |s| {
        s.camera.target = s.camera.origin
    }),
    ("camera: origin is [0, NaN, 5], expected", |s| {
        s.camera.origin.y = f32::NAN
    }),
    ("camera: up is [0, 0, 0], expected a direction", |s| {
        s.camera.up = Vec3::ZERO
    }),
    ("camera: up is [0, 1, 5], parallel to the view", |s| {
        s.camera.up = s.camera.origin
    }),
    (
        "camera: fov_degrees is 180, expected 0.001 to 179.999",
        |s| {
            s.camera.projection = Projection::Perspective { fov_degrees: 180.0 };
        },
    ),
    ("camera: width is -1, expected 1e-15 to 1e8", |s| {
        s.camera.projection = Projection::Orthographic { width: -1.0 };
    }),
    ("camera: shift is NaN, expected", |s| {
        s.camera.shift = [0.0, f32::NAN]
    }),
    ("camera: pixel_aspect is 0, expected 0.001 to 1000", |s| {
        s.camera.pixel_aspect = 0.0
    }),
    ("camera: filter.radius is 17, expected 0.01 to 16", |s| {
        s.camera.filter = PixelFilter::Box { radius: 17.0 };
    }),
    ("camera: lens.blades is 2, expected 3 to 16", |s| {
        let focus = Focus::Distance(1.0);
        s.camera.lens = Some(Lens {
            radius: 0.1,
            focus,
            blades: 2,
            rotation_degrees: 0.0,
        });
    }),
];

/// Wrong materials, textures, images and lights.
const LOOKS: &[Case] = &[
    (
        "materials[0] `clay`: albedo is [2, 0, 0], expected 0 to 1 per channel",
        |s| {
            s.materials[0] = Surface::Diffuse {
                albedo: Vec3::X * 2.0,
                one_sided: false,
            };
        },
    ),
    ("materials[0] `clay`: albedo is [NaN, NaN, NaN]", |s| {
        s.materials[0] = Surface::Diffuse {
            albedo: Vec3::NAN,
            one_sided: false,
        };
    }),
    ("materials[1] `glass`: ior is 0, expected 0.1 to 10", |s| {
        let Surface::Dielectric { ior, .. } = &mut s.materials[1] else {
            panic!()
        };
        *ior = 0.0;
    }),
    ("materials[1] `glass`: absorption.color is [NaN", |s| {
        let Surface::Dielectric { absorption, .. } = &mut s.materials[1] else {
            panic!()
        };
        *absorption = Absorption::new(Vec3::NAN, 1.0);
    }),
    (
        "materials[2] `paint`: metallic is 1.5, expected 0 to 1",
        |s| {
            let Surface::Principled(paint) = &mut s.materials[2] else {
                panic!()
            };
            paint.metallic = 1.5;
        },
    ),
    (
        "materials[2] `paint`: anisotropy is -1, expected 0 to 1",
        |s| {
            let Surface::Principled(paint) = &mut s.materials[2] else {
                panic!()
            };
            paint.anisotropy = -1.0;
        },
    ),
    (
        "materials[3] `gold`: alpha is 0, expected 0.001 to 1",
        |s| {
            let Surface::RoughConductor { roughness, .. } = &mut s.materials[3] else {
                panic!()
            };
            roughness.alpha = 0.0;
        },
    ),
    (
        "materials[4] `lamp`: radiance is [-1, -1, -1], expected 0 to below",
        |s| {
            let Surface::Emissive { radiance, .. } = &mut s.materials[4] else {
                panic!()
            };
            *radiance = Vec3::NEG_ONE;
        },
    ),
    (
        "materials[5] `mix`: contains material 9, which does not exist",
        |s| {
            let Surface::Blend { first, .. } = &mut s.materials[5] else {
                panic!()
            };
            *first = 9;
        },
    ),
    ("materials[5] `mix`: contains itself", |s| {
        let Surface::Blend { first, .. } = &mut s.materials[5] else {
            panic!()
        };
        *first = 5;
    }),
    ("material_names: has 5 names, expected 6", |s| {
        s.material_names.truncate(5)
    }),
    ("maps[9]: there is no such material", |s| {
        s.maps.insert(9, MaterialTextures::default());
    }),
    (
        "materials[0] `clay`: opacity is -0.5, expected 0 to 1",
        |s| {
            s.maps.get_mut(&0).unwrap().opacity = -0.5;
        },
    ),
    (
        "materials[0] `clay`: texture of Color is 0, expected an index below 0",
        |s| {
            s.textures.clear();
        },
    ),
    ("textures[0]: image is 0, expected below 0", |s| {
        s.images.clear()
    }),
    ("textures[0]: transform is not finite", |s| {
        s.textures[0].transform = Affine2::NAN
    }),
    ("images[0]: has 1 texels, expected 2 times 1", |s| {
        let texels = Texels::Bytes(vec![[0; 4]]);
        s.images[0] = Arc::new(Image {
            width: 2,
            height: 1,
            texels,
        });
    }),
    ("images[0]: texel 0 is inf, expected finite numbers", |s| {
        let texels = Texels::Floats(vec![[f32::INFINITY; 4]]);
        s.images[0] = Arc::new(Image {
            width: 1,
            height: 1,
            texels,
        });
    }),
    ("media[9]: there is no such material", |s| {
        let medium = Medium {
            scattering: Vec3::ONE,
            absorption: Vec3::ZERO,
            anisotropy: 0.0,
        };
        s.media.insert(9, medium);
    }),
    ("priorities[9]: there is no such material", |s| {
        s.priorities.insert(9, 1);
    }),
    ("lights[0] (point light): intensity is [-1, -1, -1]", |s| {
        s.lights[0] = Light::Point {
            position: Vec3::Y,
            intensity: Vec3::NEG_ONE,
        };
    }),
    (
        "lights[0] (point light): position is [inf, inf, inf]",
        |s| {
            s.lights[0] = Light::Point {
                position: Vec3::INFINITY,
                intensity: Vec3::ONE,
            };
        },
    ),
    (
        "lights[1] (spot light): inner_degrees is 30, expected 0 to 20",
        |s| {
            let Light::Spot { inner_degrees, .. } = &mut s.lights[1] else {
                panic!()
            };
            *inner_degrees = 30.0;
        },
    ),
    (
        "lights[2] (directional light): direction is [0, 0, 0]",
        |s| {
            let Light::Directional { direction, .. } = &mut s.lights[2] else {
                panic!()
            };
            *direction = Vec3::ZERO;
        },
    ),
    (
        "lights[2] (directional light): angle_degrees is 0.001, expected 0.01 to 90, or 0",
        |s| {
            let Light::Directional { angle_degrees, .. } = &mut s.lights[2] else {
                panic!()
            };
            *angle_degrees = 0.001;
        },
    ),
    (
        "lights[4] (environment): the scene has another environment",
        |s| {
            s.lights.push(s.lights[3].clone());
        },
    ),
    (
        "lights[3] (environment): has 2 radiances with a width of 3",
        |s| environment(s).width = 3,
    ),
    (
        "lights[3] (environment): radiance 1 is [-1, -1, -1], expected",
        |s| {
            environment(s).radiances = Arc::new([Vec3::ONE, Vec3::NEG_ONE]);
        },
    ),
    (
        "lights[3] (environment): scale is 1000000000, which makes it too bright",
        |s| {
            environment(s).scale = 1e9;
        },
    ),
];

/// Wrong triangles, spheres, meshes and instances.
const SHAPES: &[Case] = &[
    ("scene: has no objects", |s| {
        s.triangles = Arc::default();
        s.spheres = Arc::default();
        s.instances = Arc::default();
    }),
    ("triangles[1]: vertices are [NaN", |s| {
        Arc::make_mut(&mut s.triangles)[1].vertices[0] = Vec3::NAN;
    }),
    ("triangles[0]: vertices are", |s| {
        let vertices = &mut Arc::make_mut(&mut s.triangles)[0].vertices;
        vertices[1] = vertices[0];
    }),
    (
        "triangles[1]: material is 7, which does not exist; there are 6",
        |s| {
            Arc::make_mut(&mut s.triangles)[1].material = 7;
        },
    ),
    ("spheres[0]: radius is -1, expected", |s| {
        sphere(s).radius = -1.0
    }),
    ("spheres[0]: center is [0, 0, 1000000000], expected", |s| {
        sphere(s).center = Vec3::Z * 1e9
    }),
    (
        "spheres[0]: material is 4294967295, which does not exist",
        |s| {
            sphere(s).material = u32::MAX;
        },
    ),
    ("meshes[0]: has no triangles", |s| mesh(s).triangles.clear()),
    (
        "meshes[0]: triangles[0]: vertex 3 does not exist; there are 3",
        |s| {
            mesh(s).triangles[0][2] = 3;
        },
    ),
    ("meshes[0]: triangles[0]: has no area", |s| {
        mesh(s).triangles[0] = [0, 1, 1]
    }),
    ("meshes[0]: has 2 materials, expected 1", |s| {
        mesh(s).materials.push(0)
    }),
    ("meshes[0]: material is 7, which does not exist", |s| {
        mesh(s).materials[0] = 7
    }),
    ("meshes[0]: positions[2] is [0, inf, 0], expected", |s| {
        mesh(s).positions[2].y = f32::INFINITY;
    }),
    ("meshes[0]: has 2 normals, expected 3", |s| {
        mesh(s).normals.truncate(2)
    }),
    (
        "meshes[0]: normals[0] is [0, 0, 0], expected a unit vector",
        |s| {
            mesh(s).normals[0] = Vec3::ZERO;
        },
    ),
    ("meshes[0]: has 2 uvs, expected 3", |s| {
        mesh(s).uvs.truncate(2)
    }),
    (
        "meshes[0]: second_uvs[1] is [NaN, 0], expected finite",
        |s| {
            mesh(s).second_uvs[1][0] = f32::NAN;
        },
    ),
    (
        "meshes[0]: tangents[0] is [1, 0, 0, 0], expected a unit vector, and 1 or -1",
        |s| {
            mesh(s).tangents[0][3] = 0.0;
        },
    ),
    (
        "instances[0]: mesh is 1, which does not exist; there are 1",
        |s| instance(s).mesh = 1,
    ),
    ("instances[0]: axes are", |s| instance(s).axes[2] = Vec3::X),
    (
        "instances[0]: a vertex is [1000000000, 0, 0], expected",
        |s| {
            instance(s).axes[0] = Vec3::X * 1e9;
        },
    ),
    ("instances[0]: material is 6, which does not exist", |s| {
        instance(s).material = Some(6)
    }),
];

#[test]
fn a_wrong_scene_is_refused_by_the_name_of_the_object() {
    valid().check().unwrap();
    Renderer::new(&valid(), &on_cpu()).unwrap();
    for &(expected, change) in SETTINGS.iter().chain(LOOKS).chain(SHAPES) {
        let mut scene = valid();
        change(&mut scene);
        let Err(error) = Renderer::new(&scene, &on_cpu()) else {
            panic!("{expected}: the scene is accepted");
        };
        let text = error.to_string();
        assert!(text.starts_with(expected), "{text}\n{expected}");
        assert!(!text.contains('\n'), "{text}");
        assert_eq!(error.exit_code(), 2, "{text}");
        let Error::Scene(scene::Error::Invalid { .. } | scene::Error::Setting { .. }) = error
        else {
            panic!("{error:?}");
        };
        assert_eq!(scene.check().unwrap_err().to_string(), text);
        // Hashes and counts of a wrong scene do not panic.
        scene.hash();
        scene.emissive_triangle_count();
    }
}

#[test]
fn loaded_scenes_pass_the_check() {
    for scene in common::scenes() {
        let checked = scene.check();
        checked.unwrap_or_else(|error| panic!("{}: {error}", scene.path.display()));
    }
}

#[test]
fn a_wrong_camera_or_size_leaves_the_renderer_as_it_is() {
    let scene = valid();
    let mut renderer = Renderer::new(&scene, &on_cpu()).unwrap();
    while renderer.advance().unwrap() {}
    let hash = renderer.finish().unwrap().film_hash;
    let mut camera = scene.camera;
    camera.origin = camera.target;
    let error = renderer.set_camera(camera).unwrap_err().to_string();
    assert!(error.starts_with("camera: target is"), "{error}");
    let error = renderer.set_size(0, 8).unwrap_err().to_string();
    assert!(error.starts_with("size 0x8: must be"), "{error}");
    assert_eq!(renderer.finish().unwrap().film_hash, hash);
}
