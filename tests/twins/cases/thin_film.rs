//! Cases of thin films.

use glam::Vec3;
use raysieve::shading::thin_film::{damped_cosine, film_channel, film_reflectance, interference};

use super::{Case, twin};

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!("thin_film", "damped_cosine", |turns: f32, damping: f32| {
            damped_cosine(turns, damping)
        }),
        twin!("thin_film", "interference", |path: f32| interference(path)),
        twin!(
            (
                "thin_film",
                "film_channel",
                "+[](f32 front, f32 ior, f32 cos_inside, f32 base, f32 once, f32 twice) {
                    return film_channel(front, ior, cos_inside, base, {once, twice});
                }"
            ),
            |inputs| {
                let (front, ior, cos_inside) = (inputs.draw(), inputs.draw(), inputs.draw());
                (
                    front,
                    ior,
                    cos_inside,
                    inputs.draw(),
                    inputs.draw(),
                    inputs.draw(),
                )
            },
            |front: f32, ior: f32, cos_inside: f32, base: f32, once: f32, twice: f32| film_channel(
                front,
                ior,
                cos_inside,
                base,
                (once, twice)
            )
        ),
        twin!(
            "thin_film",
            "film_reflectance",
            |cosine: f32, ior: f32, thickness: f32, base: Vec3| film_reflectance(
                cosine, ior, thickness, base
            )
        ),
    ]
}
