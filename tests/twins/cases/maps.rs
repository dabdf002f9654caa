//! Textures of materials.

use glam::Vec3;
use raysieve::{
    maps::{
        Imagery, Maps, bent_normal, cut, emission_at, map_at, material_at, part_of, scaled, shining,
    },
    material::Material,
    primitive::Surface,
    texture::{Texel, Texture},
};

use super::{
    Case,
    texture::{drawn_texture, texels, with_texels},
    twin,
};
use crate::inputs::Inputs;

/// Textures of a material, each one of two or none.
fn drawn_maps(inputs: &mut Inputs) -> (Maps, [Texture; 2], Material, Surface) {
    let maps = Maps {
        emission: inputs.draw(),
        bend: inputs.draw(),
        of: std::array::from_fn(|_| inputs.below(8) as u32),
        used: inputs.below(1 << 12) as u32,
        opacity: inputs.draw(),
        cutoff: inputs.draw(),
        coat_bend: inputs.draw(),
    };
    let material = Material {
        maps: 0,
        ..inputs.draw()
    };
    let textures = [drawn_texture(inputs), drawn_texture(inputs)];
    (maps, textures, material, inputs.draw())
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!("maps", "scaled", |color: Vec3, by: Vec3| scaled(color, by)),
        twin!("maps", "shining", |radiance: Vec3, by: Vec3| shining(
            radiance, by
        )),
        twin!(
            (
                "maps",
                "map_at",
                with_texels!(
                    "Texture texture, Surface surface",
                    "map_at({nullptr, &texture, texels}, 3, surface)"
                )
            ),
            |inputs| (drawn_texture(inputs), inputs.draw()),
            |texture: Texture, surface: Surface| {
                let imagery = Imagery {
                    maps: &[],
                    textures: &[texture],
                    texels: texels(),
                };
                map_at(&imagery, 3, &surface)
            }
        ),
        twin!(
            ("maps", "part_of", "part_of"),
            |inputs| (inputs.draw(), inputs.below(4) as u32),
            |value: Texel, channel: u32| part_of(value, channel)
        ),
        twin!(
            ("maps", "cut", "cut"),
            |inputs| (drawn_maps(inputs).0, inputs.draw()),
            |maps: Maps, opacity: f32| cut(&maps, opacity)
        ),
        twin!(
            "maps",
            "bent_normal",
            |surface: Surface, normal: Vec3, value: Vec3, bend: f32| bent_normal(
                &surface, normal, value, bend
            )
        ),
        twin!(
            (
                "maps",
                "material_at",
                with_texels!(
                    "Maps maps, calls::Several<Texture, 2> textures, Material material, Surface surface",
                    "[&] {
                        struct All { Material here; Vec3 shading; Vec3 coat; u32 zero[2]; };
                        Material here = material_at({&maps, textures.items, texels}, material, surface);
                        return All{here, surface.shading, surface.coat, {0, 0}};
                    }()"
                )
            ),
            drawn_maps,
            |maps: Maps, textures: [Texture; 2], material: Material, surface: Surface| {
                let imagery = Imagery {
                    maps: &[maps],
                    textures: &textures,
                    texels: texels(),
                };
                let mut surface = surface;
                let here = material_at(&imagery, &material, &mut surface);
                (here, surface.shading, surface.coat, [0_u32; 2])
            }
        ),
        twin!(
            (
                "maps",
                "emission_at",
                with_texels!(
                    "Maps maps, calls::Several<Texture, 2> textures, Material material, Surface surface",
                    "emission_at({&maps, textures.items, texels}, material, surface)"
                )
            ),
            drawn_maps,
            |maps: Maps, textures: [Texture; 2], material: Material, surface: Surface| {
                let imagery = Imagery {
                    maps: &[maps],
                    textures: &textures,
                    texels: texels(),
                };
                emission_at(&imagery, &material, &surface)
            }
        ),
    ]
}
