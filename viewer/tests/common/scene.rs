//! The scene of the tests with a window or a page.

/// Expands to the text of a scene of this size, such as `"(160, 120)"`. It is lit from all sides, so that few samples
/// suffice.
macro_rules! scene_of_size {
    ($size:literal) => {
        concat!(
            "(\n    size: ",
            $size,
            r#", spp: 4, max_bounces: 2,
    camera: (origin: (0, 1, 5), target: (0, 0.5, 0), fov: 40),
    sky: (0.4, 0.5, 0.6),
    materials: {
        "red": Diffuse(albedo: (0.7, 0.2, 0.1)),
        "white": Diffuse(albedo: (0.7, 0.7, 0.7)),
    },
    objects: [
        Sphere(center: (-0.6, 0.8, 0), radius: 0.8, material: "red"),
        Box(center: (1, 0.4, 0), half_size: (0.3, 0.4, 0.3), rotate_y: 20, material: "white"),
        Quad(corner: (-3, 0, 3), edge_u: (6, 0, 0), edge_v: (0, 0, -6), material: "white"),
    ],
)"#
        )
    };
}
pub(crate) use scene_of_size;
