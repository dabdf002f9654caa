//! Builds a scene in code: a ball of gold and one of glass on a clay floor, under a lamp. Writes `build_scene.png`.

use raysieve::{
    Camera, Error, Renderer, Scene, Settings,
    glam::{Affine3A, Vec3},
    scene::{NewMesh, Surface, Tone},
};

fn main() -> Result<(), Error> {
    let eye = Vec3::new(0.0, 1.6, 6.0);
    let mut scene = Scene::new(Camera::look_at(eye, Vec3::new(0.0, 0.7, 0.0), 38.0));
    (scene.size, scene.tone, scene.sky) = ((480, 320), Tone::AgX, Vec3::splat(0.3));
    let clay = scene.add_material("clay", Surface::diffuse(Vec3::new(0.6, 0.4, 0.3)));
    let gold = scene.add_material("gold", Surface::metal(Vec3::new(1.0, 0.78, 0.34), 0.1));
    let glass = scene.add_material("glass", Surface::glass(1.5));
    let lamp = scene.add_material("lamp", Surface::emissive(Vec3::splat(12.0)));
    let square = |transform| NewMesh {
        positions: vec![Vec3::ZERO, Vec3::X, Vec3::X - Vec3::Z, Vec3::NEG_Z],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        transform,
        ..NewMesh::default()
    };
    let floor = Affine3A::from_translation(Vec3::new(-10.0, 0.0, 10.0))
        * Affine3A::from_scale(Vec3::splat(20.0));
    scene.add_mesh(square(floor), clay)?;
    // Turned upside down, so that its front shines on the floor.
    let above = Affine3A::from_translation(Vec3::new(-1.0, 4.0, -1.0))
        * Affine3A::from_scale(Vec3::new(2.0, -1.0, -2.0));
    scene.add_mesh(square(above), lamp)?;
    scene.add_sphere(Vec3::new(-0.9, 0.8, 0.0), 0.8, gold);
    scene.add_sphere(Vec3::new(0.9, 0.8, 0.3), 0.8, glass);
    let mut renderer = Renderer::new(&scene, &Settings::default())?;
    renderer.render_to(256, |done| eprint!("\r{:.0} %", 100.0 * done))?;
    renderer.save("build_scene.png")
}
