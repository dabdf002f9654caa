//! The materials of a scene while it is read, with their textures.

use std::collections::{BTreeMap, HashMap};

use crate::{
    image::texture_library::TextureLibrary,
    limits::check_brightness,
    model::{Model, ModelMaterial},
    scene::{MaterialTexture, MaterialTextures, Medium, Parameter, Surface},
};

/// All materials of a scene, with their textures, while the scene is read.
#[derive(Default)]
pub(crate) struct Materials {
    /// Index of each material that the scene file defines, by its name. Materials of models have no entry.
    pub(crate) names: HashMap<String, u32>,
    /// All materials without their textures: those of the scene file in its order, then those of models.
    pub(crate) surfaces: Vec<Surface>,
    /// Name of each material by its index, for display; may be empty for materials of models.
    pub(crate) display_names: Vec<String>,
    /// Textures, opacity and normal map scales by material index. Materials that are opaque and have no textures have
    /// no entry.
    pub(crate) maps: BTreeMap<u32, MaterialTextures>,
    /// Media inside the bodies of materials, by index.
    pub(crate) media: BTreeMap<u32, Medium>,
    /// Priorities of the bodies of materials, by index.
    pub(crate) priorities: BTreeMap<u32, u8>,
    /// The images and textures that `maps` refers to.
    pub(crate) library: TextureLibrary,
}

impl Materials {
    /// Appends the materials and textures of a model and returns the scene's index of its first material. The others
    /// follow in the model's order.
    ///
    /// # Errors
    /// A one-line message if an emission is too bright for the film at `spp` samples per pixel.
    pub(crate) fn add_model(&mut self, model: &Model, spp: u32) -> Result<u32, String> {
        let textures = self.library.append(&model.library);
        let first = self.surfaces.len() as u32;
        for (index, material) in (first..).zip(&model.materials) {
            let ModelMaterial {
                name,
                surface,
                maps,
                medium,
                ..
            } = material;
            let mut maps = maps.clone();
            let reindex = |map: &mut MaterialTexture| map.texture = textures[map.texture as usize];
            maps.textures.values_mut().for_each(reindex);
            let emission = maps.textures.get(&Parameter::Emission);
            let brightest = emission.map_or(1.0, |map| self.library.brightest(map.texture));
            check_brightness(surface.radiance().max_element() * brightest, spp)?;
            let mut surface = *surface;
            if let Surface::Blend {
                first: one,
                second: other,
                ..
            } = &mut surface
            {
                (*one, *other) = (first + *one, first + *other);
            }
            self.surfaces.push(surface);
            if let Some(medium) = medium {
                self.media.insert(index, *medium);
            }
            self.display_names.push(name.clone());
            if maps != MaterialTextures::default() {
                self.maps.insert(index, maps);
            }
        }
        Ok(first)
    }

    /// Returns `true` if the surfaces of the material with this index need texture coordinates: it has a texture, or it
    /// is anisotropic, or it blends such a material.
    pub(crate) fn is_textured(&self, material: u32) -> bool {
        let maps = self.maps.get(&material);
        maps.is_some_and(|maps| !maps.textures.is_empty())
            || self.is_anisotropic(material)
            || self.blends(material, Materials::is_textured)
    }

    /// Returns `true` if the surfaces of the material with this index need tangents: it has a normal map, or it is
    /// anisotropic, or it blends such a material.
    pub(crate) fn needs_tangents(&self, material: u32) -> bool {
        let maps = self.maps.get(&material);
        maps.is_some_and(MaterialTextures::need_tangents)
            || self.is_anisotropic(material)
            || self.blends(material, Materials::needs_tangents)
    }

    /// Returns `true` if the material with this index is a blend, and `test` holds for one of its materials.
    fn blends(&self, material: u32, test: fn(&Materials, u32) -> bool) -> bool {
        let surface = self.surfaces.get(material as usize);
        let parts = surface.and_then(Surface::blended);
        parts.is_some_and(|parts| parts.iter().any(|&part| test(self, part)))
    }

    /// Returns `true` if the material with this index is anisotropic. Unknown indices give `false`.
    fn is_anisotropic(&self, material: u32) -> bool {
        let surface = self.surfaces.get(material as usize);
        surface.is_some_and(Surface::is_anisotropic)
    }
}
