//! Material variants (`KHR_materials_variants`): the materials of primitives in the variant that is shown.

use gltf::json::mesh::Primitive;

use super::container::File;
use crate::{
    load_options::{choose, listed},
    model::Model,
};

/// The material variant that is shown: its index in the file, or `None` for the default materials.
pub(super) type Variant = Option<usize>;

/// Returns the variant with the name `wanted`. Without a name it returns `None`, with a warning in `model` if the file
/// has variants.
///
/// Fails with a message that lists the variants if there is none of that name.
pub(super) fn variant(
    file: &File,
    wanted: Option<&str>,
    model: &mut Model,
) -> Result<Variant, String> {
    let extensions = file.root.extensions.as_ref();
    let written = extensions.and_then(|extensions| extensions.khr_materials_variants.as_ref());
    let variants = written.map_or(&[][..], |written| &written.variants);
    let names: Vec<String> = variants
        .iter()
        .map(|variant| variant.name.clone())
        .collect();
    match wanted {
        Some(wanted) => choose("variant", &names, wanted).map(Some),
        None => {
            if !names.is_empty() {
                let list = listed(names.iter().map(String::as_str), false);
                model.note(format!(
                    "shown with its default materials and without its variants {list} (`--variant`, or `variant` in a scene)"
                ));
            }
            Ok(None)
        }
    }
}

/// Returns the file's index of the material that a primitive has in a variant. It is the default material of the
/// primitive if the variant does not map it to another one, and `None` if there is no such material either.
///
/// The index may be invalid.
pub(super) fn material(primitive: &Primitive, variant: Variant) -> Option<usize> {
    let extensions = primitive.extensions.as_ref();
    let mappings = extensions.and_then(|extensions| extensions.khr_materials_variants.as_ref());
    let mapped = variant.and_then(|variant| {
        let mappings = &mappings?.mappings;
        let of_variant = mappings.iter().find(|mapping| {
            let mut variants = mapping.variants.iter();
            variants.any(|&index| index as usize == variant)
        });
        of_variant.map(|mapping| mapping.material as usize)
    });
    mapped.or_else(|| Some(primitive.material?.value()))
}
