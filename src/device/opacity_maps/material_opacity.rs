//! The opacity of materials, as far as it decides which opacity tests have a known result.

use std::collections::HashMap;

use crate::{
    accel::instance::NO_MATERIAL,
    shading::{
        material::{HIDDEN, Material},
        material_textures::{MAP_OPACITY, MaterialTextures, apply_cutoff},
        opacity_map::{OPAQUE, TRANSPARENT, UNKNOWN},
    },
};

/// The opacity of a material.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MaterialOpacity {
    /// The state is the same everywhere, such as [`OPAQUE`].
    Uniform(u32),
    /// The opacity comes from a texture. The number is the index of the first material textures that give the same
    /// opacity.
    Textured(u32),
}

/// Returns the opacity of each material.
pub(super) fn material_opacities(
    materials: &[Material],
    maps: &[MaterialTextures],
) -> Vec<MaterialOpacity> {
    let mut first: HashMap<(u32, u32, u32), u32> = HashMap::new();
    let of = |material: &Material| {
        let index = material.maps;
        if index == 0 {
            return MaterialOpacity::Uniform(OPAQUE);
        }
        if material.flags & HIDDEN != 0 {
            return MaterialOpacity::Uniform(UNKNOWN);
        }
        let maps = &maps[index as usize];
        if maps.used & (1 << MAP_OPACITY) == 0 {
            return MaterialOpacity::Uniform(state(apply_cutoff(maps, maps.opacity)));
        }
        let texture = maps.textures[MAP_OPACITY as usize];
        let same = (texture, maps.opacity.to_bits(), maps.cutoff.to_bits());
        MaterialOpacity::Textured(*first.entry(same).or_insert(index))
    };
    materials.iter().map(of).collect()
}

/// Returns the state of a surface with this opacity. The random numbers of opacity tests are at least 0 and less than
/// 1.
fn state(opacity: f32) -> u32 {
    if opacity >= 1.0 {
        OPAQUE
    } else if opacity <= 0.0 {
        TRANSPARENT
    } else {
        UNKNOWN
    }
}

/// The opacities that a mesh's triangles have in its instances, some of which may replace the mesh's own materials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MeshOpacity {
    /// Whether some instance keeps the mesh's own materials.
    keeps: bool,
    /// Opacity of the materials by which instances replace those of the mesh. It is `Uniform(UNKNOWN)` if they differ.
    replaced: Option<MaterialOpacity>,
}

impl MeshOpacity {
    /// The opacity of primitives outside meshes, which is that of their material.
    pub(super) const OF_PRIMITIVE: MeshOpacity = MeshOpacity {
        keeps: true,
        replaced: None,
    };

    /// Takes an instance into account, whose material is an index or `NO_MATERIAL`.
    pub(super) fn add(&mut self, material: u32, opacities: &[MaterialOpacity]) {
        if material == NO_MATERIAL {
            self.keeps = true;
            return;
        }
        let opacity = opacities[material as usize];
        self.replaced = Some(match self.replaced {
            Some(other) => common(opacity, other),
            None => opacity,
        });
    }

    /// Returns the opacity of a triangle in all instances, if `own` is that of the mesh's material.
    pub(super) fn of(self, own: MaterialOpacity) -> MaterialOpacity {
        match (self.keeps, self.replaced) {
            (true, Some(other)) => common(own, other),
            (true, None) => own,
            (false, Some(other)) => other,
            // No ray hits a mesh without instances.
            (false, None) => MaterialOpacity::Uniform(UNKNOWN),
        }
    }
}

/// Returns the opacity that two materials share; it is unknown if they differ.
fn common(one: MaterialOpacity, other: MaterialOpacity) -> MaterialOpacity {
    if one == other {
        one
    } else {
        MaterialOpacity::Uniform(UNKNOWN)
    }
}
