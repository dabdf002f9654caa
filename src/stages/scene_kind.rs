//! What says which kernels a scene needs. Many are made for scenes of some kind alone: what a scene lacks would take
//! registers, and a compiler's time before the first picture.

use compaction::cuda::{Kernel, Module, Params};

use crate::{
    Error,
    material::{ALL_KINDS, PLAIN_KINDS, RARE_KINDS},
    world::World,
};

/// What there is in a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SceneKind {
    /// Kinds of its materials.
    pub materials: u32,
    /// Not [`World::is_plain`].
    pub placed: bool,
    /// See [`World::veils`]; such a scene is `placed`.
    pub veiled: bool,
    /// Whether more than an even sky is infinitely far away.
    pub far_lights: bool,
    /// Whether there is what shadow rays are cast to.
    pub lights: bool,
}

/// A kernel for scenes of one kind: where surfaces hide only a part of what is behind them it takes more.
pub(super) enum MadeFor<Opaque: Params, Veiled: Params> {
    Opaque(Kernel<Opaque>),
    Veiled(Kernel<Veiled>),
}

impl<Opaque: Params, Veiled: Params> MadeFor<Opaque, Veiled> {
    /// Out of the file that is loaded for such scenes.
    pub(super) fn of(scene: SceneKind, file: &Module, name: &'static str) -> Result<Self, Error> {
        Ok(if scene.veiled {
            MadeFor::Veiled(file.kernel(name)?)
        } else {
            MadeFor::Opaque(file.kernel(name)?)
        })
    }
}

impl SceneKind {
    pub(crate) fn of(world: &World) -> SceneKind {
        SceneKind {
            materials: world.kinds,
            placed: !world.is_plain(),
            veiled: world.veils().is_some(),
            far_lights: world.surroundings.far_lights > 0,
            lights: world.surroundings.light_count > 0,
        }
    }

    /// One of each kind that a kernel is made for.
    pub(super) fn each() -> [SceneKind; 6] {
        [
            (PLAIN_KINDS, false, false),
            (PLAIN_KINDS, true, false),
            (ALL_KINDS, false, false),
            (ALL_KINDS, true, false),
            // What is rare takes maps or instances.
            (ALL_KINDS | RARE_KINDS, true, false),
            (ALL_KINDS | RARE_KINDS, true, true),
        ]
        .map(|(materials, placed, veiled)| SceneKind {
            materials,
            placed,
            veiled,
            far_lights: true,
            lights: true,
        })
    }

    /// The smallest set of kinds of materials that kernels are made for and that has the scene's.
    pub(super) fn known_materials(&self) -> u32 {
        if self.materials & !PLAIN_KINDS == 0 {
            PLAIN_KINDS
        } else if self.materials & RARE_KINDS == 0 {
            ALL_KINDS
        } else {
            ALL_KINDS | RARE_KINDS
        }
    }
}
