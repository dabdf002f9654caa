//! Names of the parameters of pbrt's directives.

use super::{Converter, parameters::Parameters};
use crate::error::excerpt;

impl Converter {
    /// Adds the parameters that a directive does not have for this type to a warning. pbrt refuses them; here a typing
    /// error would have the default of the right parameter without a word.
    pub(super) fn check_names(&mut self, directive: &str, kind: &str, parameters: &Parameters) {
        let Some(own) = known(directive, kind) else {
            return;
        };
        let common: &[&str] = match directive {
            "Shape" => &["alpha"],
            "Material" => &["type", "displacement", "normalmap"],
            "LightSource" => &["scale", "nsamples", "samples"],
            "Texture" => &[
                "mapping", "uscale", "vscale", "udelta", "vdelta", "v1", "v2",
            ],
            _ => &[],
        };
        let is_unknown = |name: &&str| !common.contains(name) && !own.contains(name);
        let mut names = parameters.names().filter(is_unknown).peekable();
        if names.peek().is_some() {
            let kind = excerpt(kind);
            self.scene
                .note_unknown(names.map(|name| format!("{} of {kind}", excerpt(name))));
        }
    }
}

/// Returns the parameters of a directive with this type that not all types of the directive have; `None` if the type is
/// not known.
fn known(directive: &str, kind: &str) -> Option<&'static [&'static str]> {
    Some(match (directive, kind) {
        ("Shape", "sphere") => &["radius", "zmin", "zmax", "phimax"],
        ("Shape", "cylinder") => &["radius", "zmin", "zmax", "phimax"],
        ("Shape", "disk") => &["height", "radius", "innerradius", "phimax"],
        ("Shape", "trianglemesh") => &["indices", "P", "N", "S", "uv", "st", "faceIndices"],
        ("Shape", "bilinearmesh") => &[
            "indices",
            "P",
            "N",
            "uv",
            "st",
            "faceIndices",
            "emissionfilename",
        ],
        ("Shape", "plymesh") => &[
            "filename",
            "displacement",
            "edgelength",
            "displacement.edgelength",
        ],
        ("Shape", "loopsubdiv") => &["levels", "nlevels", "indices", "P", "scheme"],
        ("Shape", "curve") => &[
            "P",
            "basis",
            "degree",
            "type",
            "N",
            "width",
            "width0",
            "width1",
            "splitdepth",
        ],
        ("AreaLightSource", "diffuse") => &[
            "L", "scale", "power", "twosided", "filename", "nsamples", "samples",
        ],
        ("LightSource", "point") => &["I", "from", "power"],
        ("LightSource", "spot") => &["I", "from", "to", "coneangle", "conedeltaangle", "power"],
        ("LightSource", "projection") => &["fov", "filename", "power"],
        ("LightSource", "goniometric") => &["I", "filename", "power"],
        ("LightSource", "distant") => &["L", "from", "to", "illuminance"],
        ("LightSource", "infinite") => &["L", "filename", "mapname", "portal", "illuminance"],
        ("Material", "diffuse") => &["reflectance"],
        ("Material", "diffusetransmission") => &["reflectance", "transmittance", "scale"],
        ("Material", "coateddiffuse") => &[
            "reflectance",
            "roughness",
            "uroughness",
            "vroughness",
            "remaproughness",
            "thickness",
            "eta",
            "albedo",
            "g",
            "maxdepth",
            "nsamples",
        ],
        ("Material", "conductor") => &[
            "eta",
            "k",
            "reflectance",
            "roughness",
            "uroughness",
            "vroughness",
            "remaproughness",
        ],
        ("Material", "coatedconductor") => &[
            "interface.roughness",
            "interface.uroughness",
            "interface.vroughness",
            "interface.eta",
            "interface.thickness",
            "thickness",
            "conductor.eta",
            "conductor.k",
            "conductor.roughness",
            "conductor.uroughness",
            "conductor.vroughness",
            "conductor.reflectance",
            "reflectance",
            "remaproughness",
            "albedo",
            "g",
            "maxdepth",
            "nsamples",
        ],
        ("Material", "dielectric") => &[
            "eta",
            "roughness",
            "uroughness",
            "vroughness",
            "remaproughness",
        ],
        ("Material", "thindielectric") => &["eta"],
        ("Material", "mix") => &["materials", "amount"],
        ("Texture", "constant") => &["value"],
        ("Texture", "scale") => &["tex", "scale"],
        ("Texture", "mix") => &["tex1", "tex2", "amount"],
        ("Texture", "directionmix") => &["tex1", "tex2", "dir"],
        ("Texture", "checkerboard") => &["tex1", "tex2", "dimension"],
        ("Texture", "dots") => &["inside", "outside"],
        ("Texture", "imagemap") => &[
            "filename",
            "wrap",
            "scale",
            "invert",
            "filter",
            "encoding",
            "maxanisotropy",
        ],
        ("Camera", "perspective") => &[
            "fov",
            "frameaspectratio",
            "screenwindow",
            "lensradius",
            "focaldistance",
            "shutteropen",
            "shutterclose",
        ],
        ("Camera", "orthographic") => &[
            "frameaspectratio",
            "screenwindow",
            "lensradius",
            "focaldistance",
            "shutteropen",
            "shutterclose",
        ],
        ("Film", "rgb" | "gbuffer" | "spectral") => &[
            "xresolution",
            "yresolution",
            "cropwindow",
            "pixelbounds",
            "diagonal",
            "filename",
            "savefp16",
            "sensor",
            "iso",
            "exposuretime",
            "whitebalance",
            "maxcomponentvalue",
            "coordinatesystem",
            "nbuckets",
            "lambdamin",
            "lambdamax",
        ],
        ("PixelFilter", "box") => &["xradius", "yradius"],
        ("PixelFilter", "gaussian") => &["xradius", "yradius", "sigma"],
        ("Integrator", "path" | "volpath") => {
            &["maxdepth", "lightsampler", "regularize", "rrthreshold"]
        }
        ("Sampler", "stratified") => &["xsamples", "ysamples", "jitter", "seed"],
        ("Sampler", "halton" | "independent" | "paddedsobol" | "pmj02bn" | "sobol" | "zsobol") => {
            &["pixelsamples", "randomization", "seed"]
        }
        _ => return None,
    })
}
