//! Damaged scenes and meshes are read or refused: no panic, no hang, no memory beyond what the file can mean.
//!
//! `RAYSIEVE_FUZZ_CASES=1000000 cargo test --test scene_fuzz` damages that many instead.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use raysieve::scene::Scene;

/// Each is damaged alone and read; a mesh through a scene that names it.
const SEEDS: [&str; 9] = [
    "tests/scenes/every_field.ron",
    "tests/scenes/cornell_d8.ron",
    "scenes/spheres.ron",
    "tests/meshes/pyramid_ascii.ply",
    "tests/meshes/pyramid_little.ply",
    "tests/meshes/pyramid_big.ply",
    "tests/meshes/pyramid.obj",
    "tests/scenes_wrong/ply_index_negative.ron",
    "tests/scenes_wrong/index_negative.ply",
];

/// What a reader may trip over, put in anywhere.
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

#[test]
fn damaged_files_are_read_or_refused() {
    let cases: u32 = match std::env::var("RAYSIEVE_FUZZ_CASES") {
        Ok(cases) => cases.parse().expect("RAYSIEVE_FUZZ_CASES is a number"),
        Err(_) => 1500,
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scene_fuzz");
    fs::create_dir_all(&folder).unwrap();
    let seeds = SEEDS.map(|path| (path, fs::read(path).expect(path)));
    let mut random = StdRng::seed_from_u64(20);
    let mut readable = 0;
    for case in 0..cases {
        let (path, original) = &seeds[case as usize % seeds.len()];
        let damaged = damage(original, &mut random);
        let scene = write_case(&folder, path, &damaged);
        let start = Instant::now();
        match Scene::load(&scene) {
            Ok(_) => readable += 1,
            Err(error) => assert_eq!(
                error.to_string().lines().count(),
                1,
                "case {case} of {path}: {error}"
            ),
        }
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "case {case} of {path} took {:?}",
            start.elapsed()
        );
    }
    // Else the damage is too small, or so large that only the first byte is tested.
    assert!(
        readable > cases / 100 && readable < cases / 2,
        "{readable} of {cases} could be read"
    );
    if let Some(peak) = peak_memory() {
        assert!(peak < 2 << 30, "took {peak} bytes");
    }
}

fn damage(original: &[u8], random: &mut StdRng) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..random.random_range(1..4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.random_range(0..bytes.len());
        match random.next_u32() % 5 {
            0 => bytes.truncate(at),
            1 => bytes[at] = random.random(),
            2 => bytes[at] ^= 1 << random.random_range(0..8),
            3 => {
                let fragment = FRAGMENTS[random.random_range(0..FRAGMENTS.len())];
                bytes.splice(at..at, fragment.bytes());
            }
            _ => {
                let end = (at + random.random_range(1..40)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
    }
    bytes
}

/// Writes the damaged file, and for a mesh the scene that reads it, which it returns.
fn write_case(folder: &Path, original: &str, damaged: &[u8]) -> std::path::PathBuf {
    let scene = folder.join("case.ron");
    if original.ends_with(".ron") {
        fs::write(&scene, damaged).unwrap();
    } else {
        let name = format!("case.{}", original.rsplit('.').next().unwrap());
        fs::write(folder.join(&name), damaged).unwrap();
        let text = fs::read_to_string("tests/scenes/mesh_file.ron").unwrap();
        fs::write(&scene, text.replace("../meshes/pyramid_ascii.ply", &name)).unwrap();
    }
    scene
}

/// The most that this process held, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
