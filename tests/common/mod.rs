//! Shared helpers of the renderer's tests: paths, test scenes and renders.
#![allow(dead_code, reason = "not every test program needs all of it")]

pub(crate) mod blocks;
#[path = "paths.rs"]
mod paths;

use std::{
    fs,
    mem::discriminant,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use glam::{Vec2, Vec3};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use raysieve::{
    film::picture::Picture,
    render::{
        renderer::{BackendChoice, Renderer, Settings},
        stats::Stats,
    },
    scene::{
        Channel, Encoding, Filter, Image, Instance, MaterialTexture, Mesh, Parameter, Scene,
        Sphere, Surface, Texels, Texture, Wrap,
    },
};

/// Returns the path of a file of the repository. The environment takes precedence, because tests may run on a machine
/// other than the one that built them.
pub(crate) fn file(path: &str) -> PathBuf {
    paths::root().join(path)
}

/// Reads the colors of an image of floats, row by row from the top, with the renderer's own reader. The readers of the
/// crate `image` would be compiled again for each test program that calls them.
pub(crate) fn colors(path: &Path) -> Vec<[f32; 3]> {
    let image = Image::open(path).unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
    let Texels::Floats(texels) = image.texels else {
        panic!("{} has no floats", path.display());
    };
    texels.into_iter().map(|[r, g, b, _]| [r, g, b]).collect()
}

/// Returns every scene that ships or has a golden image, sorted by path. Each is loaded once per test program.
pub(crate) fn scenes() -> Vec<Scene> {
    static LOADED: OnceLock<Vec<Scene>> = OnceLock::new();
    LOADED.get_or_init(load_scenes).clone()
}

/// Loads the scenes of [`scenes`].
fn load_scenes() -> Vec<Scene> {
    let entries = ["scenes", "tests/scenes"]
        .into_iter()
        .filter_map(|folder| fs::read_dir(file(folder)).ok())
        .flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ron"))
        .collect();
    paths.sort();
    assert!(
        !paths.is_empty(),
        "no scene in {}",
        file("scenes").display()
    );
    paths.iter().map(|path| load(path.clone())).collect()
}

/// Loads a scene of the repository, given by its path.
pub(crate) fn load(path: impl Into<PathBuf>) -> Scene {
    let path = file(&path.into().to_string_lossy());
    Scene::load(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// Loads a scene from its RON text.
pub(crate) fn scene(text: &str) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.ron");
    fs::write(&path, text).unwrap();
    Scene::load(&path).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns a scene with all materials and a mesh, small enough to be built many times.
///
/// Materials of types that its text does not contain are those of `tests/scenes/every_field.ron`, each on a sphere.
pub(crate) fn garden() -> Scene {
    let mut garden = scene(
        r#"(
            sky: (0.3, 0.5, 0.7), max_bounces: 12, seed: 77,
            camera: (origin: (0, 2, 5), target: (0, 0.4, 0), fov: 40),
            materials: {
                "clay": Diffuse(albedo: (0.7, 0.5, 0.3)),
                "glass": Dielectric(ior: 1.5, absorption: ((0.9, 0.5, 0.3), 0.7)),
                "mirror": Mirror(reflectance: (0.9, 0.8, 0.7)),
                "gold": RoughConductor(preset: "gold", alpha: 0.3),
                "steel": RoughConductor(color: (0.6, 0.6, 0.7), alpha: 0.05, masking: Separable),
                "paint": Principled(base_color: (0.3, 0.4, 0.8), metallic: 0.4, roughness: 0.4, transmission: 0.5, absorption: ((0, 1, 0.5), 2)),
                "film": Principled(base_color: (0.8, 0.9, 0.7), roughness: 0.3, transmission: 1, thin: true, clearcoat: 0.2),
                "lamp": Emissive(radiance: (9, 8, 7), albedo: (0.5, 0.5, 0.5)),
            },
            objects: [
                Quad(corner: (-4, -1.1, 4), edge_u: (8, 0, 0), edge_v: (0, 0, -8), material: "clay"),
                Quad(corner: (-4, -1.1, -4), edge_u: (8, 0, 0), edge_v: (0, 4, 0), material: "mirror"),
                DisplacedSphere(rings: 16, segments: 32, material: "clay"),
                Sphere(center: (1.5, 0, 1), radius: 0.6, material: "glass"),
                Sphere(center: (-1.5, 0.1, 1.6), radius: 0.5, material: "gold"),
                Sphere(center: (0.1, -0.7, 2.2), radius: 0.3, material: "steel"),
                Sphere(center: (2.4, -0.4, 1.8), radius: 0.5, material: "paint"),
                Quad(corner: (0.8, -0.9, 2.6), edge_u: (0.5, 0, -0.2), edge_v: (0, 0.6, 0), material: "film"),
                Sphere(center: (-1.5, 1, 1), radius: 0.2, material: "lamp"),
            ],
        )"#,
    );
    let own_spheres = garden.spheres.len();
    let every_field = load("tests/scenes/every_field.ron");
    for (&surface, name) in every_field
        .materials
        .iter()
        .zip(&every_field.material_names)
    {
        let same_type = |other: &Surface| discriminant(other) == discriminant(&surface);
        // A blend refers to other materials by index.
        let is_blend = matches!(surface, Surface::Blend { .. });
        if is_blend || garden.materials.iter().any(same_type) {
            continue;
        }
        let spheres = Arc::make_mut(&mut garden.spheres);
        // A row in front of the camera.
        let place = (spheres.len() - own_spheres) as f32;
        spheres.push(Sphere {
            center: Vec3::new(0.6 * place - 0.8, 1.1, 1.2),
            radius: 0.25,
            material: garden.materials.len() as u32,
        });
        garden.materials.push(surface);
        garden.material_names.push(name.clone());
    }
    garden
}

/// Returns the index of a material, given by its name.
fn material(scene: &Scene, name: &str) -> u32 {
    let mut names = scene.material_names.iter();
    names.position(|other| other == name).unwrap() as u32
}

/// Returns the garden with instances: mirrored, stretched, sheared, emissive and overlapping, with and without vertex
/// attributes.
pub(crate) fn instanced_garden() -> Scene {
    let mut garden = garden();
    let ball = ball(8, 12, 0);
    Arc::make_mut(&mut garden.meshes).push(Mesh {
        normals: Vec::new(),
        tangents: Vec::new(),
        materials: (0..ball.triangles.len() as u32)
            .map(|number| number % 4)
            .collect(),
        ..ball.clone()
    });
    Arc::make_mut(&mut garden.meshes).push(Mesh {
        uvs: Vec::new(),
        tangents: Vec::new(),
        ..ball.clone()
    });
    Arc::make_mut(&mut garden.meshes).push(Mesh {
        second_uvs: ball.uvs.iter().map(|&[u, v]| [v, 2.0 * u]).collect(),
        ..ball
    });
    let mut random = Random::new(5);
    for number in 0..40 {
        let mut direction = || Vec3::new(random.signed(), random.signed(), random.signed());
        let (tilt, at) = (direction() * 0.3, direction());
        let axes = [
            Vec3::new(0.4, 0.0, 0.0) + tilt,
            Vec3::new(0.0, 0.3, 0.1),
            Vec3::new(0.0, -0.1, if number % 2 == 0 { 0.4 } else { -0.4 }),
        ];
        Arc::make_mut(&mut garden.instances).push(Instance {
            mesh: number % 3,
            axes: axes.map(|axis| axis * if number % 5 == 0 { 0.1 } else { 0.6 }),
            position: at * Vec3::new(2.5, 0.8, 2.0),
            material: (number % 4 == 1).then_some(number % 3),
        });
    }
    paint(&mut garden);
    garden
}

/// Returns the garden with instances of which some emit light, textured and from both sides; with normal maps of clear
/// coats and a texture on the second set of coordinates.
pub(crate) fn emissive_garden() -> Scene {
    let mut garden = instanced_garden();
    garden.textures[3].uses_second_uvs = true;
    let [paint, film, lamp] = ["paint", "film", "lamp"].map(|name| material(&garden, name));
    for instance in Arc::make_mut(&mut garden.instances).iter_mut().step_by(6) {
        instance.material = Some(lamp);
    }
    let map = MaterialTexture {
        texture: 2,
        channel: Channel::Red,
    };
    let maps = garden.maps.entry(lamp).or_default();
    maps.textures.insert(Parameter::Emission, map);
    let Surface::Emissive { both_sides, .. } = &mut garden.materials[lamp as usize] else {
        panic!("no lamp");
    };
    *both_sides = true;
    for instance in Arc::make_mut(&mut garden.instances)
        .iter_mut()
        .skip(1)
        .step_by(6)
    {
        instance.material = Some(paint);
    }
    for (material, parameter, texture) in [
        (paint, Parameter::Normal, 1),
        (paint, Parameter::ClearcoatNormal, 0),
        (film, Parameter::ClearcoatNormal, 1),
    ] {
        let maps = garden.maps.entry(material).or_default();
        (maps.normal_scale, maps.coat_normal_scale) = (0.5, 0.7);
        let channel = Channel::Red;
        maps.textures
            .insert(parameter, MaterialTexture { texture, channel });
    }
    garden
}

/// Adds the extended and anisotropic materials, the coated glass and the blend of `tests/scenes/every_field.ron` to a
/// scene, each on a sphere. Returns their indices. The blend consists of the anisotropic metal and the first one.
pub(crate) fn add_extended_materials(scene: &mut Scene) -> [u32; 6] {
    let every_field = load("tests/scenes/every_field.ron");
    let added = scene.materials.len() as u32;
    let placed = [
        ("silk", -0.4),
        ("prism", 0.4),
        ("varnish", 1.2),
        ("brushed", -1.2),
        ("satin", 2.0),
        ("worn", -2.0),
    ];
    placed.map(|(name, x)| {
        let index = scene.materials.len() as u32;
        let mut surface = every_field.materials[material(&every_field, name) as usize];
        if let Surface::Blend { first, second, .. } = &mut surface {
            (*first, *second) = (added + 3, added);
        }
        Arc::make_mut(&mut scene.spheres).push(Sphere {
            center: Vec3::new(x, 1.8, 1.2),
            radius: 0.3,
            material: index,
        });
        scene.materials.push(surface);
        scene.material_names.push(name.to_owned());
        index
    })
}

/// Returns the garden of [`emissive_garden`] with extended materials on spheres and instances, some of them textured.
pub(crate) fn extended_garden() -> Scene {
    let mut garden = emissive_garden();
    let [silk, prism, varnish, brushed, satin, worn] = add_extended_materials(&mut garden);
    let places = [
        (2, 6, silk),
        (3, 6, prism),
        (4, 6, varnish),
        (1, 6, brushed),
        (5, 12, satin),
        (11, 12, worn),
    ];
    for (first, step, material) in places {
        let instances = Arc::make_mut(&mut garden.instances);
        for instance in instances.iter_mut().skip(first).step_by(step) {
            instance.material = Some(material);
        }
    }
    let maps = garden.maps.entry(silk).or_default();
    for (parameter, texture, channel) in [
        (Parameter::Normal, 1, Channel::Red),
        (Parameter::SheenColor, 0, Channel::Red),
        (Parameter::SheenRoughness, 1, Channel::Alpha),
        (Parameter::Anisotropy, 1, Channel::Red),
        (Parameter::Iridescence, 0, Channel::Green),
        (Parameter::IridescenceThickness, 1, Channel::Green),
        (Parameter::DiffuseTransmission, 0, Channel::Alpha),
        (Parameter::DiffuseTransmissionColor, 3, Channel::Red),
    ] {
        let map = MaterialTexture { texture, channel };
        maps.textures.insert(parameter, map);
    }
    for (material, parameter) in [
        (brushed, Parameter::Roughness),
        (brushed, Parameter::RoughnessV),
        (worn, Parameter::BlendWeight),
        (worn, Parameter::Normal),
    ] {
        let maps = garden.maps.entry(material).or_default();
        let map = MaterialTexture {
            texture: 1,
            channel: Channel::Green,
        };
        maps.textures.insert(parameter, map);
    }
    garden
}

/// Returns the garden with instances, spheres and lamps of which some are alpha-tested or partly transparent; with a
/// texture on the second set of coordinates.
pub(crate) fn alpha_tested_garden() -> Scene {
    let mut garden = instanced_garden();
    garden.textures[3].uses_second_uvs = true;
    // Areas of equal opacity, for opacity maps.
    let quarters = (0..256).map(|texel| {
        let is_opaque = (texel % 16 < 8) == (texel / 16 < 8);
        [90, 160, 220, if is_opaque { 255 } else { 0 }]
    });
    let quarters = Image {
        width: 16,
        height: 16,
        texels: Texels::Bytes(quarters.collect()),
    };
    let image = garden.images.len() as u32;
    garden.images.push(Arc::new(quarters));
    garden.textures.push(Texture::new(image, Encoding::Srgb));
    let quarters = garden.textures.len() as u32 - 1;
    for (material, opacity, cutoff, texture) in [
        (0, 1.0, 0.4, Some(quarters)),
        (1, 0.7, 0.0, None),
        (2, 0.8, 0.3, None),
        (3, 0.9, 0.0, Some(3)),
        (4, 0.5, 0.0, Some(1)),
        (material(&garden, "lamp"), 0.6, 0.0, None),
    ] {
        let maps = garden.maps.entry(material).or_default();
        maps.opacity = opacity;
        maps.cutoff = cutoff;
        if let Some(texture) = texture {
            let map = MaterialTexture {
                texture,
                channel: Channel::Alpha,
            };
            maps.textures.insert(Parameter::Opacity, map);
        }
    }
    garden
}

/// Puts textures of every format on all materials of the garden except glass.
fn paint(garden: &mut Scene) {
    let mut random = Random::new(6);
    let mut word = || random.word().to_le_bytes();
    let bytes = (0..12).map(|_| {
        let [r, g, b, a, ..] = word();
        [r, g, b, a]
    });
    let bytes = Texels::Bytes(bytes.collect());
    let words = (0..6).map(|_| {
        let [a, b, c, d, e, f, g, h] = word();
        [[a, b], [c, d], [e, f], [g, h]].map(u16::from_le_bytes)
    });
    let words = Texels::Words(words.collect());
    let floats = (0..8).map(|_| [random.signed(), 2.0 * random.unit(), random.unit(), 1.0]);
    let floats = Texels::Floats(floats.collect());
    for (width, height, texels) in [(4, 3, bytes), (2, 3, words), (8, 1, floats)] {
        let image = Image {
            width,
            height,
            texels,
        };
        garden.images.push(Arc::new(image));
    }
    let laid = |image, encoding| {
        let scale = Vec2::new(3.0, -2.5);
        Texture::new(image, encoding).transformed(scale, 0.7, Vec2::new(0.3, -0.1))
    };
    garden.textures = vec![
        laid(0, Encoding::Srgb),
        Texture {
            wrap: [Wrap::Mirror, Wrap::Clamp],
            ..laid(1, Encoding::Linear)
        },
        Texture {
            filter: Filter::Nearest,
            ..laid(2, Encoding::Linear)
        },
        laid(1, Encoding::Srgb),
    ];
    for (material, parameter, texture) in [
        (0, Parameter::Color, 0),
        (0, Parameter::Normal, 1),
        (2, Parameter::Color, 3),
        (2, Parameter::Normal, 0),
        (3, Parameter::Color, 0),
        (3, Parameter::Emission, 2),
    ] {
        let maps = garden.maps.entry(material).or_default();
        maps.normal_scale = 0.5;
        let map = MaterialTexture {
            texture,
            channel: Channel::Red,
        };
        maps.textures.insert(parameter, map);
    }
}

/// Returns a sphere of radius 1 about the origin as flat triangles with smooth normals, texture coordinates and
/// tangents.
pub(crate) fn ball(rings: u32, segments: u32, material: u32) -> Mesh {
    let mut mesh = Mesh {
        materials: vec![material],
        ..Mesh::default()
    };
    for ring in 0..=rings {
        for segment in 0..=segments {
            let (u, v) = (segment as f32 / segments as f32, ring as f32 / rings as f32);
            let (longitude, colatitude) = (u * std::f32::consts::TAU, v * std::f32::consts::PI);
            let across = if ring == 0 || ring == rings {
                0.0
            } else {
                colatitude.sin()
            };
            let normal = Vec3::new(
                -longitude.sin() * across,
                colatitude.cos(),
                -longitude.cos() * across,
            );
            mesh.positions.push(normal);
            mesh.normals.push(normal);
            mesh.uvs.push([u, v]);
            mesh.tangents
                .push([-longitude.cos(), 0.0, longitude.sin(), 1.0]);
            if ring < rings && segment < segments {
                let corner = ring * (segments + 1) + segment;
                let below = corner + segments + 1;
                if ring > 0 {
                    mesh.triangles.push([corner, below, corner + 1]);
                }
                if ring + 1 < rings {
                    mesh.triangles.push([corner + 1, below, below + 1]);
                }
            }
        }
    }
    mesh
}

/// Returns the scene with another image size and number of samples per pixel.
pub(crate) fn sized(scene: Scene, width: u32, height: u32, spp: u32) -> Scene {
    Scene {
        size: (width, height),
        spp,
        ..scene
    }
}

/// Returns the default settings for the CPU backend.
pub(crate) fn on_cpu() -> Settings {
    Settings {
        backend: BackendChoice::Cpu,
        ..Settings::default()
    }
}

/// Renders all samples of a scene.
pub(crate) fn render(scene: &Scene, settings: &Settings) -> (Picture, Stats) {
    let mut renderer = start(scene, settings);
    while renderer.advance().unwrap() {}
    let stats = renderer.finish().unwrap();
    (renderer.picture().unwrap(), stats)
}

/// Prepares a render, without any samples.
pub(crate) fn start(scene: &Scene, settings: &Settings) -> Renderer {
    Renderer::new(scene, settings)
        .unwrap_or_else(|error| panic!("{}: {error}", scene.path.display()))
}

/// A generator of random numbers with a fixed seed, so that failures are reproducible.
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns 64 random bits.
    pub(crate) fn word(&mut self) -> u64 {
        self.0.random()
    }

    /// Returns a number in [0, 1), a multiple of 2⁻²⁴ as those of the sampler.
    pub(crate) fn unit(&mut self) -> f32 {
        self.0.random()
    }

    /// Returns a number in [-1, 1).
    pub(crate) fn signed(&mut self) -> f32 {
        2.0 * self.unit() - 1.0
    }
}
