//! Options for loading a scene or model: choices among the contents of a file, and changes of camera and light.

use std::path::PathBuf;

use glam::{DMat3, DVec3};

use crate::{error::excerpt, scene::Background};

/// Value of [`LoadOptions::animation`] that plays all animations, in a file without an animation of that name.
pub(crate) const ALL_ANIMATIONS: &str = "all";

/// Choices among what a model file offers, and changes of camera and light. The default shows the default materials,
/// the first camera or a view of the whole model, the rest pose, and the default lighting.
///
/// Cameras and animations are chosen by their name in the file or by their number, which starts at 1. A name takes
/// precedence over a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadOptions {
    /// Name of a material variant of a glTF file (`KHR_materials_variants`); `None` for the default materials.
    pub variant: Option<String>,
    /// Name or number of a camera of a glTF file or Mitsuba scene; `None` for the first one.
    pub camera: Option<String>,
    /// Name or number of the animation of a glTF file that plays, or `all`; `None` also plays all, but only at a
    /// `time`. A chosen animation without a `time` is shown at 0 s.
    pub animation: Option<String>,
    /// Time in seconds at which the animations of a glTF file are shown; `None` for the rest pose. Before its first and
    /// after its last keyframe, an animated property keeps the value of that keyframe.
    pub time: Option<f64>,
    /// Diameter in metres of the spheres and tubes that show the points and lines of a glTF or PLY file, above 0 and up to
    /// 1e8. `None` for 1/200 of the diagonal of the model's bounding box.
    pub line_width: Option<f64>,
    /// Names with the values that replace `$name` in a Mitsuba scene, instead of those of its elements `<default>`. It is
    /// an error if the scene does not use one.
    pub defines: Vec<(String, String)>,
    /// Axis of a file that points up. The model, or the scene of Mitsuba or pbrt, is turned so that it becomes +y.
    ///
    /// `None` stands for +y. Exceptions are scenes of Mitsuba and pbrt in which the camera's top is closest to +z: they
    /// are turned if `camera_from`, `turntable`, `ground` or `environment` is set, which need a vertical axis.
    pub up: Option<UpAxis>,
    /// Direction from which the camera looks; `None` for the camera of the file, or the default direction.
    pub camera_from: Option<CameraFrom>,
    /// Whether a view of the whole model shows it completely from every azimuth, so that the camera can circle it.
    pub turntable: bool,
    /// Horizontal angle of view in degrees, 0.001 to 179.999. `None` for that of the file's camera or, in a default
    /// view, 28° along the shorter side of the image. It is an error for a file whose camera is orthographic.
    pub fov_degrees: Option<f32>,
    /// Whether the camera is made orthographic. Then `fov_degrees` is ignored.
    pub orthographic: bool,
    /// Environment map that lights the scene instead of the sky, environment or sun and sky of a scene file, or of the
    /// default lighting of a model; `None` keeps these. Other lights stay.
    pub environment: Option<EnvironmentFile>,
    /// Background that camera rays see if they hit nothing; `None` for the background of the scene file, or the
    /// environment. A color is divided by the gain of the scene's exposure, so that it does not affect the displayed
    /// color.
    pub background: Option<Background>,
    /// Whether an invisible ground under the objects catches shadows in the alpha of images. It is an error unless the
    /// background is transparent.
    pub ground: bool,
}

/// An environment map in latitude-longitude format that replaces the one of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvironmentFile {
    /// Path of an `.hdr` or `.exr` file.
    pub path: PathBuf,
    /// Rotation about +y in degrees, counter-clockwise seen from above, like the scene format's `rotate_y`.
    pub rotate_degrees: f64,
    /// Factor from the values of the file to radiance in W·sr⁻¹·m⁻², 0 or more. For a model, whose exposure follows
    /// from the lights of its file, the factor is divided by the gain of that exposure, 2 to the power of its stops.
    pub scale: f32,
}

/// The axis of a file that points up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpAxis {
    /// The file's +x points up.
    X,
    /// The file's +y points up, as in glTF.
    #[default]
    Y,
    /// The file's +z points up, as in most programs for CAD and 3D printing.
    Z,
}

impl UpAxis {
    /// Returns the rotation angles about x, y and z in degrees that turn the axis to +y, in the order of the scene
    /// format's `rotate`.
    pub(crate) fn rotate_degrees(self) -> [f64; 3] {
        match self {
            UpAxis::X => [0.0, 0.0, 90.0],
            UpAxis::Y => [0.0; 3],
            UpAxis::Z => [-90.0, 0.0, 0.0],
        }
    }

    /// Returns the rotation that turns the axis to +y. Its numbers are exact.
    pub(crate) fn to_y(self) -> DMat3 {
        match self {
            UpAxis::X => DMat3::from_cols(DVec3::Y, DVec3::NEG_X, DVec3::Z),
            UpAxis::Y => DMat3::IDENTITY,
            UpAxis::Z => DMat3::from_cols(DVec3::X, DVec3::NEG_Z, DVec3::Y),
        }
    }
}

/// The direction from which a camera looks at its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraFrom {
    /// Azimuth of the camera in degrees, -360 to 360: 0 in front, at +z, and 90 on the right, at +x.
    pub azimuth_degrees: f64,
    /// Elevation of the camera above the horizontal plane in degrees, -90 to 90.
    pub elevation_degrees: f64,
    /// Distance in metres to the target of a scene's camera, or to the center of a model's bounding box, 1e-15 to 1e8.
    /// `None` keeps the distance of the scene's camera, and shows the whole model.
    pub distance: Option<f64>,
}

impl LoadOptions {
    /// Returns whether an option is set that depends on the vertical axis of the scene.
    pub(crate) fn need_vertical(&self) -> bool {
        self.camera_from.is_some() || self.turntable || self.ground || self.environment.is_some()
    }

    /// Returns the name of the first option that is set and that chooses among the contents of a file, such as
    /// `variant`. Returns `None` if no such option is set.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        let set = [
            ("variant", self.variant.is_some()),
            ("camera", self.camera.is_some()),
            ("animation", self.animation.is_some()),
            ("time", self.time.is_some()),
            ("line width", self.line_width.is_some()),
            ("definition", !self.defines.is_empty()),
        ];
        set.into_iter().find(|(_, set)| *set).map(|(name, _)| name)
    }
}

/// Maximum number of objects that a message lists; of further ones it gives the number.
const MAX_LISTED: usize = 12;

/// Returns the index in `names` of the object with the name `wanted`, or else of the one with that number, which starts
/// at 1. `kind` is the singular of the objects' name.
///
/// Fails with a message that lists what there is.
pub(crate) fn choose(kind: &str, names: &[String], wanted: &str) -> Result<usize, String> {
    let is_named = |name: &String| !name.is_empty() && name == wanted;
    let named = names.iter().position(is_named);
    let numbered = || {
        let number = wanted.parse::<usize>().ok()?.checked_sub(1)?;
        (number < names.len()).then_some(number)
    };
    named.or_else(numbered).ok_or_else(|| {
        let wanted = excerpt(wanted);
        match names.len() {
            0 => format!("has no {kind} {wanted:?}, because it has no {kind}s; omit that choice"),
            _ => format!(
                "has no {kind} {wanted:?}; expected one of {}",
                listed(names.iter().map(String::as_str), true)
            ),
        }
    })
}

/// Lists objects for a message, such as `1 "Front", 2 "Top"`, or without numbers `"Front", "Top"`. At most twelve are
/// listed.
pub(crate) fn listed<'n>(names: impl ExactSizeIterator<Item = &'n str>, numbered: bool) -> String {
    let more = names.len().saturating_sub(MAX_LISTED);
    let words = names.take(MAX_LISTED).zip(1..).map(|(name, number)| {
        let name = excerpt(name);
        match (numbered, name.is_empty()) {
            (true, true) => number.to_string(),
            (true, false) => format!("{number} \"{name}\""),
            (false, _) => format!("\"{name}\""),
        }
    });
    let mut text = words.collect::<Vec<_>>().join(", ");
    if more > 0 {
        text += &format!(" and {more} more");
    }
    text
}
