//! The paths of a wave in a GPU's memory, and the struct by which kernels receive them.

use std::sync::Arc;

use compaction::{
    cuda::{In, InOut, uninitialised, zeroed},
    cudarc::driver::{CudaSlice, CudaStream},
};
use glam::Vec3;

use super::kernel_variant::KernelVariant;
use crate::path::{Hit, PathRadiance, Ray, Span, Throughput};

compaction::shared! {
    /// A [`ShadowRay`](crate::path::ShadowRay) without its origin, in 32 instead of 48 bytes. Most shadow rays have the
    /// same origin as the ray by which their path goes on, and read it there.
    #[repr(align(16))]
    pub struct PackedShadowRay {
        /// Direction in world space, of length 1.
        pub direction: Vec3,
        /// Distance to the light in metres; `f32::MAX` for a light at infinity; 0 if there is no shadow ray. The sign
        /// tells where the origin is stored: in [`PathBuffers::shadow_origins`] if it is negative, otherwise in the
        /// path's next ray.
        pub distance_and_sign: f32,
        /// Contribution to the path's sample if unoccluded, in linear sRGB.
        pub light: Vec3,
        /// Index of the light's primitive, which does not block the ray; `NO_PRIMITIVE` if the light is not a surface.
        pub to_primitive: u32,
    }
}

compaction::shared! {
    /// The origin of a shadow ray whose path ends, or goes on from another point or primitive.
    #[repr(align(16))]
    pub struct ShadowOrigin {
        /// Origin in world space, metres.
        pub origin: Vec3,
        /// Index of the primitive that the ray leaves, or `NO_PRIMITIVE`.
        pub from_primitive: u32,
    }
}

compaction::shared! {
    /// The paths of a wave as kernels receive them. Twin: `kernels/shared/path_buffers.cuh`.
    ///
    /// Buffers are indexed by path, except those that are indexed by queue entry. Scenes are *plain* if
    /// [`RenderScene::is_plain`](super::render_scene::RenderScene::is_plain) says so.
    pub struct PathBuffers<'a> {
        /// The pixels and samples of the wave's paths, as one entry.
        pub span: In<Span>,
        /// The pixels that are rendered, if the span is listed; otherwise one unused number.
        pub list: In<u32>,
        /// Live paths, and `NO_PATH` for gaps.
        pub queue: InOut<u32>,
        /// The queue that `compact` and `sort_hits` write.
        pub compacted: InOut<u32>,
        /// 1 for each queue entry whose path stays in the queue, else 0.
        pub flags: InOut<u8>,
        /// The next ray of each path.
        pub rays: InOut<Ray>,
        /// The throughput of each path along its rays so far.
        pub throughputs: InOut<Throughput>,
        /// The radiance that each path has gathered so far.
        pub radiances: InOut<PathRadiance>,
        /// The nearest hit of each path's ray.
        pub hits: InOut<Hit>,
        /// The index of the instance that each path's ray hit; one unused number in plain scenes.
        pub instances: InOut<u32>,
        /// Shadow rays by queue entry; a `distance_and_sign` of 0 means none.
        pub shadow_rays: InOut<PackedShadowRay>,
        /// The origins of shadow rays whose `distance_and_sign` is negative, by queue entry; other entries are
        /// unspecified.
        pub shadow_origins: InOut<ShadowOrigin>,
        /// The instance that each shadow ray goes to, by queue entry; one unused number in plain scenes.
        pub light_instances: InOut<u32>,
        /// The list of bodies at the origin of each shadow ray, by queue entry, in scenes with boundaries of media;
        /// otherwise one unused number.
        pub shadow_bodies: InOut<u32>,
    }
}

/// The buffers of a wave's paths in a GPU's memory; see [`PathBuffers`] for the fields.
#[allow(missing_docs, reason = "the fields are those of `PathBuffers`")]
pub struct CudaPaths {
    pub span: CudaSlice<Span>,
    pub list: CudaSlice<u32>,
    pub queue: CudaSlice<u32>,
    pub compacted: CudaSlice<u32>,
    pub flags: CudaSlice<u8>,
    pub rays: CudaSlice<Ray>,
    pub throughputs: CudaSlice<Throughput>,
    pub radiances: CudaSlice<PathRadiance>,
    pub hits: CudaSlice<Hit>,
    pub instances: CudaSlice<u32>,
    pub shadow_rays: CudaSlice<PackedShadowRay>,
    pub shadow_origins: CudaSlice<ShadowOrigin>,
    pub light_instances: CudaSlice<u32>,
    pub shadow_bodies: CudaSlice<u32>,
}

impl CudaPaths {
    /// Device memory of the buffers in bytes per path, in scenes that are not plain.
    pub const BYTES_PER_PATH: usize = size_of::<Ray>()
        + size_of::<Throughput>()
        + size_of::<PathRadiance>()
        + size_of::<Hit>()
        + size_of::<PackedShadowRay>()
        + size_of::<ShadowOrigin>()
        + 5 * size_of::<u32>()
        + size_of::<u8>();

    /// Allocates buffers for `paths` paths, those for instances and for boundaries of media only if the scene has them.
    ///
    /// # Errors
    ///
    /// Returns the driver's error, for example if the GPU's memory does not suffice.
    pub fn new(
        stream: &Arc<CudaStream>,
        paths: usize,
        scene: KernelVariant,
    ) -> compaction::Result<CudaPaths> {
        let instance_count = if scene.instanced { paths } else { 1 };
        Ok(CudaPaths {
            span: zeroed(stream, 1)?,
            list: zeroed(stream, 1)?,
            queue: uninitialised(stream, paths)?,
            compacted: uninitialised(stream, paths)?,
            flags: uninitialised(stream, paths)?,
            rays: uninitialised(stream, paths)?,
            throughputs: uninitialised(stream, paths)?,
            radiances: uninitialised(stream, paths)?,
            hits: uninitialised(stream, paths)?,
            instances: uninitialised(stream, instance_count)?,
            shadow_rays: uninitialised(stream, paths)?,
            shadow_origins: uninitialised(stream, paths)?,
            light_instances: uninitialised(stream, instance_count)?,
            shadow_bodies: uninitialised(stream, if scene.boundaries { paths } else { 1 })?,
        })
    }

    /// Replaces the buffers of the paths by larger ones, one after the other, and keeps the span and the list.
    ///
    /// # Errors
    ///
    /// Returns the driver's error. Some buffers may then be larger than the others.
    pub fn grow(
        &mut self,
        stream: &Arc<CudaStream>,
        paths: usize,
        scene: KernelVariant,
    ) -> compaction::Result<()> {
        self.rays = uninitialised(stream, paths)?;
        self.throughputs = uninitialised(stream, paths)?;
        self.radiances = uninitialised(stream, paths)?;
        self.hits = uninitialised(stream, paths)?;
        if scene.boundaries {
            self.shadow_bodies = uninitialised(stream, paths)?;
        }
        if scene.instanced {
            self.instances = uninitialised(stream, paths)?;
            self.light_instances = uninitialised(stream, paths)?;
        }
        self.shadow_rays = uninitialised(stream, paths)?;
        self.shadow_origins = uninitialised(stream, paths)?;
        self.queue = uninitialised(stream, paths)?;
        self.compacted = uninitialised(stream, paths)?;
        self.flags = uninitialised(stream, paths)?;
        Ok(())
    }

    /// Returns the device memory of the buffers in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = self.span.num_bytes()
            + self.list.num_bytes()
            + self.queue.num_bytes()
            + self.compacted.num_bytes()
            + self.flags.num_bytes()
            + self.rays.num_bytes()
            + self.throughputs.num_bytes()
            + self.radiances.num_bytes()
            + self.hits.num_bytes()
            + self.instances.num_bytes()
            + self.shadow_rays.num_bytes()
            + self.shadow_origins.num_bytes()
            + self.light_instances.num_bytes()
            + self.shadow_bodies.num_bytes();
        bytes as u64
    }

    /// Returns the argument of a kernel that reads or writes the paths.
    pub fn argument(&mut self) -> PathBuffers<'_> {
        PathBuffers {
            span: self.span.as_view(),
            list: self.list.as_view(),
            queue: self.queue.as_view_mut(),
            compacted: self.compacted.as_view_mut(),
            flags: self.flags.as_view_mut(),
            rays: self.rays.as_view_mut(),
            throughputs: self.throughputs.as_view_mut(),
            radiances: self.radiances.as_view_mut(),
            hits: self.hits.as_view_mut(),
            instances: self.instances.as_view_mut(),
            shadow_rays: self.shadow_rays.as_view_mut(),
            shadow_origins: self.shadow_origins.as_view_mut(),
            light_instances: self.light_instances.as_view_mut(),
            shadow_bodies: self.shadow_bodies.as_view_mut(),
        }
    }
}
