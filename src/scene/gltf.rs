//! glTF 2.0, as `.gltf` with its files beside it or as `.glb`.
//!
//! The crate `gltf` knows what stands in the JSON; where it leads is followed here, so that no index, length or name of a
//! file is trusted: an error names the thing by its index, from 0, as glTF counts.

mod accessor;
mod compressed;
mod container;
mod image;
mod material;
mod nodes;
mod primitive;

use std::path::Path;

use super::model::Model;
use container::File;

/// Extensions that are followed, or change nothing if they are passed over.
const KNOWN: [&str; 21] = [
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "EXT_texture_webp",
    "KHR_animation_pointer",
    "KHR_draco_mesh_compression",
    "KHR_lights_punctual",
    "KHR_materials_clearcoat",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_mesh_quantization",
    "KHR_texture_basisu",
    "KHR_texture_transform",
    "KHR_xmp",
    "KHR_xmp_json_ld",
    "MSFT_lod",
];

/// Reads a `.gltf` or `.glb` file and what it refers to. `Err` says what is wrong, and where in the file.
pub(super) fn read(path: &Path) -> Result<Model, String> {
    let file = File::open(path)?;
    check_version(&file)?;
    let mut model = Model::default();
    let unknown = |names: &[String]| -> Vec<String> {
        let known = |name: &String| KNOWN.contains(&name.as_str());
        let unknown = names.iter().filter(|name| !known(name));
        unknown.map(|name| super::source::excerpt(name)).collect()
    };
    let required = unknown(&file.root.extensions_required);
    if !required.is_empty() {
        return Err(format!(
            "cannot be shown without {}, which raysieve does not know; export it without",
            required.join(", ")
        ));
    }
    let used = unknown(&file.root.extensions_used);
    if !used.is_empty() {
        model.note(format!("not shown: {}", used.join(", ")));
    }
    let root = &file.root;
    match root.animations.len() {
        0 => {}
        1 => model.note("shown at rest: its animation does not play".to_owned()),
        count => model.note(format!(
            "shown at rest: none of its {count} animations plays"
        )),
    }
    if root.scenes.len() > 1 {
        let shown = root.scene.map_or(0, |scene| scene.value());
        let count = root.scenes.len();
        model.note(format!("shown is scene {shown} of {count}, counted from 0"));
    }
    nodes::place(&file, &mut model)?;
    model.lay_flat()?;
    if model.instances.is_empty() {
        return Err("has no triangles that can be shown".to_owned());
    }
    Ok(model)
}

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
        version => Err(format!(
            "is glTF {}, expected 2.0; convert it",
            super::source::excerpt(version)
        )),
    }
}
