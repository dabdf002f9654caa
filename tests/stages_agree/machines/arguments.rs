//! Arguments of the kernels that a host compiler builds.

use std::{io::Read, slice::from_ref};

use bytemuck::{Pod, bytes_of, cast_slice, cast_slice_mut};
use compaction::cuda::Param;
use raysieve::{
    device::{
        device_film::DeviceFilm, device_scene::DeviceScene, path_buffers::PathBuffers,
        render_scene::RenderScene,
    },
    lights::light::LightParams,
};

use crate::buffers::Buffers;

/// Stands for the list of pixels where there is none.
pub(super) const NO_LIST: [u32; 1] = [0];

/// An argument of a kernel, as bytes.
pub(crate) enum Argument<'a> {
    In(&'a [u8]),
    InOut(&'a mut [u8]),
    /// A struct: its bytes, with zeros for pointers, and each pointer field's offset and target.
    Struct(Vec<u8>, Vec<(usize, Argument<'a>)>),
}

impl Argument<'_> {
    /// Returns the bytes to send, and the pointer fields of a struct.
    pub(super) fn parts(&self) -> (&[u8], &[(usize, Argument<'_>)]) {
        match self {
            Argument::In(bytes) => (bytes, &[]),
            Argument::InOut(bytes) => (&**bytes, &[]),
            Argument::Struct(bytes, fields) => (bytes.as_slice(), fields.as_slice()),
        }
    }

    /// Reads back what the kernel may have written.
    pub(super) fn receive(&mut self, from: &mut impl Read) {
        match self {
            Argument::In(_) => {}
            Argument::InOut(bytes) => from.read_exact(bytes).unwrap(),
            Argument::Struct(_, fields) => {
                fields.iter_mut().for_each(|(_, field)| field.receive(from));
            }
        }
    }
}

/// Passes a value.
pub(crate) fn value<T: Pod>(of: &T) -> Argument<'_> {
    Argument::In(bytes_of(of))
}

/// Passes a list that the kernel reads.
pub(crate) fn list<T: Pod>(of: &[T]) -> Argument<'_> {
    Argument::In(cast_slice(of))
}

/// Passes a list that the kernel reads and writes.
pub(crate) fn list_mut<T: Pod>(of: &mut [T]) -> Argument<'_> {
    Argument::InOut(cast_slice_mut(of))
}

/// Passes the struct `P` with all its fields, by name: a list for each pointer, or a value.
fn structure<'a, P: Param>(
    arguments: impl IntoIterator<Item = (&'static str, Argument<'a>)>,
) -> Argument<'a> {
    let mut bytes = vec![0; size_of::<P::Raw>()];
    let mut fields = P::fields();
    let mut pointers = Vec::new();
    for (name, argument) in arguments {
        let place = fields.iter().position(|field| field.name == name);
        let field = fields.remove(place.unwrap_or_else(|| panic!("no field {name}")));
        let is_const = field.cuda_type.starts_with("const ");
        match argument {
            Argument::In(value) if !field.cuda_type.ends_with('*') => {
                bytes[field.offset..][..value.len()].copy_from_slice(value);
            }
            Argument::Struct(..) => panic!("{name}: a struct in a struct"),
            pointer => {
                assert_eq!(is_const, matches!(pointer, Argument::In(_)), "{name}");
                pointers.push((field.offset, pointer));
            }
        }
    }
    assert!(fields.is_empty(), "no argument for {fields:?}");
    Argument::Struct(bytes, pointers)
}

/// Passes a scene with these parameters of its lights.
pub(super) fn scene_argument<'a>(scene: &'a RenderScene, params: &'a LightParams) -> Argument<'a> {
    structure::<DeviceScene>([
        ("nodes", list(&scene.nodes)),
        ("primitives", list(&scene.primitives)),
        ("instances", list(&scene.instances)),
        ("corners", list(&scene.corners)),
        ("vertices", list(&scene.vertices)),
        ("materials", list(&scene.materials)),
        ("maps", list(&scene.maps)),
        ("textures", list(&scene.textures)),
        ("texels", list(&scene.texels)),
        ("opacity_maps", list(&scene.opacity_maps)),
        ("media", list(&scene.media)),
        ("energy", list(&scene.energy)),
        ("lights", list(&scene.lights)),
        ("light_pairs", list(&scene.light_pairs)),
        ("light_places", list(&scene.light_places)),
        ("lamps", list(&scene.lamps)),
        ("environment_rows", list(&scene.environment_rows)),
        ("environment_texels", list(&scene.environment_texels)),
        ("environment_guide", list(&scene.environment_guide)),
        ("light_params", value(params)),
        ("environment", value(&scene.environment)),
    ])
}

/// Passes the paths of a wave.
pub(super) fn paths_argument(buffers: &mut Buffers) -> Argument<'_> {
    structure::<PathBuffers>([
        ("span", list(from_ref(&buffers.span))),
        ("list", list(&NO_LIST)),
        ("queue", list_mut(&mut buffers.queue)),
        ("compacted", list_mut::<u32>(&mut [])),
        ("flags", list_mut(&mut buffers.flags)),
        ("rays", list_mut(&mut buffers.rays)),
        ("throughputs", list_mut(&mut buffers.throughputs)),
        ("radiances", list_mut(&mut buffers.radiances)),
        ("hits", list_mut(&mut buffers.hits)),
        ("instances", list_mut(&mut buffers.instances)),
        ("shadow_rays", list_mut(&mut buffers.packed.rays)),
        ("shadow_origins", list_mut(&mut buffers.packed.origins)),
        ("light_instances", list_mut(&mut buffers.light_instances)),
        ("shadow_bodies", list_mut::<u32>(&mut [])),
    ])
}

/// Passes a film that may count the samples of each pixel.
pub(super) fn film_argument<'a>(
    sums: &'a mut [u64],
    rejected: &'a mut [u64],
    sample_counts: &'a mut [u32],
) -> Argument<'a> {
    structure::<DeviceFilm>([
        ("sums", list_mut(sums)),
        ("rejected", list_mut(rejected)),
        ("sample_counts", list_mut(sample_counts)),
    ])
}
