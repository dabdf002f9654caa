//! Names of the parameters of Mitsuba's plugins.

use std::rc::Rc;

use super::{
    Converter,
    document::{Document, Object},
};
use crate::error::excerpt;

impl Converter<'_> {
    /// Adds a warning about the parameters that their plugins do not have. Mitsuba refuses them; here a typing error
    /// would have the default of the right parameter without a word.
    pub(super) fn note_unknown_parameters(&mut self) {
        let document = self.document;
        let mut open: Vec<&Rc<Object>> = vec![&document.root];
        while let Some(object) = open.pop() {
            open.extend(document.own_children(object));
            let unknown = unknown(document, object);
            if !unknown.is_empty() {
                let plugin = excerpt(&object.plugin);
                let names = unknown.into_iter();
                let names = names.map(|name| format!("{} of {plugin}", excerpt(name)));
                self.scene.note_unknown(names);
            }
        }
    }
}

/// Returns the names of the parameters of an object that its plugin does not have; none if the plugin is not known.
fn unknown<'o>(document: &'o Document, object: &'o Object) -> Vec<&'o str> {
    let tag = object.tag.as_str();
    let common: &[&str] = match tag {
        "shape" => &[
            "to_world",
            "flip_normals",
            "silhouette_sampling_weight",
            // Of older versions.
            "name",
        ],
        "emitter" => &["to_world", "sampling_weight"],
        "sensor" => &[
            "to_world",
            "shutter_open",
            "shutter_close",
            "near_clip",
            "far_clip",
        ],
        "texture" => &["to_uv", "uscale", "vscale", "uoffset", "voffset"],
        "film" => &[
            "width",
            "height",
            "crop_offset_x",
            "crop_offset_y",
            "crop_width",
            "crop_height",
        ],
        "bsdf" | "integrator" => &[],
        _ => return Vec::new(),
    };
    let Some(own) = parameters(tag, &object.plugin) else {
        return Vec::new();
    };
    let textures = document
        .children(object)
        .filter(|(_, child)| child.tag == "texture");
    // Unnamed textures are those of bump maps; meshes have attributes of any name.
    let textures = textures
        .map(|(name, _)| name)
        .filter(|name| !name.is_empty() && tag != "shape");
    let nested = matches!(object.plugin.as_str(), "bumpmap" | "normalmap");
    let textures = textures.filter(|_| !nested);
    let is_unknown = |name: &&str| !common.contains(name) && !own.contains(name);
    object
        .value_names()
        .chain(textures)
        .filter(is_unknown)
        .collect()
}

/// Returns the parameters of a plugin that not all plugins of its kind have, in snake case; `None` if it is not known.
/// Those of older versions are included.
fn parameters(tag: &str, plugin: &str) -> Option<&'static [&'static str]> {
    Some(match (tag, plugin) {
        ("shape", "obj" | "ply" | "serialized") => &[
            "filename",
            "face_normals",
            "flip_tex_coords",
            "shape_index",
            "collapse",
        ],
        ("shape", "sphere") => &["center", "radius"],
        ("shape", "cylinder") => &["p0", "p1", "radius"],
        ("shape", "bsplinecurve" | "linearcurve") => &["filename", "control_point_count"],
        ("shape", "rectangle" | "cube" | "disk" | "shapegroup" | "instance" | "merge") => &[],
        ("bsdf", "diffuse" | "lambertian") => &["reflectance", "diffuse_reflectance"],
        ("bsdf", "dielectric" | "thindielectric") => &[
            "int_ior",
            "ext_ior",
            "eta",
            "specular_reflectance",
            "specular_transmittance",
        ],
        ("bsdf", "roughdielectric") => &[
            "int_ior",
            "ext_ior",
            "eta",
            "specular_reflectance",
            "specular_transmittance",
            "distribution",
            "alpha",
            "alpha_u",
            "alpha_v",
            "sample_visible",
        ],
        ("bsdf", "conductor" | "roughconductor") => &[
            "material",
            "eta",
            "k",
            "specular_reflectance",
            "distribution",
            "alpha",
            "alpha_u",
            "alpha_v",
            "sample_visible",
        ],
        ("bsdf", "plastic" | "roughplastic" | "pplastic") => &[
            "diffuse_reflectance",
            "specular_reflectance",
            "int_ior",
            "ext_ior",
            "eta",
            "nonlinear",
            "distribution",
            "alpha",
            "alpha_u",
            "alpha_v",
            "sample_visible",
        ],
        ("bsdf", "principledthin") => &[
            "base_color",
            "roughness",
            "anisotropic",
            "spec_trans",
            "eta",
            "spec_tint",
            "sheen",
            "sheen_tint",
            "flatness",
            "diff_trans",
            "diffuse_reflectance_sampling_rate",
            "specular_reflectance_sampling_rate",
            "spec_trans_sampling_rate",
            "diff_trans_sampling_rate",
        ],
        ("bsdf", "principled") => &[
            "base_color",
            "roughness",
            "anisotropic",
            "metallic",
            "spec_trans",
            "eta",
            "specular",
            "spec_tint",
            "sheen",
            "sheen_tint",
            "flatness",
            "clearcoat",
            "clearcoat_gloss",
            "diffuse_reflectance_sampling_rate",
            "specular_reflectance_sampling_rate",
            "clearcoat_sampling_rate",
            "main_specular_sampling_rate",
            "spec_trans_sampling_rate",
        ],
        ("bsdf", "polarizer" | "circular" | "retarder") => &[
            "theta",
            "delta",
            "transmittance",
            "polarizing",
            "left_handed",
        ],
        ("bsdf", "twosided") => &["allow_transmission"],
        ("bsdf", "mask") => &["opacity"],
        ("bsdf", "blendbsdf") => &["weight"],
        ("bsdf", "bumpmap" | "bump") => {
            &["scale", "flip_invalid_normals", "use_shadowing_function"]
        }
        ("bsdf", "normalmap") => &["flip_invalid_normals", "use_shadowing_function"],
        ("emitter", "area" | "directionalarea") => &["radiance"],
        ("emitter", "constant") => &["radiance"],
        ("emitter", "point") => &["position", "intensity"],
        ("emitter", "spot") => &["intensity", "cutoff_angle", "beam_width", "texture"],
        ("emitter", "projector") => &["irradiance", "scale", "fov", "fov_axis", "focal_length"],
        ("emitter", "directional") => &["direction", "irradiance"],
        ("emitter", "envmap") => &["filename", "scale", "mis_compensation", "cache"],
        ("emitter", "sunsky" | "sky" | "sun") => &[
            "scale",
            "sun_scale",
            "sky_scale",
            "sun_aperture",
            "sun_direction",
            "turbidity",
            "albedo",
            "complex_sun",
            "year",
            "month",
            "day",
            "hour",
            "minute",
            "second",
            "latitude",
            "longitude",
            "timezone",
            "resolution",
        ],
        ("texture", "bitmap") => &[
            "filename",
            "filter_type",
            "wrap_mode",
            "wrap_mode_u",
            "wrap_mode_v",
            "raw",
            "accel",
            "format",
            "gamma",
            "max_anisotropy",
            "cache",
        ],
        ("texture", "checkerboard") => &["color0", "color1"],
        ("sensor", "perspective" | "thinlens") => &[
            "fov",
            "fov_axis",
            "focal_length",
            "aperture_radius",
            "focus_distance",
            "principal_point_offset_x",
            "principal_point_offset_y",
        ],
        ("sensor", "orthographic") => &["focus_distance"],
        ("film", "hdrfilm") => &[
            "file_format",
            "pixel_format",
            "component_format",
            "channel_names",
            "sample_border",
            "compensate",
            "banner",
            "high_quality_edges",
            "attach_log",
        ],
        ("integrator", "path" | "volpath" | "volpathmis" | "direct") => &[
            "max_depth",
            "rr_depth",
            "hide_emitters",
            "samples_per_pass",
            "block_size",
            "timeout",
            "shading_samples",
            "emitter_samples",
            "bsdf_samples",
            "use_nee",
            "use_mis",
        ],
        _ => return None,
    })
}
