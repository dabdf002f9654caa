//! Cases of textured materials.

use glam::Vec3;
use raysieve::{
    accel::primitive::Surface,
    shading::{
        material::Material,
        material_textures::{
            MaterialTextures, TextureAtlas, apply_cutoff, apply_extended_map, bent_normal,
            channel_value, emission_at, map_at, material_at, roughness_factor, scale_color,
            scale_radiance,
        },
        texture::{Texel, Texture},
    },
};

use super::{
    Case,
    texture::{drawn_texture, texels, with_texels},
    twin,
};
use crate::inputs::Inputs;

/// Returns the textures of a material, each parameter with one of two textures or none, and where to apply them.
fn drawn_maps(inputs: &mut Inputs) -> (MaterialTextures, [Texture; 2], Material, Surface) {
    let maps = MaterialTextures {
        emission: inputs.draw(),
        normal_scale: inputs.draw(),
        textures: std::array::from_fn(|_| inputs.below(8) as u32),
        used: inputs.below(1 << 21) as u32,
        opacity: inputs.draw(),
        cutoff: inputs.draw(),
        coat_normal_scale: inputs.draw(),
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
        twin!("material_textures", "scale_color", |color: Vec3, by: Vec3| scale_color(color, by)),
        twin!("material_textures", "scale_radiance", |radiance: Vec3, by: Vec3| scale_radiance(
            radiance, by
        )),
        twin!(
            ("material_textures", "roughness_factor", "roughness_factor"),
            |inputs| (inputs.draw(), inputs.unit()),
            |material: Material, part: f32| roughness_factor(&material, part)
        ),
        twin!(
            (
                "material_textures",
                "map_at",
                with_texels!(
                    "Texture texture, Surface surface",
                    "map_at({nullptr, &texture, texels}, 3, surface)"
                )
            ),
            |inputs| (drawn_texture(inputs), inputs.draw()),
            |texture: Texture, surface: Surface| {
                let atlas = TextureAtlas {
                    maps: &[],
                    textures: &[texture],
                    texels: texels(),
                };
                map_at(&atlas, 3, &surface)
            }
        ),
        twin!(
            ("material_textures", "channel_value", "channel_value"),
            |inputs| (inputs.draw(), inputs.below(4) as u32),
            |value: Texel, channel: u32| channel_value(value, channel)
        ),
        twin!(
            ("material_textures", "apply_cutoff", "apply_cutoff"),
            |inputs| (drawn_maps(inputs).0, inputs.draw()),
            |maps: MaterialTextures, opacity: f32| apply_cutoff(&maps, opacity)
        ),
        twin!(
            "material_textures",
            "bent_normal",
            |surface: Surface, normal: Vec3, value: Vec3, normal_scale: f32| bent_normal(
                &surface, normal, value, normal_scale
            )
        ),
        twin!(
            (
                "material_textures",
                "apply_extended_map",
                "+[](Material material, u32 place, Texel value, f32 part) {
                    apply_extended_map(material, place, value, part);
                    return material;
                }"
            ),
            |inputs| {
                let place = 12 + inputs.below(7) as u32;
                (inputs.draw(), place, inputs.draw(), inputs.unit())
            },
            |material: Material, place: u32, value: Texel, part: f32| {
                let mut material = material;
                apply_extended_map(&mut material, place, value, part);
                material
            }
        ),
        twin!(
            (
                "material_textures",
                "material_at",
                with_texels!(
                    "MaterialTextures maps, calls::Several<Texture, 2> textures, Material material, Surface surface",
                    "[&] {
                        struct All { Material here; Vec3 shading; Vec3 coat; u32 zero[2]; };
                        Material here = material_at({&maps, textures.items, texels}, material, surface);
                        return All{here, surface.shading, surface.coat, {0, 0}};
                    }()"
                )
            ),
            drawn_maps,
            |maps: MaterialTextures, textures: [Texture; 2], material: Material, surface: Surface| {
                let atlas = TextureAtlas {
                    maps: &[maps],
                    textures: &textures,
                    texels: texels(),
                };
                let mut surface = surface;
                let here = material_at(&atlas, &material, &mut surface);
                (here, surface.shading, surface.coat, [0_u32; 2])
            }
        ),
        twin!(
            (
                "material_textures",
                "emission_at",
                with_texels!(
                    "MaterialTextures maps, calls::Several<Texture, 2> textures, Material material, Surface surface",
                    "emission_at({&maps, textures.items, texels}, material, surface)"
                )
            ),
            drawn_maps,
            |maps: MaterialTextures, textures: [Texture; 2], material: Material, surface: Surface| {
                let atlas = TextureAtlas {
                    maps: &[maps],
                    textures: &textures,
                    texels: texels(),
                };
                emission_at(&atlas, &material, &surface)
            }
        ),
    ]
}
