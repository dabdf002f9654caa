//! Tests of the files that a render writes, and of its table.

use std::{fs, path::Path};

use libtest_mimic::Trial;
use raysieve::{
    film::picture::Picture,
    film::picture::tone::{self, Tone},
    stages::Stage,
};
use serde_json::Value;

use crate::{
    add_tests, assert_done, assert_refused, folder, names, raysieve, scene, small_render, stderr,
    stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        image_has_the_size_and_radiance_of_the_film,
        image_contains_its_metadata,
        default_image_is_named_after_the_scene,
        missing_display_is_reported_and_the_scene_rendered,
        statistics_have_the_documented_keys_and_consistent_counts,
        table_matches_the_statistics,
        table_counts_paths_that_scatter_in_media,
        film_is_identical_for_any_look,
        film_is_identical_for_any_machine_option,
        film_is_identical_for_any_vector_length,
        unwritable_path_is_reported_before_the_render,
        old_file_is_replaced_and_link_is_kept,
        link_to_a_missing_file_is_kept,
        files_of_the_scene_are_never_overwritten,
        options_of_png_are_refused_for_exr,
    );
}

/// Reads a file of statistics.
pub(crate) fn statistics(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("the statistics are there"))
        .expect("the statistics are JSON")
}

/// Reads the linear pixels of an EXR.
pub(crate) fn linear(path: &Path) -> Picture {
    let exr = image::open(path).expect("the EXR opens").into_rgb32f();
    let (width, height) = exr.dimensions();
    let pixels = exr.pixels().map(|pixel| pixel.0.into()).collect();
    Picture {
        width,
        height,
        pixels,
    }
}

fn image_has_the_size_and_radiance_of_the_film() {
    let folder = folder();
    assert_done(&small_render(folder.path(), &["-o", "a.exr"]));
    assert_done(&small_render(
        folder.path(),
        &["-o", "a.PNG", "--exposure", "0.5"],
    ));
    let exr = linear(&folder.path().join("a.exr"));
    assert_eq!((exr.width, exr.height), (48, 32));
    assert!(
        exr.pixels.iter().any(|pixel| pixel.max_element() > 0.0),
        "the picture is black"
    );

    let png = image::ImageReader::open(folder.path().join("a.PNG")).expect("the PNG is there");
    let png = png.decode().expect("the PNG opens").into_rgba8();
    assert_eq!(png.dimensions(), (48, 32));
    assert!(
        png.into_raw() == tone::to_srgb8(&exr, 0.5, Tone::Srgb),
        "the PNG differs from the tone-mapped EXR"
    );
}

fn image_contains_its_metadata() {
    let folder = folder();
    let arguments = ["--seed", "4000000000", "--stats", "a.json", "-o"];
    assert_done(&small_render(
        folder.path(),
        &[&arguments[..], &["a.png"]].concat(),
    ));
    assert_done(&small_render(
        folder.path(),
        &[&arguments[..], &["a.exr"]].concat(),
    ));
    let statistics = statistics(&folder.path().join("a.json"));
    let expected = [
        ("scene", scene("spheres.ron").display().to_string()),
        ("samples", "3".to_owned()),
        ("sample_range", "0..3".to_owned()),
        ("seed", "4000000000".to_owned()),
        (
            "film_hash",
            statistics["film_hash"].as_str().expect("a hash").to_owned(),
        ),
    ];

    let png = fs::File::open(folder.path().join("a.png")).expect("the PNG is there");
    let png = png::Decoder::new(std::io::BufReader::new(png))
        .read_info()
        .expect("the PNG opens");
    let exr = exr::meta::MetaData::read_from_file(folder.path().join("a.exr"), false)
        .expect("the EXR opens");
    let own = &exr.headers[0].own_attributes;
    for (name, text) in expected {
        let chunk = png
            .info()
            .utf8_text
            .iter()
            .find(|chunk| chunk.keyword == name)
            .expect(name);
        assert_eq!(chunk.get_text().expect("a text"), text);
        let attribute = own.other.get(name.as_bytes()).expect(name);
        assert_eq!(
            *attribute,
            exr::meta::attribute::AttributeValue::Text(text.as_str().into())
        );
    }
    assert!(
        own.software_name
            .as_ref()
            .is_some_and(|name| name.to_string().starts_with("raysieve "))
    );
}

fn default_image_is_named_after_the_scene() {
    let folder = folder();
    let output = small_render(folder.path(), &["--headless"]);
    assert_done(&output);
    assert_eq!(names(folder.path()), ["spheres.png"]);
    assert!(stdout(&output).contains("spheres.png"));
}

fn missing_display_is_reported_and_the_scene_rendered() {
    let folder = folder();
    let output = small_render(folder.path(), &[]);
    assert_done(&output);
    assert!(
        stderr(&output).contains("no window: "),
        "{}",
        stderr(&output)
    );
    assert_eq!(names(folder.path()), ["spheres.png"]);
}

fn statistics_have_the_documented_keys_and_consistent_counts() {
    let folder = folder();
    assert_done(&small_render(
        folder.path(),
        &[
            "--headless",
            "--stats",
            "a.json",
            "--max-bounces",
            "4",
            "--seed",
            "7",
        ],
    ));
    let text = fs::read_to_string(folder.path().join("a.json")).expect("the statistics are there");
    let statistics = statistics(&folder.path().join("a.json"));
    let keys = [
        "scene",
        "backend",
        "device",
        "size",
        "spp",
        "sample_range",
        "seed",
        "roulette",
        "compaction",
        "sort_hits",
        "seconds",
        "paths",
        "rays",
        "paths_per_second",
        "rays_per_second",
        "rejected_samples",
        "film_hash",
        "bounces",
        "devices",
        "memory",
        "waves",
    ];
    let row_keys = [
        "bounce",
        "rays",
        "hits",
        "scattered",
        "misses",
        "ended",
        "survivors",
        "shadow_rays",
        "lanes",
    ];
    let times = Stage::OF_BOUNCE.map(|stage| format!("{}_ms", stage.label()));
    let row_keys = row_keys.into_iter().chain(times.iter().map(String::as_str));
    let row_keys: Vec<&str> = row_keys.collect();
    assert_keys(&statistics, &keys);
    let places: Vec<_> = keys
        .iter()
        .map(|key| text.find(&format!("\n  \"{key}\": ")))
        .collect();
    assert!(
        places.is_sorted() && places[0].is_some(),
        "the keys are not in the documented order: {text}"
    );

    assert_eq!(statistics["backend"], "cpu");
    assert_eq!(statistics["size"], serde_json::json!([48, 32]));
    assert_eq!(
        (&statistics["spp"], &statistics["seed"]),
        (&3.into(), &7.into())
    );
    assert_eq!(statistics["sample_range"], "0..3");
    assert_eq!(statistics["compaction"], "look-back");
    assert_eq!(statistics["sort_hits"], "off");
    assert_eq!(statistics["rejected_samples"], 0);
    let hash = statistics["film_hash"].as_str().expect("a text");
    assert!(
        hash.len() >= 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()),
        "{hash}"
    );

    let rows = statistics["bounces"].as_array().expect("a list");
    let mut arriving = 48 * 32 * 3;
    let mut traced = 0;
    for (bounce, row) in rows.iter().enumerate() {
        assert_keys(row, &row_keys);
        let count = |key: &str| row[key].as_u64().expect("a count");
        assert_eq!(count("bounce"), bounce as u64);
        assert_eq!(count("rays"), arriving, "bounce {bounce}");
        assert_eq!(
            count("rays"),
            count("hits") + count("misses"),
            "bounce {bounce}"
        );
        assert_eq!(
            count("hits"),
            count("ended") + count("survivors"),
            "bounce {bounce}"
        );
        arriving = count("survivors");
        traced += count("rays") + count("shadow_rays");
    }
    assert_eq!(arriving, 0, "nothing survives the last bounce");
    assert_eq!(statistics["paths"], 48 * 32 * 3);
    assert_eq!(statistics["rays"], traced);
    let number = |key: &str| statistics[key].as_f64().expect("a number");
    assert!(number("seconds") > 0.0);
    assert!((number("paths_per_second") * number("seconds") / number("paths") - 1.0).abs() < 1e-6);
    assert!((number("rays_per_second") * number("seconds") / number("rays") - 1.0).abs() < 1e-6);
}

#[track_caller]
fn assert_keys(object: &Value, expected: &[&str]) {
    let mut found: Vec<&str> = object
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    let mut expected = expected.to_vec();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

fn table_matches_the_statistics() {
    assert_table(&scene("spheres.ron"), &["hits", "misses", "ended"]);
}

fn table_counts_paths_that_scatter_in_media() {
    let counts = ["hits", "scattered", "misses", "ended"];
    assert_table(&scene("../tests/scenes/fog.ron"), &counts);
}

/// Asserts that the table of a render has the figures of its statistics, and these columns between rays and survivors.
fn assert_table(scene: &Path, between: &[&str]) {
    let folder = folder();
    let output = raysieve(folder.path())
        .arg(scene)
        .args(["--backend", "cpu", "--size", "32x24", "--spp", "2"])
        .args(["--headless", "--stats", "a.json"])
        .output()
        .expect("the program starts");
    assert_done(&output);
    let statistics = statistics(&folder.path().join("a.json"));
    let table = stdout(&output);
    let row = |label: &str| -> Vec<String> {
        let line = table
            .lines()
            .find(|line| line.split_whitespace().next() == Some(label))
            .expect(label);
        line.replace(',', "")
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    };
    let bounces = statistics["bounces"].as_array().expect("a list");
    for bounce in bounces.iter().filter(|bounce| bounce["rays"] != 0) {
        let row = row(&bounce["bounce"].to_string());
        let counts = [&["bounce", "rays"], between, &["survivors"]].concat();
        for (column, key) in counts.iter().enumerate() {
            assert_eq!(row[column], bounce[*key].to_string(), "{key} in\n{table}");
        }
        let removed = 100.0
            * (1.0 - bounce["survivors"].as_f64().unwrap() / bounce["rays"].as_f64().unwrap());
        assert_eq!(
            row[counts.len()..][..3],
            [
                format!("{removed:.1}"),
                "%".to_owned(),
                bounce["shadow_rays"].to_string()
            ]
        );
    }
    let rays: u64 = bounces
        .iter()
        .map(|bounce| bounce["rays"].as_u64().expect("a count"))
        .sum();
    assert_eq!(row("all")[1], rays.to_string());
    assert_eq!(
        row("film_hash")[1],
        statistics["film_hash"].as_str().expect("a hash")
    );
    assert_eq!(row("paths")[1], statistics["paths"].to_string());
    let widths: Vec<usize> = table
        .lines()
        .take_while(|line| !line.is_empty())
        .map(str::len)
        .collect();
    assert!(
        widths.iter().all(|width| *width == widths[0]),
        "the columns are not aligned:\n{table}"
    );
}

/// Returns the film hash and the bytes of the image of a render with these arguments.
fn hash_and_picture(arguments: &[&str]) -> (String, Vec<u8>) {
    let folder = folder();
    let output = small_render(
        folder.path(),
        &[arguments, &["-o", "a.png", "--stats", "a.json"]].concat(),
    );
    assert_done(&output);
    let hash = statistics(&folder.path().join("a.json"))["film_hash"]
        .as_str()
        .expect("a hash")
        .to_owned();
    let picture = image::open(folder.path().join("a.png")).expect("the PNG opens");
    (hash, picture.into_rgb8().into_raw())
}

fn film_is_identical_for_any_look() {
    let (hash, plain) = hash_and_picture(&[]);
    for look in [
        ["--overlay", "--exposure=0"],
        ["--exposure", "-1.5"],
        ["--view", "cost"],
        ["--view", "samples"],
    ] {
        let (again, changed) = hash_and_picture(&look);
        assert_eq!(hash, again, "{look:?}");
        assert!(plain != changed, "{look:?} does not change the image");
    }
    let (other, _) = hash_and_picture(&["--seed", "1"]);
    assert_ne!(hash, other, "another seed must give another film");
}

fn film_is_identical_for_any_machine_option() {
    let reference = hash_and_picture(&[]);
    for work in [
        ["--wave-size", "100"],
        ["--threads", "1"],
        ["--threads", "3"],
        ["--compaction", "off"],
        ["--sort-hits", "on"],
    ] {
        assert!(
            reference == hash_and_picture(&work),
            "{work:?} changes the film"
        );
    }
}

/// Renders with several SIMD widths. A processor without longer vectors renders again with the same width.
fn film_is_identical_for_any_vector_length() {
    // The scenes have few triangles, few spheres, and a BVH.
    for (name, size) in [
        ("cornell.ron", "40x36"),
        ("spheres.ron", "40x36"),
        ("mesh.ron", "160x88"),
    ] {
        let hash = |max_lanes: &str| {
            let folder = folder();
            let output = raysieve(folder.path())
                .env("RAYSIEVE_VECTORS", max_lanes)
                .arg(scene(name))
                .args(["--backend", "cpu", "--size", size, "--spp", "2"])
                .args(["--headless", "--stats", "a.json"])
                .output()
                .expect("the program starts");
            assert_done(&output);
            statistics(&folder.path().join("a.json"))["film_hash"].clone()
        };
        let alone = hash("1");
        for max_lanes in ["8", "16", ""] {
            assert_eq!(hash(max_lanes), alone, "{name}, {max_lanes:?} lanes");
        }
    }
}

fn unwritable_path_is_reported_before_the_render() {
    let folder = folder();
    fs::create_dir(folder.path().join("folder.png")).expect("a folder");
    fs::write(folder.path().join("file"), "").expect("a file");
    // The render would take a day, so the test fails unless the error comes before it.
    let day = ["--size", "4096x4096", "--spp", "100000"];
    let long = "long".repeat(64) + ".png";
    let mut wrong = vec![
        (["-o", "stroke.png/"], "folder"),
        (["-o", &long], "too long"),
        (["-o", "missing/a.png"], "missing"),
        (["-o", "folder.png"], "folder"),
        (["-o", "file/a.exr"], "file"),
        (["--stats", "missing/a.json"], "missing"),
    ];
    // Nobody can create a file there, not even root.
    if cfg!(target_os = "linux") {
        wrong.push((["-o", "/sys/a.png"], "/sys"));
    }
    for (place, expected) in wrong {
        let output = small_render_of(&day, folder.path(), &place);
        let begin_of_path = &place[1][..place[1].len().min(100)];
        assert_refused(&output, 2, &[begin_of_path, expected]);
        assert!(output.stdout.is_empty());
    }
    assert_eq!(names(folder.path()), ["file", "folder.png"]);
}

fn small_render_of(settings: &[&str], folder: &Path, more: &[&str]) -> std::process::Output {
    let mut command = raysieve(folder);
    command
        .arg(scene("spheres.ron"))
        .args(["--backend", "cpu", "--headless"])
        .args(settings)
        .args(more);
    command.output().expect("the program starts")
}

fn old_file_is_replaced_and_link_is_kept() {
    let folder = folder();
    let (file, link) = (
        folder.path().join("file.png"),
        folder.path().join("link.png"),
    );
    fs::write(&file, "old").expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink("file.png", &link).expect("a link");
    assert_done(&small_render(folder.path(), &["-o", "link.png"]));
    image::open(&file).expect("the linked file must be the new picture");
    assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
    assert_eq!(names(folder.path()), ["file.png", "link.png"]);
}

#[cfg(unix)]
fn link_to_a_missing_file_is_kept() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("pictures")).expect("a folder");
    symlink("second.png", at("first.png")).expect("a link");
    symlink("pictures/a.png", at("second.png")).expect("a link");
    assert_done(&small_render(folder.path(), &["-o", "first.png"]));
    image::open(at("pictures/a.png")).expect("the linked file must be the picture");
    for link in ["first.png", "second.png"] {
        assert!(
            fs::symlink_metadata(at(link))
                .expect("the link")
                .is_symlink()
        );
    }
    symlink("missing/a.png", at("lost.png")).expect("a link");
    symlink("ring.png", at("ring.png")).expect("a link");
    for (link, expected) in [("lost.png", "missing"), ("ring.png", "ring.png")] {
        assert_refused(
            &small_render(folder.path(), &["-o", link]),
            2,
            &[link, expected],
        );
    }
}

#[cfg(not(unix))]
fn link_to_a_missing_file_is_kept() {}

/// Checks default image names, `-o` with several spellings of the path, links, and checkpoints.
fn files_of_the_scene_are_never_overwritten() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let scene = r#"(
        camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40),
        sky: (1, 1, 1),
        materials: { "wood": Diffuse(albedo: Texture(file: "wood.png")) },
        objects: [Sphere(center: (0, 0, 0), radius: 1, material: "wood")],
    )"#;
    fs::write(at("wood.ron"), scene).expect("a scene");
    image::RgbImage::new(4, 4)
        .save(at("wood.png"))
        .expect("a texture");
    let before = fs::read(at("wood.png")).expect("the texture");
    let render = |arguments: &[&str]| {
        raysieve(folder.path())
            .args([
                "wood.ron",
                "--size",
                "8x8",
                "--spp",
                "1",
                "--backend",
                "cpu",
            ])
            .args(arguments)
            .output()
            .expect("the program starts")
    };
    let expected = &["wood.png: is part of the scene wood.ron", "name another"];
    assert_refused(&render(&["--headless"]), 2, expected);
    assert_refused(&render(&["-o", "wood.png"]), 2, expected);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("wood.png", at("link.png")).expect("a link");
        assert_refused(
            &render(&["-o", "./link.png"]),
            2,
            &["link.png: is part of the scene"],
        );
    }
    assert_eq!(fs::read(at("wood.png")).expect("the texture"), before);
    assert_done(&render(&["-o", "other.png"]));
    // The environment map is an image of this program.
    assert_done(&render(&["-o", "sky.exr"]));
    let lit = scene.replace(
        "sky: (1, 1, 1)",
        r#"lights: [Environment(file: "sky.exr")]"#,
    );
    fs::write(at("wood.ron"), lit).expect("a scene");
    let before = fs::read(at("sky.exr")).expect("the sky");
    let expected = &["sky.exr: is part of the scene wood.ron"];
    assert_refused(&render(&["-o", "sky.exr"]), 2, expected);
    assert_refused(
        &render(&["-o", "a.exr", "--checkpoint", "sky.exr"]),
        2,
        expected,
    );
    assert_eq!(fs::read(at("sky.exr")).expect("the sky"), before);
}

fn options_of_png_are_refused_for_exr() {
    let folder = folder();
    for look in ["--overlay", "--exposure=0", "--view=depth"] {
        let output = small_render(folder.path(), &["-o", "a.exr", look]);
        let option = look.split('=').next().expect("an option");
        assert_refused(&output, 2, &[option, "a.exr", ".png"]);
    }
    assert!(names(folder.path()).is_empty());
}
