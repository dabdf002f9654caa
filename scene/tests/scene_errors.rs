//! Tests the scene reader's error messages: every wrong scene is refused with one line that names the place and the
//! cause.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use raysieve_scene::{Error, Scene, Surface};

const FOLDER: &str = "tests/scenes_wrong";

/// Returns the names, without extension, of all files in [`FOLDER`] that have this extension.
fn stems(extension: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(FOLDER).expect(FOLDER);
    let paths = entries.map(|entry| entry.expect(FOLDER).path());
    let with_extension =
        paths.filter(|path| path.extension().is_some_and(|found| found == extension));
    with_extension
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

/// Returns the path of a temporary file of this test program.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scene_errors");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// Returns the one-line message with which a scene is refused.
fn message(path: &Path) -> String {
    let error = Scene::load(path).expect_err(&path.display().to_string());
    assert!(!matches!(error, Error::Write { .. }));
    let text = error.to_string();
    assert!(!text.contains(char::is_control), "not one line: {text:?}");
    text
}

#[test]
fn every_wrong_scene_gives_its_expected_message() {
    let scenes = stems("ron");
    assert_eq!(
        scenes,
        stems("expected"),
        "each .ron file needs an .expected file, and each .expected file a .ron file"
    );
    assert!(
        scenes.len() >= 100,
        "only {} wrong scenes are left",
        scenes.len()
    );
    let mut wrong = String::new();
    for name in &scenes {
        let expected = fs::read_to_string(format!("{FOLDER}/{name}.expected")).unwrap();
        let found = message(Path::new(&format!("{FOLDER}/{name}.ron")));
        if found != expected.trim_end() {
            wrong += &format!(
                "{name}\n  expected: {}\n  found:    {found}\n",
                expected.trim_end()
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The transforms of these instances would fit into memory, but not with the acceleration structure over them, which
/// the check includes.
#[test]
#[cfg(target_os = "linux")]
fn instances_that_do_not_fit_into_memory_are_refused_at_once() {
    let memory = fs::read_to_string("/proc/meminfo").unwrap();
    let line = memory.lines().find(|line| line.starts_with("MemAvailable"));
    let kilobytes: u64 = line
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let count = (kilobytes * 1024 / 150).min(1 << 31);
    let path = scratch("places.ron");
    let of = "DisplacedSphere(rings: 4, segments: 6, material: \"m\")";
    for places in [
        format!("scatter: (count: {count}, from: (0, 0, 0), to: (1, 1, 1))"),
        format!("grid: (count: ({count}, 1, 1), spacing: (0, 0, 0))"),
    ] {
        let text = format!(
            "(camera: (origin: (0, 0, 3), target: (0, 0, 0), fov: 40), materials: {{ \"m\": Diffuse(albedo: \
             (1, 1, 1)) }}, objects: [Instances(of: {of}, {places})])"
        );
        fs::write(&path, text).unwrap();
        let before = peak_memory();
        let found = message(&path);
        assert!(
            found.contains("object 1 (Instances): is too large for memory: needs "),
            "{found}"
        );
        // It is refused before the instances are created.
        let grown = peak_memory().saturating_sub(before);
        assert!(grown < 256 << 20, "{grown} bytes more");
    }
}

#[test]
fn a_missing_scene_and_one_that_is_no_ron_file_are_refused() {
    for (path, problem) in [
        ("tests/scenes_wrong", "is a folder; expected a .ron file"),
        ("tests/nowhere.ron", "does not exist; check the path"),
        (
            "Cargo.toml",
            "expected a scene (.ron, Mitsuba's .xml or .pbrt), or a model: .glb, .gltf, .obj or .ply",
        ),
    ] {
        assert_eq!(message(Path::new(path)), format!("{path}: {problem}"));
    }
}

#[test]
fn line_breaks_in_a_path_are_escaped() {
    assert_eq!(
        message(Path::new("a\nb.ron")),
        "a\\nb.ron: does not exist; check the path"
    );
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_not_opened() {
    let pipe = scratch("pipe.ron");
    let _ = fs::remove_file(&pipe);
    let made = Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: no mkfifo");
        return;
    }
    assert!(message(&pipe).ends_with("is not a regular file; expected a .ron file"));
    let device = scratch("device.ply");
    let _ = fs::remove_file(&device);
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    let scene = scratch("device.ron");
    write_mesh_scene(&scene, "device.ply");
    assert!(
        message(&scene)
            .ends_with("device.ply: is not a regular file; expected a .ply or .obj file")
    );
}

#[cfg(unix)]
#[test]
fn an_unreadable_scene_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let path = scratch("unreadable.ron");
    fs::write(&path, "()").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&path).is_ok() {
        println!("skipped: this user may read everything");
        return;
    }
    assert!(message(&path).ends_with("cannot be read: permission denied; check its permissions"));
}

#[test]
fn a_scene_of_more_than_16_mebibytes_is_refused() {
    let path = scratch("huge.ron");
    fs::File::create(&path)
        .unwrap()
        .set_len((16 << 20) + 1)
        .unwrap();
    assert!(
        message(&path)
            .ends_with("is larger than 16 MiB; move large geometry into a PLY or OBJ file")
    );
}

#[test]
fn a_mesh_with_an_endless_line_is_refused() {
    let scene = scratch("endless_line.ron");
    for name in ["endless_line.obj", "endless_line.ply"] {
        let mut text = if name.ends_with("ply") {
            "ply\n".to_owned()
        } else {
            String::new()
        };
        text += &"v ".repeat(1 << 22);
        fs::write(scratch(name), text).unwrap();
        write_mesh_scene(&scene, name);
        let found = message(&scene);
        assert!(
            found.contains("longer than 4194304 bytes") || found.contains("no line `end_header`"),
            "{found}"
        );
    }
}

#[test]
fn changed_settings_are_checked_again() {
    let mut scene = Scene::load(Path::new("../tests/scenes/furnace_diffuse.ron")).unwrap();
    assert!(scene.check_settings().is_ok());
    let problem = |scene: &Scene| {
        scene
            .check_settings()
            .map_err(|error: Error| error.to_string())
            .unwrap_err()
    };
    scene.size = (0, 5);
    assert_eq!(problem(&scene), "size 0x5: must be at least 1x1 pixel");
    scene.size = (5, 70000);
    assert!(problem(&scene).starts_with("size 5x70000: is too large"));
    scene.size = (5, 5);
    scene.spp = 0;
    assert_eq!(problem(&scene), "spp 0: must be at least 1");
    scene.spp = 1 << 31;
    assert!(
        problem(&scene).starts_with("spp 2147483648: a radiance of 1 is too bright for the film")
    );
    scene.spp = 1 << 30;
    assert!(scene.check_settings().is_ok());
    scene.materials.push(Surface::Emissive {
        radiance: [0.0, 2.0, 0.0].into(),
        albedo: [0.0; 3].into(),
        one_sided: true,
        both_sides: false,
    });
    assert!(problem(&scene).starts_with("spp 1073741824: a radiance of 2 is too bright"));
    scene.spp = 1;
    scene.max_bounces = 4097;
    assert_eq!(problem(&scene), "max_bounces 4097: must be at most 4096");
    scene.max_bounces = 4096;
    scene.roulette = 4097;
    assert_eq!(problem(&scene), "roulette 4097: must be at most 4096");
}

/// Writes a scene at `path` that shows the mesh file `mesh`, named relative to the scene's folder.
fn write_mesh_scene(path: &Path, mesh: &str) {
    let text = fs::read_to_string("../tests/scenes/mesh_file.ron").unwrap();
    fs::write(path, text.replace("../meshes/pyramid_ascii.ply", mesh)).unwrap();
}

/// Returns the peak memory of this process in bytes; 0 where the system does not report it.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes =
        line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
