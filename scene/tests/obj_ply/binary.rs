//! Binary PLY files, whose usual layouts have a reader of their own.

use std::{fs, panic};

use raysieve::scene::{LoadProgress, Scene};

use crate::{folder, load};

/// Number of vertices along an edge of the grid that the tests write.
const SIDE: u32 = 40;

/// Numbers of a file in one encoding.
struct Writer {
    bytes: Vec<u8>,
    encoding: &'static str,
}

impl Writer {
    /// Writes a number as text, or the bytes of its little-endian form in the order of the encoding.
    fn put<const N: usize>(&mut self, text: &str, mut little_endian: [u8; N]) {
        match self.encoding {
            "ascii" => self.bytes.extend(format!("{text} ").bytes()),
            "binary_big_endian" => {
                little_endian.reverse();
                self.bytes.extend(little_endian);
            }
            _ => self.bytes.extend(little_endian),
        }
    }

    fn end_line(&mut self) {
        if self.encoding == "ascii" {
            self.bytes.push(b'\n');
        }
    }
}

/// Returns a grid of squares, each of two triangles or one quad, with properties of all types before and after those
/// that matter.
fn grid(encoding: &'static str, quads: bool) -> Vec<u8> {
    let squares = (SIDE - 1) * (SIDE - 1);
    let faces = if quads { squares } else { 2 * squares };
    let header = format!(
        "ply\nformat {encoding} 1.0\nelement vertex {}\nproperty uchar flag\nproperty float x\nproperty double y\n\
         property short z\nproperty float nx\nproperty float ny\nproperty float nz\nproperty uchar red\n\
         property uchar green\nproperty ushort blue\nproperty int label\nelement face {faces}\nproperty char mark\n\
         property list uchar uint vertex_indices\nproperty double quality\nend_header\n",
        SIDE * SIDE
    );
    let mut writer = Writer {
        bytes: header.into_bytes(),
        encoding,
    };
    for number in 0..SIDE * SIDE {
        let (x, y) = ((number % SIDE) as f32 / 8.0, f64::from(number / SIDE) / 3.0);
        let z = (number % 7) as i16 - 3;
        let (red, blue) = ((number % 251) as u8, (number * 29) as u16);
        writer.put("1", [1]);
        writer.put(&x.to_string(), x.to_le_bytes());
        writer.put(&y.to_string(), y.to_le_bytes());
        writer.put(&z.to_string(), z.to_le_bytes());
        for axis in [0.25_f32, -0.5, 1.0] {
            writer.put(&axis.to_string(), axis.to_le_bytes());
        }
        writer.put(&red.to_string(), [red]);
        writer.put("200", [200]);
        writer.put(&blue.to_string(), blue.to_le_bytes());
        writer.put("-7", (-7_i32).to_le_bytes());
        writer.end_line();
    }
    let mut face = |corners: &[u32]| {
        writer.put("-1", (-1_i8).to_le_bytes());
        writer.put(&corners.len().to_string(), [corners.len() as u8]);
        for corner in corners {
            writer.put(&corner.to_string(), corner.to_le_bytes());
        }
        writer.put("0.5", 0.5_f64.to_le_bytes());
        writer.end_line();
    };
    for square in 0..squares {
        let corner = square / (SIDE - 1) * SIDE + square % (SIDE - 1);
        let [a, b, c, d] = [corner, corner + 1, corner + 1 + SIDE, corner + SIDE];
        if quads {
            face(&[a, b, c, d]);
        } else {
            face(&[a, b, c]);
            face(&[a, c, d]);
        }
    }
    writer.bytes
}

#[test]
fn encodings_of_a_ply_file_give_the_same_scene() {
    let path = folder("encodings").join("grid.ply");
    for quads in [false, true] {
        let of = |encoding| {
            fs::write(&path, grid(encoding, quads)).unwrap();
            load(&path)
        };
        let text = of("ascii");
        assert_eq!(text.meshes.len(), 1);
        assert!(!text.meshes[0].normals.is_empty() && !text.images.is_empty());
        assert_eq!(
            text.meshes[0].triangles.len() as u32,
            2 * (SIDE - 1) * (SIDE - 1)
        );
        for encoding in ["binary_little_endian", "binary_big_endian"] {
            let scene = of(encoding);
            assert_eq!(scene.meshes, text.meshes, "{encoding}");
            assert_eq!(scene.images, text.images, "{encoding}: the colors differ");
        }
    }
}

#[test]
fn cut_off_binary_file_is_reported_with_the_number_of_elements() {
    let path = folder("cut off").join("grid.ply");
    let whole = grid("binary_little_endian", false);
    let faces = 2 * (SIDE - 1) * (SIDE - 1);
    // A face has 22 bytes.
    for (missing, left) in [
        (1, faces - 1),
        (22, faces - 1),
        (23, faces - 2),
        (30, faces - 2),
    ] {
        fs::write(&path, &whole[..whole.len() - missing]).unwrap();
        let error = Scene::load(&path).unwrap_err().to_string();
        let expected =
            format!("ends after {left} of the {faces} elements `face` that its header declares");
        assert!(error.ends_with(&expected), "{error}");
    }
}

#[test]
fn progress_of_a_file_is_reported_while_it_is_read() {
    let path = folder("progress").join("grid.ply");
    fs::write(&path, grid("binary_little_endian", false)).unwrap();
    let progress = LoadProgress::default();
    assert_eq!(progress.file(), None);
    progress.watch(|| Scene::load(&path)).unwrap();
    assert_eq!(progress.file(), Some(("grid.ply".to_owned(), 1.0)));
}

#[test]
fn files_read_after_a_panic_are_not_reported() {
    let path = folder("progress_after_panic").join("grid.ply");
    fs::write(&path, grid("binary_little_endian", false)).unwrap();
    let progress = LoadProgress::default();
    let failed = panic::catch_unwind(|| progress.watch(|| panic!("expected by this test")));
    assert!(failed.is_err());
    Scene::load(&path).unwrap();
    assert_eq!(progress.file(), None);
}
