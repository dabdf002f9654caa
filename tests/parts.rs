//! Tests of parts (partial renders) in memory and in files: round trips, detection of damage, and verification.

mod common;

use std::{fs, path::Path};

use common::{Random, on_cpu, scene, start};
use raysieve::{
    Error,
    film::film_hash,
    inspect::aovs::{Aov, Aovs},
    render::{
        part::{
            Difference, Packing, Part, PartFile, PartHeader, Portion, SamplePosition, Samples,
            aovs_of,
        },
        renderer::Renderer,
    },
    scene::{Projection, Scene},
    stages::Preview,
};

/// Returns a small scene with a mirror, a light and a wall.
fn room() -> Scene {
    scene(
        r#"(
            size: (13, 7), spp: 6, max_bounces: 4, seed: 3, sky: (0.3, 0.5, 0.7),
            camera: (origin: (0, 2, 5), target: (0, 0.4, 0), fov: 40),
            materials: {
                "clay": Diffuse(albedo: (0.7, 0.5, 0.3)),
                "mirror": Mirror(reflectance: (0.9, 0.8, 0.7)),
                "lamp": Emissive(radiance: (9, 8, 7)),
            },
            objects: [
                Quad(corner: (-4, -1, 4), edge_u: (8, 0, 0), edge_v: (0, 0, -8), material: "clay"),
                Sphere(center: (0.5, 0, 1), radius: 0.6, material: "mirror"),
                Sphere(center: (-1.5, 1, 1), radius: 0.2, material: "lamp"),
            ],
        )"#,
    )
}

/// Returns the position of a sample of one pixel.
fn place(sample: u64, pixel: u32) -> SamplePosition {
    SamplePosition { sample, pixel }
}

/// Renders a range of samples and returns them as a part.
fn rendered(renderer: &mut Renderer, samples: std::ops::Range<SamplePosition>) -> Part {
    let (width, height) = renderer.identity().size;
    let samples = Samples::new(samples, width * height).unwrap();
    renderer.set_samples(&samples).unwrap();
    while renderer.advance().unwrap() {}
    renderer.part().unwrap()
}

/// Renders all samples of a scene and returns them as a part.
fn whole(scene: &Scene) -> Part {
    rendered(&mut start(scene, &on_cpu()), place(0, 0)..place(6, 0))
}

#[test]
fn a_written_part_reads_back_identically() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.exr");
    let scene = room();
    let mut renderer = start(&scene, &on_cpu());
    // The last range contains the largest sample number.
    let ranges = [
        place(0, 0)..place(6, 0),
        place(2, 5)..place(3, 1),
        place((1 << 32) - 1, 0)..place(1 << 32, 0),
    ];
    for range in ranges {
        let part = rendered(&mut renderer, range);
        for packing in [Packing::Small, Packing::Fast] {
            part.write(&path, packing).unwrap();
            let read = Part::read(&path).unwrap();
            assert_eq!(read.film, part.film);
            assert_eq!(read.header.samples, part.header.samples);
            assert_eq!(read.header.identity, part.header.identity);
            assert_eq!(
                read.header.stats.bounces.len(),
                part.header.stats.bounces.len()
            );
            assert_eq!(PartHeader::read(&path).unwrap(), read.header);
            // The reader of images, which knows nothing of parts, sees the same image.
            let shown = common::colors(&path);
            let expected: Vec<[f32; 3]> = part
                .picture()
                .pixels
                .iter()
                .map(|pixel| pixel.to_array())
                .collect();
            assert_eq!(shown, expected);
        }
    }
}

/// Checks that different samples give different films, because otherwise the round-trip tests would prove nothing.
#[test]
fn every_sample_gives_another_film() {
    let mut renderer = start(&room(), &on_cpu());
    let samples = [0, 1, 2, 65_536, (1 << 32) - 2, (1 << 32) - 1];
    let mut hashes: Vec<String> = samples
        .iter()
        .map(|&sample| rendered(&mut renderer, place(sample, 0)..place(sample + 1, 0)))
        .map(|part| part.header.stats.film_hash)
        .collect();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), samples.len());
}

#[test]
fn the_scene_hash_depends_only_on_what_the_scene_shows() {
    let text = |more: &str, materials: &str, radius: &str| {
        format!(
            r#"(camera: (origin: (0, 2, 5), target: (0, 0, 0), fov: 40), {more}
                materials: {{ {materials} }},
                objects: [
                    Sphere(center: (0, 0, 0), radius: {radius}, material: "a"),
                    Sphere(center: (3, 0, 0), radius: 1, material: "b"),
                ])"#
        )
    };
    let (a, b) = (
        r#""a": Mirror(reflectance: (1, 1, 1))"#,
        r#""b": Dielectric(ior: 1.5)"#,
    );
    let hash =
        |more: &str, materials: &str, radius: &str| scene(&text(more, materials, radius)).hash();
    let expected = hash("", &format!("{a}, {b}"), "1");
    assert_eq!(expected.len(), 32);
    // Settings, unused materials, their order, and comments do not matter.
    let unused = r#""c": Diffuse(albedo: (0, 0, 0))"#;
    assert_eq!(
        hash(
            "spp: 3, size: (5, 5), seed: 9, // A word.\n",
            &format!("{b}, {unused}, {a}"),
            "1.0"
        ),
        expected
    );
    let others = [
        hash("", &format!("{a}, {b}"), "1.0000001"),
        hash("sky: (0, 0, 1e-9),", &format!("{a}, {b}"), "1"),
        hash(
            "",
            &format!("{}, {b}", a.replace("))", "), one_sided: true)")),
            "1",
        ),
        hash(
            "",
            r#""b": Mirror(reflectance: (1, 1, 1)), "a": Dielectric(ior: 1.5)"#,
            "1",
        ),
    ];
    for other in &others {
        assert_ne!(*other, expected);
    }
    let mut moved = room();
    let before = moved.hash();
    let projections = [
        Projection::Perspective {
            fov_degrees: 40.0001,
        },
        Projection::Orthographic { width: 40.0 },
    ];
    for projection in projections {
        moved.camera.projection = projection;
        assert_ne!(moved.hash(), before);
    }
}

#[test]
fn parts_with_different_clamps_do_not_merge() {
    let folder = tempfile::tempdir().unwrap();
    let clamped = |max_indirect| {
        whole(&Scene {
            clamp_indirect: max_indirect,
            ..room()
        })
    };
    let (mut off, mut on) = (clamped(None), clamped(Some(0.5)));
    assert_eq!(
        off.add(&on).unwrap_err(),
        "has clamp_indirect 0.5, not none"
    );
    assert_eq!(
        on.add(&off).unwrap_err(),
        "has clamp_indirect none, not 0.5"
    );
    // The clamp is stored in the file, too.
    let path = folder.path().join("clamped.exr");
    on.write(&path, Packing::Small).unwrap();
    let read = Part::read(&path).unwrap();
    assert_eq!(read.header.identity, on.header.identity);
    assert_eq!(read.film, on.film);
}

/// Checks the color, normal and depth of a wall seen face on, at every pixel.
#[test]
fn a_part_stores_its_aovs() {
    let wall = |bottom: f32, before: &str| {
        scene(&format!(
            r#"(
                size: (8, 6), spp: 3, sky: (1, 1, 1),
                camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40, filter: Gaussian()),
                materials: {{
                    "clay": Diffuse(albedo: (0.7, 0.5, 0.3)),
                    "hole": Diffuse(albedo: (1, 1, 1), opacity: 0.2, cutoff: 0.5),
                }},
                objects: [
                    Quad(corner: (-9, {bottom}, -1), edge_u: (18, 0, 0), edge_v: (0, 18, 0), material: "clay"),
                    {before}
                ],
            )"#
        ))
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layers.exr");
    let channels = |scene: &Scene| {
        let part = rendered(&mut start(scene, &on_cpu()), place(0, 0)..place(2, 30));
        let mut layers = Aovs::trace(scene, None, &Aov::ALL).unwrap();
        layers.set_preview(Some(Preview {
            picture: part.picture(),
            milliseconds: 1.0,
        }));
        part.write_with(&path, Packing::Small, &layers).unwrap();
        assert_eq!(Part::read(&path).unwrap().film, part.film);
        // An image without a transparent background has no alpha.
        let stored: Vec<Aov> = Aov::ALL
            .into_iter()
            .filter(|aov| *aov != Aov::Alpha)
            .collect();
        assert_eq!(aovs_of(&path).unwrap(), stored);
        let image = exr::prelude::read_first_flat_layer_from_file(&path).unwrap();
        let channels = image.layer_data.channel_data.list.into_iter();
        channels
            .map(|channel| {
                let values: Vec<f32> = channel.sample_data.values_as_f32().collect();
                (channel.name.to_string(), values)
            })
            .collect::<std::collections::HashMap<_, _>>()
    };
    // A fully transparent surface does not appear in the AOVs.
    let hole =
        r#"Quad(corner: (-9, -9, 0), edge_u: (18, 0, 0), edge_v: (0, 18, 0), material: "hole")"#;
    let found = channels(&wall(-9.0, hole));
    let clay = [("albedo.R", 0.7), ("albedo.G", 0.5), ("albedo.B", 0.3)];
    let facing = [("normal.X", 0.0), ("normal.Y", 0.0), ("normal.Z", 1.0)];
    for (name, value) in clay.into_iter().chain(facing).chain([("depth.Z", 6.0)]) {
        for found in &found[name] {
            assert!(
                (found - value).abs() < 1e-5,
                "{name}: {found}, expected {value}"
            );
        }
    }
    // Two whole samples, and the first 30 of the 48 pixels of a third.
    let samples: Vec<f32> = (0..48)
        .map(|pixel| if pixel < 30 { 3.0 } else { 2.0 })
        .collect();
    assert_eq!(found["samples"], samples);
    // Where only the upper half sees the wall, its depth is unchanged there and missing below.
    let found = channels(&wall(0.0, ""));
    let (above, below) = (4, 44);
    assert!((found["depth.Z"][above] - 6.0).abs() < 1e-5 && found["depth.Z"][below] == 0.0);
    assert!((found["albedo.R"][above] - 0.7).abs() < 1e-5 && found["albedo.R"][below] == 0.0);
    let edge = found["albedo.R"][2 * 8 + 4] / 0.7;
    assert!(edge > 0.5 && edge < 1.0, "{edge} of the row above the edge");
    // The AOVs show the nearer of two instanced spheres.
    let balls = r#"Instances(of: DisplacedSphere(rings: 64, segments: 64, amplitudes: (0, 0), material: "clay"), at: [(translate: (0, 0, 2)), (translate: (0, 0, -3))])"#;
    let found = channels(&wall(0.0, balls));
    for pixel in [2 * 8 + 3, 3 * 8 + 4] {
        let (depth, albedo) = (found["depth.Z"][pixel], found["albedo.R"][pixel]);
        assert!(
            (2.0..2.2).contains(&depth) && (albedo - 0.7).abs() < 1e-5,
            "{depth}, {albedo}"
        );
    }
}

/// Checks that a damaged file is refused, unless the damage is in bytes without meaning.
#[test]
fn a_damaged_part_is_refused_and_nothing_panics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.exr");
    let part = whole(&room());
    let mut random = Random::new(1);
    for packing in [Packing::Small, Packing::Fast] {
        part.write(&path, packing).unwrap();
        let whole = fs::read(&path).unwrap();
        let part = Part::read(&path).unwrap();
        let (mut refused, mut tried) = (0, 0);
        let mut check = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            tried += 1;
            match Part::read(&path) {
                Ok(read) => assert!(read == part, "a damaged file was read as another part"),
                Err(error) => {
                    refused += 1;
                    let message = error.to_string();
                    assert_eq!(message.lines().count(), 1, "{message}");
                    assert!(message.starts_with(path.to_str().unwrap()), "{message}");
                }
            }
        };
        // Damages every byte of the header, and many of the pixels.
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (random.word() % 8);
            check(&bytes);
        }
        for _ in 0..200 {
            check(&whole[..random.word() as usize % whole.len()]);
            let mut bytes = whole.clone();
            for _ in 0..1 + random.word() % 40 {
                let at = random.word() as usize % bytes.len();
                bytes[at] = random.word() as u8;
            }
            check(&bytes);
        }
        assert!(refused > tried / 2, "{refused} of {tried} refused");
    }
    for other in ["", "no picture", "v/1\u{1}"] {
        fs::write(&path, other).unwrap();
        assert!(
            matches!(Part::read(&path), Err(Error::Damaged { .. })),
            "{other:?}"
        );
    }
}

/// A change that makes a part contradict itself; its checksums are recomputed.
type Contradiction = fn(&mut Part);

#[test]
fn a_part_that_contradicts_itself_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.exr");
    let contradictions: [Contradiction; 7] = [
        |part| part.header.identity.software.push('\n'),
        |part| part.header.identity.scene_hash = "\u{1b}[2J".to_owned(),
        |part| part.header.identity.max_bounces = 1000,
        |part| part.header.stats.bounces[2].bounce = u32::MAX,
        |part| part.header.stats.spp = 5,
        |part| part.header.stats.seed = 8,
        |part| part.header.stats.sample_range = "0..7".to_owned(),
    ];
    let part = whole(&room());
    for (number, wrong) in contradictions.into_iter().enumerate() {
        forge(part.clone(), &path, wrong);
        let refused = Part::read(&path);
        assert!(
            matches!(refused, Err(Error::Damaged { .. })),
            "contradiction {number}"
        );
    }
}

#[test]
fn errors_tell_a_damaged_part_from_a_file_that_is_no_part() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    exr::prelude::write_rgb_file(file("picture.exr"), 4, 4, |x, y| (x as f32, y as f32, 0.0))
        .unwrap();
    fs::create_dir(file("folder.exr")).unwrap();
    for (name, expected) in [
        ("picture.exr", "no film"),
        ("folder.exr", "not a regular file"),
        ("missing.exr", "does not exist"),
    ] {
        match Part::read(&file(name)) {
            Err(Error::File { problem, .. }) => assert!(problem.contains(expected), "{problem}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn parts_of_different_renders_do_not_merge() {
    let scene = room();
    let part = |scene: &Scene, range| rendered(&mut start(scene, &on_cpu()), range);
    let mut sum = part(&scene, place(0, 0)..place(2, 0));
    let before = sum.clone();
    let later = place(2, 0)..place(3, 0);
    let mut brighter = scene.clone();
    brighter.sky *= 1.0 + f32::EPSILON;
    let others = [
        (
            part(&scene, place(1, 3)..place(4, 0)),
            "also contains samples 1+3..2",
        ),
        (
            part(
                &Scene {
                    seed: 4,
                    ..scene.clone()
                },
                later.clone(),
            ),
            "seed 4, not 3",
        ),
        (
            part(
                &Scene {
                    size: (7, 13),
                    ..scene.clone()
                },
                later.clone(),
            ),
            "7x13 pixels, not 13x7",
        ),
        (
            part(
                &Scene {
                    max_bounces: 5,
                    ..scene.clone()
                },
                later.clone(),
            ),
            "max_bounces 5, not 4",
        ),
        (part(&brighter, later.clone()), "another scene"),
    ];
    for (other, expected) in others {
        let refused = sum.add(&other).unwrap_err();
        assert!(refused.contains(expected), "{refused}");
        assert!(sum == before);
    }
    let mut full = part(&scene, later);
    full.film.sums[5] = u64::MAX;
    assert!(sum.add(&full).unwrap_err().contains("too bright"));
    assert!(sum == before);
}

/// Writes a changed part with all hashes and checksums recomputed, as a forger would.
fn forge(mut part: Part, path: &Path, change: impl FnOnce(&mut Part)) {
    change(&mut part);
    let (width, height) = part.header.identity.size;
    part.header.stats.film_hash = film_hash(width, height, &part.film.sums);
    part.write(path, Packing::Small).unwrap();
}

/// Verifies a file against the scene, and returns the first difference.
fn verified(path: &Path, portion: Portion) -> Option<Difference> {
    let found = PartFile::read(path).unwrap();
    found
        .verify(&mut start(&room(), &on_cpu()), portion, |done| {
            assert!((0.0..=1.0).contains(&done));
        })
        .unwrap()
}

#[test]
fn a_forged_pixel_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.exr");
    let part = whole(&room());
    part.write(&path, Packing::Small).unwrap();
    assert_eq!(verified(&path, Portion::Whole), None);

    // Changes the film by its smallest unit, which is too small to be visible.
    forge(part.clone(), &path, |part| {
        part.film.sums[3 * (13 * 4 + 7) + 1] += 1
    });
    let difference = verified(&path, Portion::Whole).unwrap();
    assert_eq!((difference.count, difference.x, difference.y), (1, 7, 4));
    assert!(difference.found.ends_with("on the film"), "{difference:?}");

    forge(part.clone(), &path, |part| part.film.sums[0] += 1 << 32);
    let difference = verified(&path, Portion::Whole).unwrap();
    assert_eq!((difference.count, difference.x, difference.y), (1, 0, 0));
    assert_ne!(difference.expected, difference.found);

    // This part has fewer samples than it claims.
    let mut incomplete = rendered(&mut start(&room(), &on_cpu()), place(0, 0)..place(5, 0));
    incomplete.header.samples = part.header.samples.clone();
    incomplete.header.stats.sample_range = part.header.samples.to_string();
    incomplete.header.stats.spp = 6;
    incomplete.write(&path, Packing::Small).unwrap();
    assert!(verified(&path, Portion::Whole).unwrap().count > 45);
    assert!(
        verified(&path, Portion::Some { pixels: 9, pick: 1 })
            .unwrap()
            .count
            > 4
    );
}

/// Verifies parts that were cut in the middle of a sample or lack samples.
#[test]
fn any_part_can_be_verified_completely_or_by_some_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.exr");
    let mut renderer = start(&room(), &on_cpu());
    let mut with_gap = rendered(&mut renderer, place(0, 0)..place(1, 40));
    with_gap
        .add(&rendered(&mut renderer, place(2, 7)..place(5, 3)))
        .unwrap();
    let cut = rendered(&mut renderer, place(1, 90)..place(2, 1));
    for part in [whole(&room()), with_gap, cut] {
        part.write(&path, Packing::Small).unwrap();
        assert_eq!(
            verified(&path, Portion::Whole),
            None,
            "{}",
            part.header.samples
        );
        for pixels in [1, 2, 9, 45, 90, 91, 1000] {
            for pick in [0, 1, u32::MAX] {
                let portion = Portion::Some { pixels, pick };
                assert_eq!(
                    verified(&path, portion),
                    None,
                    "{}, {portion:?}",
                    part.header.samples
                );
            }
        }
    }
}

#[test]
fn verified_pixels_are_spread_over_the_image_and_can_be_any() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.exr");
    // Every pixel is wrong. The report names the first pixel that was compared, and the number of wrong ones.
    forge(whole(&room()), &path, |part| {
        part.film.sums.iter_mut().for_each(|sum| *sum += 1)
    });
    let mut first = [false; 10];
    for pick in 0..200 {
        let difference = verified(&path, Portion::Some { pixels: 9, pick }).unwrap();
        assert_eq!(difference.count, 9);
        assert_eq!(difference.y, 0);
        first[difference.x as usize] = true;
    }
    // 91 pixels are picked from 9 ranges, so the first range has 10 pixels.
    assert_eq!(first, [true; 10]);
}

#[test]
fn an_image_of_another_scene_is_refused_before_comparing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.exr");
    whole(&room()).write(&path, Packing::Small).unwrap();
    let found = PartFile::read(&path).unwrap();
    let other = Scene { seed: 8, ..room() };
    let refused = found.verify(&mut start(&other, &on_cpu()), Portion::Whole, |_| {});
    assert!(matches!(refused, Err(Error::Setting { .. })));
}
