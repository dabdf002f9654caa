//! Shows values on a mesh as colors: the height of a wave, from blue to red. Writes `heatmap.png`.

use raysieve::{
    Camera, Error, Renderer, Scene, Settings,
    glam::Vec3,
    scene::{NewMesh, Surface},
};

/// Vertices along each side of the grid.
const SIDE: u32 = 200;

fn main() -> Result<(), Error> {
    let at = |index: u32| {
        let [x, z] = [index % SIDE, index / SIDE].map(|n| 8.0 * n as f32 / SIDE as f32 - 4.0);
        let distance = 3.0 * (x * x + z * z).sqrt();
        Vec3::new(x, 1.5 * distance.sin() / (1.0 + distance), z)
    };
    let positions: Vec<Vec3> = (0..SIDE * SIDE).map(at).collect();
    let heat = |at: &Vec3| {
        let value = (at.y / 0.6 + 0.5).clamp(0.0, 1.0);
        Vec3::new(value, 0.3 * (1.0 - (2.0 * value - 1.0).abs()), 1.0 - value)
    };
    let cells = (0..SIDE * (SIDE - 1)).filter(|index| index % SIDE < SIDE - 1);
    let mesh = NewMesh {
        colors: positions.iter().map(heat).collect(),
        triangles: cells
            .flat_map(|i| [[i, i + SIDE, i + 1], [i + 1, i + SIDE, i + SIDE + 1]])
            .collect(),
        positions,
        ..NewMesh::default()
    };
    let mut scene = Scene::new(Camera::look_at(Vec3::new(4.0, 4.5, 7.0), Vec3::ZERO, 42.0));
    (scene.size, scene.sky) = ((480, 320), Vec3::ONE);
    let matte = scene.add_material("matte", Surface::diffuse(Vec3::splat(0.9)));
    scene.add_mesh(mesh, matte)?;
    let mut renderer = Renderer::new(&scene, &Settings::default())?;
    renderer.render_to(64, |_| {})?;
    renderer.save("heatmap.png")
}
