//! Tests that opacity maps promise nothing that the opacity test contradicts.

use std::sync::Arc;

use glam::Vec2;
use raysieve::{
    accel::instance::{InstanceHit, NO_INSTANCE},
    device::render_scene::RenderScene,
    math::normalize,
    path::{Hit, Ray},
    scene::{
        Channel, Encoding, Filter, Image, Instance, MaterialTexture, Mesh, Parameter, Scene,
        Texels, Texture, Wrap,
    },
    shading::{
        opacity::opacity_at,
        opacity_map::{OPAQUE, TRANSPARENT, UNKNOWN, known_opacity},
    },
};

use crate::common::{Random, scene};

/// Number of materials of a random scene.
const MATERIALS: u32 = 24;
/// Number of points per primitive.
const POINTS: usize = 400;

/// Returns one of the items.
fn one_of<T: Copy>(random: &mut Random, items: &[T]) -> T {
    items[random.word() as usize % items.len()]
}

/// Returns `true` once in `count` calls on average.
fn one_in(random: &mut Random, count: u64) -> bool {
    random.word().is_multiple_of(count)
}

/// Returns an image with large areas of equal values, some of them just above or below 0.5, or outside of 0 to 1.
fn image(random: &mut Random) -> Image {
    let (width, height) = (
        one_of(random, &[1, 2, 5, 16, 37, 64]),
        one_of(random, &[1, 3, 8, 37, 64]),
    );
    let block = one_of(random, &[1, 4, 16]);
    let odd = [0.5, 0.499_99, 0.500_01, -0.5, 1.5, 1e8];
    let areas: Vec<[f32; 4]> = (0..64 * 64)
        .map(|_| {
            [0; 4].map(|_| match random.word() % 16 {
                0 => one_of(random, &odd),
                1 => random.unit(),
                even if even.is_multiple_of(2) => 0.0,
                _ => 1.0,
            })
        })
        .collect();
    let texels = (0..width * height).map(|texel| {
        let (x, y) = (texel % width, texel / width);
        areas[(x / block + 64 * (y / block)) as usize]
    });
    let texels = match random.word() % 3 {
        0 => Texels::Bytes(
            texels
                .map(|texel| texel.map(|value| (value * 255.0) as u8))
                .collect(),
        ),
        1 => Texels::Words(
            texels
                .map(|texel| texel.map(|value| (value * 65535.0) as u16))
                .collect(),
        ),
        _ => Texels::Floats(texels.collect()),
    };
    Image {
        width,
        height,
        texels,
    }
}

/// Returns a texture of one of six images, often with a transform that magnifies or repeats it.
fn texture(random: &mut Random) -> Texture {
    let wraps = [Wrap::Repeat, Wrap::Mirror, Wrap::Clamp];
    let laid = Texture {
        wrap: [one_of(random, &wraps), one_of(random, &wraps)],
        filter: one_of(random, &[Filter::Bilinear, Filter::Nearest]),
        uses_second_uvs: one_in(random, 2),
        ..Texture::new(
            random.word() as u32 % 6,
            one_of(random, &[Encoding::Linear, Encoding::Srgb]),
        )
    };
    let scales = [0.01, 0.3, 1.0, -1.0, 3.7, 40.0];
    let scale = Vec2::new(one_of(random, &scales), one_of(random, &scales));
    let angle = one_of(random, &[0.0, 0.7, 3.0]);
    let offset = one_of(random, &[0.0, 0.5, -3.3]);
    laid.transformed(scale, angle, Vec2::new(offset, -offset))
}

/// Returns a mesh of triangles that share nothing, with texture coordinates of different sizes or none.
fn mesh(random: &mut Random) -> Mesh {
    let count = 30;
    let coordinates = |random: &mut Random| -> Vec<[f32; 2]> {
        let sizes = [0.0, 0.1, 1.0, 20.0, 1e7];
        let corners = (0..count).flat_map(|_| {
            let size = one_of(random, &sizes);
            let on_grid = one_in(random, 2);
            let place = random.signed();
            [0; 3].map(|_| {
                [0; 2].map(|_| match on_grid {
                    true => size * one_of(random, &[0.0, 0.5, 1.0, -1.0]),
                    false => place + size * random.signed(),
                })
            })
        });
        corners.collect()
    };
    let has_coordinates = !one_in(random, 4);
    let has_second = has_coordinates && one_in(random, 2);
    let if_there = |there: bool, random: &mut Random| match there {
        true => coordinates(random),
        false => Vec::new(),
    };
    Mesh {
        uvs: if_there(has_coordinates, random),
        second_uvs: if_there(has_second, random),
        positions: (0..3 * count)
            .map(|_| [0; 3].map(|_| random.signed()).into())
            .collect(),
        triangles: (0..count)
            .map(|number| [0, 1, 2].map(|corner| 3 * number + corner))
            .collect(),
        materials: (0..count)
            .map(|_| random.word() as u32 % MATERIALS)
            .collect(),
        ..Mesh::default()
    }
}

/// Returns a scene whose materials have all kinds of opacity.
fn cutouts(random: &mut Random) -> Scene {
    let names = || 0..MATERIALS;
    let materials: String = names()
        .map(|name| format!(r#""{name}": Diffuse(albedo: (0.5, 0.5, 0.5)),"#))
        .collect();
    let objects: String = names()
        .map(|name| {
            format!(
                r#"Quad(corner: (-1, -1, {name}), edge_u: (2, 0, 0), edge_v: (0, 2, 0), material: "{name}"),
                   Sphere(center: (4, 0, {name}), radius: 0.4, material: "{name}"),"#
            )
        })
        .collect();
    let mut scene = scene(&format!(
        "(camera: (origin: (0, 0, 40), target: (0, 0, 0), fov: 40), sky: (1, 1, 1),
          materials: {{ {materials} }}, objects: [{objects}])"
    ));
    scene.images = (0..6).map(|_| Arc::new(image(random))).collect();
    scene.textures = (0..64).map(|_| texture(random)).collect();
    let channels = [Channel::Red, Channel::Green, Channel::Blue, Channel::Alpha];
    for material in names() {
        let maps = scene.maps.entry(material).or_default();
        maps.opacity = one_of(random, &[1.0, 1.0, 1.0, 0.7, 0.0]);
        maps.cutoff = one_of(random, &[0.0, 0.5, 0.5, 0.3, 1.0]);
        if !one_in(random, 8) {
            let map = MaterialTexture {
                texture: random.word() as u32 % 64,
                channel: one_of(random, &channels),
            };
            maps.textures.insert(Parameter::Opacity, map);
        }
    }
    let meshes: Vec<Mesh> = (0..12).map(|_| mesh(random)).collect();
    let instances = (0..18).map(|number| {
        let [x, y, z] = glam::Mat3::IDENTITY.to_cols_array_2d();
        Instance {
            mesh: number % 11,
            axes: [x.into(), y.into(), z.into()],
            position: [0; 3].map(|_| 5.0 * random.signed()).into(),
            material: one_in(random, 4).then(|| random.word() as u32 % MATERIALS),
        }
    });
    scene.instances = Arc::new(instances.collect());
    scene.meshes = Arc::new(meshes);
    scene
}

/// Returns a barycentric weight, often one at the border of a cell.
fn weight(random: &mut Random) -> f32 {
    let count = one_of(random, &[1, 2, 8, 128]);
    let border = (random.word() % (count + 1)) as f32 / count as f32;
    match random.word() % 4 {
        0 => border,
        1 => border.next_down().max(0.0),
        2 => border.next_up(),
        _ => random.unit(),
    }
}

#[test]
fn opacity_maps_agree_with_the_opacity_of_every_point() {
    let mut random = Random::new(24);
    let mut counts = [0; 3];
    for _ in 0..40 {
        let scene = cutouts(&mut random);
        let render_scene = RenderScene::new(&scene).unwrap();
        let opacity = render_scene.stochastic_opacity().expect("partly opaque");
        let outside = scene.triangles.len() + scene.spheres.len() + scene.instances.len();
        let of_meshes = (0_u32..).zip(scene.meshes.iter());
        let meshes = of_meshes.flat_map(|(mesh, each)| each.triangles.iter().map(move |_| mesh));
        let meshes: Vec<u32> = meshes.collect();
        for (index, primitive) in render_scene.primitives.iter().enumerate() {
            if primitive.is_instance() {
                continue;
            }
            let instances: Vec<u32> = match index.checked_sub(outside) {
                Some(in_mesh) => (0_u32..)
                    .zip(scene.instances.iter())
                    .filter(|(_, instance)| instance.mesh == meshes[in_mesh])
                    .map(|(number, _)| number)
                    .collect(),
                None => vec![NO_INSTANCE],
            };
            for _ in 0..POINTS {
                let u = weight(&mut random);
                let v = match random.word() % 4 {
                    0 => (1.0 - u).next_up(),
                    1 => 1.0 - u,
                    _ => weight(&mut random).min(1.0 - u),
                };
                let v = v.max(0.0);
                let (u, v) = if primitive.is_sphere() {
                    (0.0, 0.0)
                } else {
                    (u, v)
                };
                let hit = Hit {
                    distance: 1.0,
                    primitive: index as u32,
                    u,
                    v,
                };
                let direction = [0; 3].map(|_| random.signed()).into();
                let ray = Ray {
                    origin: primitive.a,
                    direction: normalize(direction),
                    ..Ray::default()
                };
                let known = known_opacity(opacity.opacity_maps, hit.primitive, hit.u, hit.v);
                counts[known as usize] += 1;
                for &instance in &instances {
                    let part = opacity_at(&opacity, &ray, &InstanceHit { hit, instance });
                    let agrees = match known {
                        OPAQUE => part >= 1.0,
                        TRANSPARENT => part <= 0.0,
                        _ => known == UNKNOWN,
                    };
                    assert!(
                        agrees,
                        "{known} where the opacity is {part}: {hit:?} of {primitive:?}"
                    );
                }
            }
        }
    }
    let total: u32 = counts.iter().sum();
    for (state, count) in counts.into_iter().enumerate() {
        assert!(
            count > total / 10,
            "{count} of {total} points have state {state}"
        );
    }
}
