//! Tests that damaged scenes, meshes, models and images are read or refused, without a panic, a hang or excessive
//! memory.
//!
//! `RAYSIEVE_FUZZ_CASES=1000000 cargo test --test scene_fuzz` sets the number of damaged files.

use std::{fs, io, path::Path, time::Duration};

#[path = "../../tests/common/gltf.rs"]
mod gltf;

use gltf::Gltf;
use rand::{Rng, RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use raysieve::{
    device::render_scene::RenderScene,
    scene::{Image, LoadOptions, Scene},
};

/// Files to damage, one at a time. Models are read directly; meshes and images through a scene that names them.
const SEEDS: [&str; 25] = [
    "../tests/scenes/every_field.ron",
    "../tests/scenes/cornell_d8.ron",
    "../tests/scenes/instances.ron",
    "../tests/skies/window.hdr",
    "../scenes/spheres.ron",
    "../tests/meshes/pyramid_ascii.ply",
    "../tests/meshes/pyramid_little.ply",
    "../tests/meshes/pyramid_big.ply",
    "../tests/meshes/pyramid.obj",
    "tests/scenes_wrong/ply_index_negative.ron",
    "tests/scenes_wrong/index_negative.ply",
    "tests/models/strip.glb",
    "tests/models/strip_draco.glb",
    "tests/models/strip_draco_sequential.glb",
    "tests/models/strip_meshopt.glb",
    "tests/models/basis_etc1s.ktx2",
    "tests/models/basis_uastc.ktx2",
    "tests/imported/everything.xml",
    "tests/imported/everything.pbrt",
    "../tests/imported/mitsuba/blobs.serialized",
    "../tests/imported/mitsuba/bitmap.xml",
    "../tests/imported/mitsuba/lines.txt",
    "../tests/imported/mitsuba/spectra.xml",
    "../tests/imported/pbrt/checkerboard.pbrt",
    "../tests/imported/pbrt/instances.pbrt",
];

/// Returns the names and contents of further files to damage, generated here.
fn generated() -> Vec<(String, Vec<u8>)> {
    let obj = "mtllib case.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nvn 0 0 1\nvt 0 1\nusemtl red\ns 1\nf 1/1/1 2/1/1 3/1/1\n\
               usemtl lamp\nf -3 -2 -1\n";
    let mtl = "newmtl red\nKd 0.5 0.1 0.1\nKs xyz 0.4 0.5 0.6\nNs 40\nillum 2\nnewmtl lamp\nKe 3 2 1\nNi 1.5\nd 0.5\n";
    let ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
               property float nx\nproperty float ny\nproperty float nz\nproperty float s\nproperty float t\n\
               property uchar red\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n\
               0 0 0 0 0 1 0 0 9\n1 0 0 0 0 1 1 0 9\n0 1 0 0 0 1 0 1 9\n3 0 1 2\n";
    let position = "property float x\nproperty float y\nproperty float z\n";
    let faces = format!(
        "ply\nformat ascii 1.0\ncomment TextureFile case.png\nelement vertex 3\n{position}element face 2\n\
         property list uchar int vertex_indices\nproperty list uchar float texcoord\nproperty int texnumber\n\
         property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n\
         0 0 0\n1 0 0\n0 1 0\n3 0 1 2 6 0 0 1 0 0 1 0 9 8 7\n3 2 1 0 0 -1 9 8 7\n"
    );
    let strips = format!(
        "ply\rformat ascii 1.0\relement vertex 4\r{position}element tristrips 1\r\
         property list int int vertex_indices\rend_header\r0 0 0\r1 0 0\r0 1 0\r1 1 0\r8 0 1 2 3 -1 2 1 3\r"
    );
    let mut files = vec![
        ("everything.gltf".to_owned(), Gltf::everything().text()),
        ("everything.glb".to_owned(), Gltf::everything().glb()),
        ("model.obj".to_owned(), obj.into()),
        ("model.mtl".to_owned(), mtl.into()),
        ("model.ply".to_owned(), ply.into()),
        ("faces.ply".to_owned(), faces.into()),
        ("strips.ply".to_owned(), strips.replace('\n', "\r").into()),
    ];
    let floats = image::DynamicImage::from(image::Rgb32FImage::from_fn(8, 4, |x, y| {
        image::Rgb([x as f32 / 8.0, y as f32 / 3.0, 0.5])
    }));
    let bytes = image::DynamicImage::from(floats.to_rgb8());
    let words = image::DynamicImage::from(floats.to_luma_alpha16());
    for (name, image) in [
        ("floats.exr", &floats),
        ("floats.hdr", &floats),
        ("bytes.png", &bytes),
        ("words.png", &words),
        ("bytes.jpg", &bytes),
        ("bytes.webp", &bytes),
    ] {
        let mut encoded = io::Cursor::new(Vec::new());
        let format = image::ImageFormat::from_path(name).unwrap();
        image.write_to(&mut encoded, format).unwrap();
        files.push((name.to_owned(), encoded.into_inner()));
    }
    let texels: Vec<u8> = (0..32).flat_map(|at| [9, 7 * at, 99, 129]).collect();
    for (name, format, size) in [
        ("columns.hdr", "rgbe", "+X 8 +Y 4"),
        ("xyz.hdr", "xyze", "+Y 4 -X 8"),
    ] {
        let header = format!("#?RGBE\nFORMAT=32-bit_rle_{format}\n\n{size}\n");
        files.push((name.to_owned(), [header.as_bytes(), &texels].concat()));
    }
    let texels: Vec<u8> = (0..96).flat_map(|at| (at as f32).to_le_bytes()).collect();
    files.push((
        "color.pfm".to_owned(),
        [b"PF\n8 4\n-1.0\n", &texels[..]].concat(),
    ));
    files.extend(
        [("grey.exr", "Y"), ("named.exr", "a.RGB")]
            .map(|(name, channels)| (name.to_owned(), exr_of(channels))),
    );
    files
}

/// Returns an EXR file with one channel for each letter of `channels`.
fn exr_of(channels: &str) -> Vec<u8> {
    use exr::prelude::{AnyChannel, AnyChannels, FlatSamples, Image, SmallVec, WritableImage};
    let (prefix, letters) =
        channels.split_at(channels.len() - channels.matches(char::is_uppercase).count());
    let channel = |letter: char| {
        let samples = FlatSamples::F32((0..32).map(|at| at as f32 / 32.0).collect());
        AnyChannel::new(format!("{prefix}{letter}").as_str(), samples)
    };
    let list: SmallVec<[AnyChannel<FlatSamples>; 4]> = letters.chars().map(channel).collect();
    let mut file = io::Cursor::new(Vec::new());
    Image::from_channels((8, 4), AnyChannels::sort(list))
        .write()
        .to_buffered(&mut file)
        .unwrap();
    file.into_inner()
}

/// An OBJ file that names the damaged MTL file in its `mtllib`.
const OBJ: &str = "mtllib case.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nusemtl red\nf 1 2 3\n";

/// A scene that uses the image `IMAGE` as an environment map and as textures.
const IMAGES: &str = r#"(
    camera: (origin: (0, 0, 3), target: (0, 0, 0), fov: 40),
    lights: [Environment(file: "IMAGE")],
    materials: { "m": Principled(base_color: Texture(file: "IMAGE"), roughness: Texture(file: "IMAGE", channel: Green)) },
    objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: "m")],
)"#;

/// A Mitsuba scene that shows the damaged mesh.
const SERIALIZED: &str = r#"<scene><shape type="serialized">
    <string name="filename" value="case.serialized"/><integer name="shape_index" value="1"/>
</shape></scene>"#;

/// A Mitsuba scene that shows the damaged control points as both types of curves.
const CURVES: &str = r#"<scene>
    <shape type="bsplinecurve"><string name="filename" value="case.txt"/></shape>
    <shape type="linearcurve"><string name="filename" value="case.txt"/></shape>
</scene>"#;

/// Fragments that are inserted at random places, chosen because readers tend to mishandle them.
const FRAGMENTS: [&str; 16] = [
    "NaN",
    "-inf",
    "1e999",
    "-1",
    "0",
    "4294967295",
    "99999999999999999999",
    "(",
    "[",
    "{",
    "\"",
    "/*",
    ",",
    "\u{feff}",
    "Some(",
    "\n",
];

/// The damaged copies of a generated model would otherwise all be refused for one reason.
#[test]
fn undamaged_models_are_read() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scene_fuzz_undamaged");
    fs::create_dir_all(&folder).unwrap();
    for (name, bytes) in generated() {
        if name.starts_with("everything") {
            assert_eq!(read_case(&folder, &name, &bytes), Ok(()), "{name}");
        }
    }
}

#[test]
fn damaged_files_are_read_or_refused() {
    let cases: u32 = match std::env::var("RAYSIEVE_FUZZ_CASES") {
        Ok(cases) => cases.parse().expect("RAYSIEVE_FUZZ_CASES is a number"),
        Err(_) => 2000,
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scene_fuzz");
    fs::create_dir_all(&folder).unwrap();
    let seeds = seeds();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(20);
    let mut readable = 0;
    for case in 0..cases {
        let (path, original) = &seeds[case as usize % seeds.len()];
        let damaged = damage(original, &mut random);
        fs::write(folder.join("last"), &damaged).unwrap();
        let (read, mut time) = timed(|| read_case(&folder, path, &damaged));
        match read {
            Ok(()) => readable += 1,
            Err(error) => assert!(
                !error.contains(char::is_control),
                "case {case} of {path}: {error:?}"
            ),
        }
        // Other work on the machine makes processor time grow as well, but not each time.
        for _ in 0..4 {
            if time > MAX_TIME {
                time = time.min(timed(|| read_case(&folder, path, &damaged)).1);
            }
        }
        assert!(time <= MAX_TIME, "case {case} of {path} took {time:?}");
    }
    // Otherwise the damage is too small, or so large that only the first bytes are tested.
    assert!(
        readable > cases / 100 && readable < cases * 3 / 4,
        "{readable} of {cases} could be read"
    );
    if let Some(peak) = peak_memory() {
        assert!(peak < 2 << 30, "took {peak} bytes");
    }
}

/// Writes the initial corpora of `cargo fuzz`, one folder per target; run it with `cargo test --test scene_fuzz --
/// --ignored`.
#[test]
#[ignore = "writes fuzz/corpus"]
fn corpora_are_written() {
    for kind in [
        "curves",
        "exr",
        "glb",
        "gltf",
        "hdr",
        "image",
        "mtl",
        "obj",
        "pbrt",
        "ply",
        "ron",
        "serialized",
        "xml",
    ] {
        let corpus = Path::new("../fuzz/corpus").join(kind);
        fs::create_dir_all(&corpus).unwrap();
        let mut files = seeds();
        for folder in [
            "../scenes",
            "../tests/meshes",
            "tests/imported",
            "tests/models",
            "../tests/imported/mitsuba",
            "../tests/imported/pbrt",
            "../tests/reference",
            "../tests/scenes",
            "tests/scenes_wrong",
            "../tests/skies",
        ] {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_file() {
                    files.push((path.display().to_string(), fs::read(path).unwrap()));
                }
            }
        }
        let endings = match kind {
            "image" => vec!["png", "jpg", "webp", "ktx2", "hdr", "exr", "pfm"],
            "curves" => vec!["txt"],
            _ => vec![kind],
        };
        files.retain(|(path, bytes)| {
            let named = endings
                .iter()
                .any(|ending| path.ends_with(&format!(".{ending}")));
            named && bytes.len() < 1 << 15
        });
        assert!(!files.is_empty(), "{kind}");
        for (path, bytes) in files {
            fs::write(corpus.join(path.replace('/', "_")), bytes).unwrap();
        }
    }
}

fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = generated();
    seeds.extend(SEEDS.map(|path| (path.to_owned(), fs::read(path).expect(path))));
    seeds
}

/// Returns a copy of a file with a few random changes.
fn damage(original: &[u8], random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..random.random_range(1..4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.random_range(0..bytes.len());
        match random.next_u32() % 6 {
            0 => bytes.truncate(at),
            1 => bytes[at] = random.random(),
            2 => bytes[at] ^= 1 << random.random_range(0..8),
            3 => {
                let fragment = FRAGMENTS[random.random_range(0..FRAGMENTS.len())];
                bytes.splice(at..at, fragment.bytes());
            }
            // The new number has as many digits, so that lengths stored in the file stay valid.
            4 => {
                let digit = (at..bytes.len()).find(|&at| bytes[at].is_ascii_digit());
                if let Some(at) = digit {
                    bytes[at] = b"0123456789-"[random.random_range(0..11)];
                }
            }
            _ => {
                let end = (at + random.random_range(1..40)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
    }
    bytes
}

/// Reads a damaged file in every way that its type allows; `original` names the file it was made from.
fn read_case(folder: &Path, original: &str, damaged: &[u8]) -> Result<(), String> {
    let kind = original.rsplit('.').next().unwrap();
    let case = folder.join(format!("case.{kind}"));
    let read = |path: &Path| Scene::load(path).map_err(|error| error.to_string());
    fs::write(&case, damaged).unwrap();
    if image::ImageFormat::from_extension(kind).is_some() || kind == "ktx2" {
        // Also as a height map.
        let library = format!("newmtl red\nmap_Bump case.{kind}\n");
        fs::write(folder.join("case.mtl"), library).unwrap();
        fs::write(folder.join("case.obj"), OBJ).unwrap();
        read(&folder.join("case.obj"))?;
        let scene = folder.join("case.ron");
        fs::write(&scene, IMAGES.replace("IMAGE", &format!("case.{kind}"))).unwrap();
        let small = Image::decode(damaged).is_ok_and(|image| image.width * image.height < 1 << 16);
        let scene = read(&scene)?;
        return if small {
            RenderScene::new(&scene)
                .map(drop)
                .map_err(|error| error.to_string())
        } else {
            Ok(())
        };
    }
    if kind == "mtl" {
        let obj = folder.join("case.obj");
        fs::write(&obj, OBJ).unwrap();
        return read(&obj).map(|_| ());
    }
    if let "serialized" | "txt" = kind {
        let scene = folder.join("case.xml");
        let text = if kind == "txt" { CURVES } else { SERIALIZED };
        fs::write(&scene, text).unwrap();
        return read(&scene).map(|_| ());
    }
    if original.contains("pyramid") || original.contains("index") {
        let scene = folder.join("case.ron");
        let text = fs::read_to_string("../tests/scenes/mesh_file.ron").unwrap();
        let name = format!("case.{kind}");
        fs::write(&scene, text.replace("../meshes/pyramid_ascii.ply", &name)).unwrap();
        read(&scene)?;
    }
    if ["glb", "gltf"].contains(&kind) {
        let options = LoadOptions {
            variant: Some("red".to_owned()),
            camera: Some("1".to_owned()),
            time: Some(0.4),
            ..LoadOptions::default()
        };
        Scene::load_with(&case, &options).map_err(|error| error.to_string())?;
    }
    read(&case).map(|_| ())
}

/// Longest processor time for a damaged file, of a program that is not optimised.
const MAX_TIME: Duration = Duration::from_secs(1);

/// Returns what the function returns and the processor time that it took, which is 0 where the system does not report it.
fn timed<T>(function: impl FnOnce() -> T) -> (T, Duration) {
    let before = processor_time();
    let result = function();
    let time = processor_time()
        .zip(before)
        .map(|(after, before)| after.saturating_sub(before));
    (result, time.unwrap_or_default())
}

/// Returns the processor time of this process, in steps of 10 ms, or `None` where the system does not report it.
fn processor_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program may contain spaces.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks: Option<u64> = ticks.map(|ticks| ticks.parse::<u64>().ok()).sum();
    Some(Duration::from_millis(10 * ticks?))
}

/// Returns the peak memory of this process in bytes, or `None` where the system does not report it.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
