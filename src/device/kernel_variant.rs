//! The choice of kernel variants for a scene.
//!
//! Many kernels are specialised, because code for features that a scene lacks would take registers and compile time.

use super::render_scene::RenderScene;
use crate::shading::material::{ALL_KINDS, EXTENDED_KINDS, NESTED, PLAIN_KINDS, RARE_KINDS};

/// The features of a scene that select its kernel variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelVariant {
    /// Kinds of the materials and rare features, one bit each.
    pub materials: u32,
    /// Whether the scene has instances, textures or extended materials: not [`RenderScene::is_plain`].
    pub instanced: bool,
    /// Whether the scene has alpha-tested surfaces; if so, `instanced` is true.
    pub alpha_tested: bool,
    /// Whether there are lights at infinity besides a constant sky.
    pub far_lights: bool,
    /// Whether there are lights to sample.
    pub lights: bool,
    /// Whether light scatters in media; if so, `instanced` is true.
    pub media: bool,
    /// Whether some media have boundaries that light passes straight; if so, `media` is true.
    pub boundaries: bool,
}

impl KernelVariant {
    /// The variant for the simplest scenes: opaque, without instances, textures and lights.
    pub(crate) const PLAIN: KernelVariant = KernelVariant {
        materials: PLAIN_KINDS,
        instanced: false,
        alpha_tested: false,
        far_lights: false,
        lights: false,
        media: false,
        boundaries: false,
    };

    pub(crate) fn of(scene: &RenderScene) -> KernelVariant {
        KernelVariant {
            materials: scene.kinds,
            instanced: !scene.is_plain(),
            alpha_tested: scene.stochastic_opacity().is_some(),
            far_lights: scene.light_params.far_lights > 0,
            lights: scene.light_params.light_count > 0,
            media: !scene.media.is_empty(),
            boundaries: scene.has_boundaries(),
        }
    }

    /// Returns each combination of material kinds, `instanced`, `alpha_tested`, `media` and `boundaries` for which
    /// kernels are compiled, in scenes with all kinds of lights. They give the sources of all kernels. The last one is
    /// that with everything.
    pub(crate) fn each() -> [KernelVariant; 11] {
        let plain = KernelVariant {
            far_lights: true,
            lights: true,
            ..KernelVariant::PLAIN
        };
        let all_kinds = KernelVariant {
            materials: ALL_KINDS,
            ..plain
        };
        // Rare features need textures or instances.
        let rare = KernelVariant {
            materials: ALL_KINDS | RARE_KINDS,
            instanced: true,
            ..plain
        };
        let extended = KernelVariant {
            materials: ALL_KINDS | RARE_KINDS | EXTENDED_KINDS,
            ..rare
        };
        let instanced = |variant| KernelVariant {
            instanced: true,
            ..variant
        };
        let alpha_tested = |variant| KernelVariant {
            alpha_tested: true,
            ..variant
        };
        let media = KernelVariant {
            media: true,
            ..alpha_tested(extended)
        };
        let boundaries = KernelVariant {
            boundaries: true,
            ..media
        };
        let nested = KernelVariant {
            materials: extended.materials | NESTED,
            ..boundaries
        };
        [
            plain,
            instanced(plain),
            all_kinds,
            instanced(all_kinds),
            rare,
            alpha_tested(rare),
            extended,
            alpha_tested(extended),
            media,
            boundaries,
            nested,
        ]
    }

    /// Returns the smallest set of material kinds with a kernel variant that contains the scene's kinds.
    pub(crate) fn known_materials(&self) -> u32 {
        if self.materials & !PLAIN_KINDS == 0 {
            PLAIN_KINDS
        } else if self.materials & (RARE_KINDS | EXTENDED_KINDS) == 0 {
            ALL_KINDS
        } else if self.materials & EXTENDED_KINDS == 0 {
            ALL_KINDS | RARE_KINDS
        } else {
            ALL_KINDS | RARE_KINDS | EXTENDED_KINDS | self.materials & NESTED
        }
    }
}
