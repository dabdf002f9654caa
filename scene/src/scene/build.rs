//! Building a scene in a program: an empty scene, and adding materials, textures, lights and spheres.
//!
//! Meshes are added by [`Scene::add_mesh`], and models by [`Scene::add_model`]. Nothing is checked here that
//! [`Scene::check`] checks later.

use std::{path::PathBuf, sync::Arc};

use glam::{Affine3A, DVec3, Vec3};

use super::{
    Absorption, Background, Camera, Channel, DirectLight, Encoding, Environment, GlassTint, Image,
    Instance, Light, Masking, MaterialTexture, Metal, Parameter, PixelFilter, Principled,
    Projection, Roughness, Scene, Sphere, Surface, Texture, Tone,
};
use crate::{Error, limits::DEFAULT_ROULETTE};

impl Default for Scene {
    /// Returns [`Scene::new`] with the default camera.
    fn default() -> Scene {
        Scene::new(Camera::default())
    }
}

impl Default for Camera {
    /// Returns a camera 5 m in front of 0, on the +z axis, that looks at 0 with an angle of view of 40 degrees.
    fn default() -> Camera {
        Camera::look_at(Vec3::Z * 5.0, Vec3::ZERO, 40.0)
    }
}

impl Camera {
    /// Creates a pinhole camera at `origin` that looks at `target`, with +y up in the image. `fov_degrees` is the
    /// horizontal angle of view in degrees. Change its fields for another direction up, a lens, or another projection.
    pub fn look_at(origin: Vec3, target: Vec3, fov_degrees: f32) -> Camera {
        Camera {
            origin,
            target,
            up: Vec3::Y,
            projection: Projection::Perspective { fov_degrees },
            shift: [0.0; 2],
            pixel_aspect: 1.0,
            lens: None,
            filter: PixelFilter::default(),
        }
    }
}

impl Surface {
    /// Returns a matte surface, which reflects the fraction `albedo` of the light, 0 to 1 per channel.
    pub fn diffuse(albedo: Vec3) -> Surface {
        Surface::Diffuse {
            albedo,
            one_sided: false,
        }
    }

    /// Returns a metal of this color, 0 to 1 per channel. `alpha` is the GGX roughness, 0.001 to 1.
    pub fn metal(color: Vec3, alpha: f32) -> Surface {
        Surface::RoughConductor {
            metal: Metal::Color(color),
            roughness: Roughness {
                alpha,
                alpha_v: None,
                distribution: Default::default(),
                masking: Masking::HeightCorrelated,
                energy_compensation: true,
            },
            one_sided: false,
        }
    }

    /// Returns clear glass with this index of refraction, 0.1 to 10; that of window glass is 1.5.
    pub fn glass(ior: f32) -> Surface {
        Surface::Dielectric {
            ior,
            thin: false,
            tint: GlassTint::WHITE,
            absorption: Absorption::NONE,
        }
    }

    /// Returns a light source that emits this radiance from its front, in W·sr⁻¹·m⁻² per channel, and reflects nothing.
    pub fn emissive(radiance: Vec3) -> Surface {
        Surface::Emissive {
            radiance,
            albedo: Vec3::ZERO,
            one_sided: false,
            both_sides: false,
        }
    }
}

impl From<Principled> for Surface {
    fn from(principled: Principled) -> Surface {
        Surface::Principled(principled)
    }
}

impl Scene {
    /// Creates a scene without objects, materials and lights, seen by `camera`. Its settings are those that a scene
    /// file has by default: 512 × 512 pixels with 64 samples each, at most 8 scatterings of a path, and a black sky.
    pub fn new(camera: Camera) -> Scene {
        Scene {
            path: PathBuf::from("scene"),
            origin: DVec3::ZERO,
            size: (512, 512),
            spp: 64,
            max_bounces: 8,
            roulette: DEFAULT_ROULETTE,
            seed: 0,
            clamp_indirect: None,
            fog: None,
            exposure_stops: 0.0,
            tone: Tone::default(),
            camera,
            framing: None,
            cameras: Vec::new(),
            sky: Vec3::ZERO,
            background: Background::Environment,
            shadow_catcher: None,
            direct_light: DirectLight::Both,
            lights: Vec::new(),
            materials: Vec::new(),
            material_names: Vec::new(),
            maps: Default::default(),
            media: Default::default(),
            priorities: Default::default(),
            textures: Vec::new(),
            images: Vec::new(),
            triangles: Arc::default(),
            spheres: Arc::default(),
            meshes: Arc::default(),
            instances: Arc::default(),
            timeline: None,
            notes: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Adds a material and returns its index. A material that has this name already is replaced, with its textures,
    /// medium and priority, and keeps its index. An empty name always adds one.
    pub fn add_material(&mut self, name: &str, surface: impl Into<Surface>) -> u32 {
        let surface = surface.into();
        if let Some(index) = self.material_index(name).filter(|_| !name.is_empty()) {
            self.materials[index as usize] = surface;
            self.maps.remove(&index);
            self.media.remove(&index);
            self.priorities.remove(&index);
            return index;
        }
        self.materials.push(surface);
        // A scene that is not checked yet may have another number of names.
        self.material_names
            .resize(self.materials.len(), String::new());
        if let Some(last) = self.material_names.last_mut() {
            name.clone_into(last);
        }
        self.materials.len() as u32 - 1
    }

    /// Returns the index of the first material with this name; `None` if there is none.
    pub fn material_index(&self, name: &str) -> Option<u32> {
        let names = self.material_names.iter().take(self.materials.len());
        let index = names.into_iter().position(|other| other == name)?;
        u32::try_from(index).ok()
    }

    /// Returns the first material with this name, to change it; `None` if there is none.
    pub fn material_mut(&mut self, name: &str) -> Option<&mut Surface> {
        let index = self.material_index(name)?;
        self.materials.get_mut(index as usize)
    }

    /// Adds an image and returns its index, for [`Texture::image`].
    pub fn add_image(&mut self, image: impl Into<Arc<Image>>) -> u32 {
        self.images.push(image.into());
        self.images.len() as u32 - 1
    }

    /// Adds a texture, and multiplies a parameter of a material by it. A parameter that is a single number takes the
    /// red channel. Replaces an earlier texture of the parameter.
    pub fn set_texture(&mut self, material: u32, parameter: Parameter, texture: Texture) {
        let map = MaterialTexture {
            texture: self.textures.len() as u32,
            channel: Channel::Red,
        };
        self.textures.push(texture);
        let maps = self.maps.entry(material).or_default();
        maps.textures.insert(parameter, map);
    }

    /// Adds an image as the color of a material, with sRGB-encoded integer texels or linear floats. See
    /// [`Scene::set_texture`] for other parameters and mappings. Returns the index of the image.
    pub fn set_color_image(&mut self, material: u32, image: impl Into<Arc<Image>>) -> u32 {
        let image = self.add_image(image);
        let texture = Texture::new(image, Encoding::Srgb);
        self.set_texture(material, Parameter::Color, texture);
        image
    }

    /// Adds a light and returns its index.
    pub fn add_light(&mut self, light: Light) -> usize {
        self.lights.push(light);
        self.lights.len() - 1
    }

    /// Sets the environment, which replaces one that the scene has. A scene has at most one. The sun that belongs to a
    /// sky is removed with it.
    pub fn set_environment(&mut self, environment: Environment) {
        let is_sun = |index| self.is_sun_of_sky(index);
        let suns: Vec<bool> = (0..self.lights.len()).map(is_sun).collect();
        let mut suns = suns.into_iter();
        self.lights.retain(|light| {
            let is_sun = suns.next() == Some(true);
            !is_sun && !matches!(light, Light::Environment(_))
        });
        self.lights.push(Light::Environment(environment));
    }

    /// Adds a sphere with its center in world space and its radius in metres. Returns its index.
    pub fn add_sphere(&mut self, center: Vec3, radius: f32, material: u32) -> usize {
        let spheres = Arc::make_mut(&mut self.spheres);
        spheres.push(Sphere {
            center,
            radius,
            material,
        });
        spheres.len() - 1
    }

    /// Adds an instance of the mesh with this index, which [`Scene::add_mesh`] returns. `material` replaces the
    /// materials of the mesh; `None` keeps them. Returns the index of the instance.
    pub fn add_instance(&mut self, mesh: u32, transform: Affine3A, material: Option<u32>) -> usize {
        let matrix = transform.matrix3;
        let axes = [matrix.x_axis, matrix.y_axis, matrix.z_axis].map(Vec3::from);
        let instances = Arc::make_mut(&mut self.instances);
        instances.push(Instance {
            mesh,
            axes,
            position: transform.translation.into(),
            material,
        });
        instances.len() - 1
    }

    /// Returns the material with this index.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is none.
    pub(crate) fn existing_material(&self, object: &str, index: u32) -> Result<Surface, Error> {
        let found = self.materials.get(index as usize).copied();
        found.ok_or_else(|| Error::Invalid {
            object: object.to_owned(),
            problem: format!(
                "material is {index}, which does not exist; there are {}, counted from 0",
                self.materials.len()
            ),
        })
    }
}
