//! Reads glTF 2.0 models, as `.glb` or as `.gltf` with separate buffer and image files.
//!
//! The crate `gltf` parses the JSON. This module follows every reference itself and checks each index, length and file
//! name. Errors name an object by its glTF index, which starts at 0.

mod accessor;
mod animation;
mod cameras;
mod container;
mod image;
mod material;
mod nodes;
mod primitive;
mod scenes;
mod variants;

use std::path::Path;

use gltf::json::{Root, Value, mesh::Primitive};
use serde_json::Map;

use self::{container::File, image::ImageCache};
use crate::{LoadOptions, files::foreign::SPLAT, model::Model};

/// Names of the extensions that a file may require. They are implemented, or do not affect the image.
const KNOWN: [&str; 29] = [
    "CESIUM_RTC",
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "EXT_texture_webp",
    "FB_ngon_encoding",
    "KHR_animation_pointer",
    "KHR_draco_mesh_compression",
    "KHR_lights_punctual",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_diffuse_transmission",
    "KHR_materials_dispersion",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_mesh_quantization",
    "KHR_node_visibility",
    "KHR_texture_basisu",
    "KHR_texture_transform",
    "KHR_xmp",
    "KHR_xmp_json_ld",
    "MSFT_lod",
];

/// An opened `.gltf` or `.glb` file, from which several models can be read, such as the frames of an animation. Its
/// buffers are in memory. An image is decoded when a model first uses it, and kept for the next models.
pub(crate) struct GltfFile {
    file: File,
    images: ImageCache,
}

impl GltfFile {
    /// Reads a `.gltf` or `.glb` file and its buffers, but no images. Fails with a one-line message that does not name
    /// the file.
    pub(crate) fn open(path: &Path) -> Result<GltfFile, String> {
        let file = File::open(path)?;
        check_version(&file)?;
        Ok(GltfFile {
            file,
            images: ImageCache::new(),
        })
    }

    /// Reads the model as `options` selects it: its geometry at a time, its materials, and the images that they use.
    ///
    /// Fails with a one-line message that names the faulty glTF object, but not the file. Features that are not shown
    /// are warnings in [`Model::notes`].
    pub(crate) fn read(&mut self, options: &LoadOptions) -> Result<Model, String> {
        read(&self.file, &mut self.images, options)
    }

    /// Returns whether the file has animations.
    pub(crate) fn is_animated(&self) -> bool {
        !self.file.root.animations.is_empty()
    }
}

/// Reads the model of a file as [`GltfFile::read`] does.
fn read(file: &File, images: &mut ImageCache, options: &LoadOptions) -> Result<Model, String> {
    let mut model = Model::default();
    let unknown = |names: &[String]| -> Vec<String> {
        let known = |name: &String| KNOWN.contains(&name.as_str());
        let unknown = names.iter().filter(|name| !known(name));
        unknown.map(|name| crate::error::excerpt(name)).collect()
    };
    let required = unknown(&file.root.extensions_required);
    if !required.is_empty() {
        return Err(format!(
            "requires {}, which is not supported; export it without",
            required.join(", ")
        ));
    }
    let root = &file.root;
    let used = root.extensions_used.iter();
    let used = used.filter(|name| !KNOWN.contains(&name.as_str()));
    let used: Vec<String> = used
        .map(|name| crate::error::excerpt(name) + &uses(root, name))
        .collect();
    if !used.is_empty() {
        model.note(format!("not shown: {}", used.join(", ")));
    }
    if has_splats(file) {
        let primitives = root.meshes.iter().flat_map(|mesh| &mesh.primitives);
        let splats = primitives.filter(|primitive| primitive::has_strokes(primitive));
        let text = "not shown: the Gaussian splats of {}";
        model.note_count(text, ["primitive", "primitives"], splats.count() as u64);
    }
    nodes::read(file, images, options, &mut model)?;
    model.bake_flat_instances()?;
    if model.instances.is_empty() && model.spheres.is_empty() {
        return Err(match has_splats(file) {
            true => SPLAT.to_owned(),
            false => scenes::nothing_to_show(root),
        });
    }
    Ok(model)
}

/// Returns whether the file uses an extension for Gaussian splats, whose points are not surfaces.
fn has_splats(file: &File) -> bool {
    let used = &file.root.extensions_used;
    used.iter().any(|name| name.contains("splat"))
}

/// Returns how many objects of which kinds use an extension, as ` (2 materials, 1 node)`. Returns an empty string if
/// none does, or only objects of other kinds.
fn uses(root: &Root, name: &str) -> String {
    let has = |others: Option<&Map<String, Value>>| {
        others.is_some_and(|others| others.contains_key(name))
    };
    let materials = root.materials.iter().filter(|material| {
        let extensions = material.extensions.as_ref();
        has(extensions.map(|extensions| &extensions.others))
    });
    let textures = root.textures.iter().filter(|texture| {
        let extensions = texture.extensions.as_ref();
        has(extensions.map(|extensions| &extensions.others))
    });
    let nodes = root.nodes.iter().filter(|node| {
        let extensions = node.extensions.as_ref();
        has(extensions.map(|extensions| &extensions.others))
    });
    let counts = [
        (materials.count(), "material"),
        (textures.count(), "texture"),
        (nodes.count(), "node"),
        (primitives_with(root, name), "primitive"),
    ];
    let counts: Vec<String> = (counts.iter())
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{count} {kind}{}", if *count == 1 { "" } else { "s" }))
        .collect();
    match counts.is_empty() {
        true => String::new(),
        false => format!(" ({})", counts.join(", ")),
    }
}

/// Returns the number of primitives that use an extension.
fn primitives_with(root: &Root, name: &str) -> usize {
    let primitives = root.meshes.iter().flat_map(|mesh| &mesh.primitives);
    let uses = |primitive: &&Primitive| {
        let extensions = primitive.extensions.as_ref();
        extensions.is_some_and(|extensions| extensions.others.contains_key(name))
    };
    primitives.filter(uses).count()
}

/// Fails unless readers of glTF 2.0 must be able to read the file: its `minVersion` is 2.0, or it has no `minVersion`
/// and its version is 2.x.
fn check_version(file: &File) -> Result<(), String> {
    let asset = &file.root.asset;
    match asset
        .min_version
        .as_ref()
        .unwrap_or(&asset.version)
        .as_str()
    {
        "2.0" => Ok(()),
        _ if asset.version.starts_with("2.") && asset.min_version.is_none() => Ok(()),
        "" => Err("has no glTF version, expected 2.0; export it again".to_owned()),
        version => Err(format!(
            "is glTF {}, expected 2.0; convert it",
            crate::error::excerpt(version)
        )),
    }
}
