//! Renders the pictures of `docs/materials` for the reference of the scene format, all or those with the given names:
//! `cargo run --release --example material_pictures [NAME ..]`.

use std::{env, error::Error, fs, path::Path};

use image::{ExtendedColorType, codecs::jpeg::JpegEncoder};
use raysieve::{
    film::picture::tone,
    render::renderer::{BackendChoice, Renderer, Settings},
    scene::Scene,
};

/// Width and height of the pictures in pixels.
const SIZE: (u32, u32) = (240, 180);
/// Samples per pixel.
const SAMPLES: u32 = 512;
/// Quality of the JPEG files, 1 to 100.
const QUALITY: u8 = 85;

/// Returns the scene: a ball of the material on a striped ground, in the light of a studio.
fn scene_text(material: &str) -> String {
    let stripe = |number: i32| {
        let (corner, color) = (
            number as f32 * 0.5 - 6.0,
            ["ground", "stripe"][number as usize % 2],
        );
        format!(
            "Quad(corner: ({corner}, 0, 6), edge_u: (0.5, 0, 0), edge_v: (0, 0, -12), material: \"{color}\"),"
        )
    };
    let stripes: String = (0..24).map(stripe).collect();
    let (width, height) = SIZE;
    format!(
        r#"(
            size: ({width}, {height}), spp: {SAMPLES}, max_bounces: 16, tone: Neutral,
            camera: (origin: (2.2, 2.4, 4.4), target: (0, 0.93, 0), fov: 33),
            lights: [Studio(azimuth: 25, scale: 1.3)],
            materials: {{
                "ground": Diffuse(albedo: (0.6, 0.6, 0.58)),
                "stripe": Diffuse(albedo: (0.25, 0.26, 0.28)),
                "gold": Conductor(preset: "gold"),
                "shown": {material},
            }},
            objects: [Sphere(center: (0, 1, 0), radius: 1, material: "shown"), {stripes}],
        )"#
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/materials");
    let wanted: Vec<String> = env::args().skip(1).collect();
    let settings = Settings {
        backend: BackendChoice::Auto,
        ..Settings::default()
    };
    for line in fs::read_to_string(folder.join("materials.txt"))?.lines() {
        let (name, material) = line.split_once(": ").ok_or("expected `NAME: MATERIAL`")?;
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        let scene = Scene::parse(&folder.join("materials.txt"), &scene_text(material))?;
        let mut renderer = Renderer::new(&scene, &settings)?;
        while renderer.advance()? {}
        let picture = renderer.picture()?;
        let rgba = tone::to_srgb8(&picture, scene.exposure_stops, scene.tone);
        let rgb: Vec<u8> = rgba
            .chunks(4)
            .flat_map(|pixel| pixel[..3].to_vec())
            .collect();
        let mut file = Vec::new();
        let mut encoder = JpegEncoder::new_with_quality(&mut file, QUALITY);
        encoder.encode(&rgb, picture.width, picture.height, ExtendedColorType::Rgb8)?;
        fs::write(folder.join(format!("{name}.jpg")), &file)?;
        println!("{name}.jpg: {} bytes", file.len());
    }
    Ok(())
}
