//! The types of a scene, as plain data. Readers of all formats produce them, and a renderer consumes them.

mod absorption;
mod background;
mod blends;
mod build;
pub(crate) mod camera;
mod check;
mod fields;
mod framing;
mod hash;
mod hasher;
mod image;
mod light;
mod medium;
mod settings;
mod shape;
mod surface;
mod texture;
mod timeline;
mod tone;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use glam::{DVec3, Vec3};

use crate::files::record::SceneFile;

pub use absorption::Absorption;
pub(crate) use absorption::DISTANCES;
pub use background::Background;
pub use blends::BlendError;
pub(crate) use blends::Blends;
pub use camera::{Camera, Focus, Lens, PixelFilter, Projection};
pub(crate) use camera::{NoView, turn_about_y};
pub use check::MaterialUse;
pub(crate) use fields::fields_of_material;
pub use fields::{
    Field, FieldEdit, FieldError, FieldKind, FieldValue, MAX_LIGHT, NumberKind, Part, PartState,
};
pub(crate) use framing::Outline;
pub use framing::{Framing, NamedCamera, ViewAxes, WholeLens, WholeView};
pub use hash::scene_hash;
pub use image::{Image, Texels};
pub use light::{Environment, EnvironmentSource, Light, SpotFalloff, SunSkySettings};
pub(crate) use light::{SunPosition, turns};
pub use medium::Medium;
pub(crate) use medium::{COEFFICIENTS, MAX_ANISOTROPY, MIN_FOG_EXTINCTION};
pub use settings::SettingOverrides;
pub(crate) use shape::has_area;
pub use shape::{Instance, Mesh, Sphere, Triangle};
pub use surface::{FacetDistribution, GlassTint, Masking, Metal, Principled, Roughness, Surface};
pub use texture::{
    Channel, Encoding, Filter, MaterialTexture, MaterialTextures, Parameter, Texture, Wrap,
};
pub(crate) use timeline::MAX_SECONDS;
pub use timeline::Timeline;
pub use tone::Tone;

/// A checked scene, ready to be rendered. A loaded scene has only finite numbers within their ranges, and valid
/// indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Path of the scene or model file, as the caller gave it.
    pub path: PathBuf,
    /// The point of the file's coordinates to which all positions of this scene are relative, in whole metres. It is 0
    /// unless the objects are far from 0 in relation to their size.
    pub origin: DVec3,
    /// Width and height of the image in pixels.
    pub size: (u32, u32),
    /// Samples per pixel, 1 or more.
    pub spp: u32,
    /// Maximum number of times that a path may scatter, 0 to 4096; 0 shows only directly visible emission.
    pub max_bounces: u32,
    /// First scattering event of a path, counted from 1, at which Russian roulette may end it, 1 to 4096; 0 if never.
    /// Roulette saves the time of paths that carry little light, and does not change the expected image.
    pub roulette: u32,
    /// Seed of all random numbers of the render; any value is valid.
    pub seed: u32,
    /// Upper limit, W·sr⁻¹·m⁻² per channel, for each contribution of light that was scattered more than once, 1e-6 to
    /// 1e6. `None` sets no limit.
    pub clamp_indirect: Option<f32>,
    /// Exposure of the displayed image in stops, -32 to 32; each stop doubles the brightness. It does not affect the
    /// rendered light.
    pub exposure_stops: f32,
    /// Tone curve of the displayed image. It does not affect the rendered light.
    pub tone: Tone,
    /// The camera, for an image of `size`.
    pub camera: Camera,
    /// Rule that adapts the camera to the image size, for a model that was loaded without a scene file. `None` for a
    /// scene file, whose camera is fixed.
    pub framing: Option<Framing>,
    /// Cameras of the model's file, in its order, for a model that was loaded without a scene file. Otherwise empty.
    pub cameras: Vec<NamedCamera>,
    /// Constant radiance from all directions, W·sr⁻¹·m⁻² in linear sRGB, added to that of `lights`; 0 or more.
    pub sky: Vec3,
    /// Background that camera rays see if they hit nothing.
    pub background: Background,
    /// Height above `origin`, in metres, of an invisible, horizontal ground that catches shadows in the alpha of images;
    /// `None` without one. It has an effect only if the background is transparent.
    pub shadow_catcher: Option<f32>,
    /// Medium that fills all space outside the bodies; `None` for a vacuum. It extends to infinity, so that no light from
    /// there arrives: sky, background, environment, suns and directional lights are dark. Its extinction is above 0 in
    /// every channel.
    pub fog: Option<Medium>,
    /// Sampling strategy for direct light.
    pub direct_light: DirectLight,
    /// Lights that are not objects, at most one of them an environment.
    pub lights: Vec<Light>,
    /// Materials: those of the scene file in its order, then those of models. Objects refer to them by index.
    pub materials: Vec<Surface>,
    /// Name of each entry of `materials`, for display; an empty string for a material without a name.
    pub material_names: Vec<String>,
    /// Textures, opacity and normal map scales of materials, by index into `materials`. Materials that are opaque and
    /// have no textures have no entry.
    pub maps: BTreeMap<u32, MaterialTextures>,
    /// Media inside the bodies of materials, by index into `materials`. Their absorption replaces that of the surface.
    pub media: BTreeMap<u32, Medium>,
    /// Priorities of the bodies of materials among bodies that overlap, by index into `materials`. Bodies without an
    /// entry, and entries of materials that are no bodies, count as 0.
    pub priorities: BTreeMap<u32, u8>,
    /// Textures that `maps` refers to by index: each is an image with its mapping onto a surface.
    pub textures: Vec<Texture>,
    /// Images that `textures` refer to by index.
    pub images: Vec<Arc<Image>>,
    /// Triangles of all objects that are not stored as instances, in the order of the file.
    pub triangles: Arc<Vec<Triangle>>,
    /// Spheres of all objects, in the order of the file.
    pub spheres: Arc<Vec<Sphere>>,
    /// Triangle meshes that `instances` refer to by index, each stored once.
    pub meshes: Arc<Vec<Mesh>>,
    /// Instances of `meshes` in the order of the file.
    pub instances: Arc<Vec<Instance>>,
    /// Animations that a time poses; `None` if the scene has none, or each of its models has a time of its own.
    pub timeline: Option<Timeline>,
    /// Warnings for the user, one line each: for example, features of a model that are not shown.
    pub notes: Vec<String>,
    /// Every file that the scene was read from, or that was looked for and is missing, so that changes can be detected.
    pub files: Vec<SceneFile>,
}

/// Sampling strategy for direct light. All strategies converge to the same image; `Both` has the least noise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub enum DirectLight {
    /// Samples lights and the BSDF, and combines them by multiple importance sampling with the power heuristic
    /// (E. Veach 1997).
    #[default]
    Both,
    /// Samples points on lights. Paths that hit a light count only where light sampling cannot find it, as after a
    /// mirror.
    Lights,
    /// Samples directions of the BSDF. Light samples count only for lights that no path can hit, such as points.
    Bsdf,
}

impl Scene {
    /// Returns the height above `origin`, in metres, of the lowest point of all objects; `None` without objects.
    pub(crate) fn lowest_point(&self) -> Option<f32> {
        let corners = self.triangles.iter().flat_map(|triangle| triangle.vertices);
        let corners = corners.map(|corner| corner.y);
        let spheres = self.spheres.iter();
        let spheres = spheres.map(|sphere| sphere.center.y - sphere.radius);
        let instances = self.instances.iter().map(|instance| {
            let mesh = &self.meshes[instance.mesh as usize];
            let [x, y, z] = instance.axes.map(|axis| axis.y);
            let corners = mesh.triangles.as_flattened().iter();
            let heights = corners.map(|&corner| {
                let at = mesh.positions[corner as usize];
                x * at.x + y * at.y + z * at.z + instance.position.y
            });
            heights.fold(f32::INFINITY, f32::min)
        });
        let heights = corners.chain(spheres).chain(instances);
        let lowest = heights.fold(f32::INFINITY, f32::min);
        lowest.is_finite().then_some(lowest)
    }

    /// Sets the image size in pixels, without checking it. A scene with [`Scene::framing`] also gets the camera that
    /// shows the model at that size.
    pub fn set_size(&mut self, size: (u32, u32)) {
        self.size = size;
        if let Some(framing) = &self.framing {
            self.camera = framing.camera(size);
        }
    }
}
