//! Options of camera and light that need no scene file.

use clap::Args;
use raysieve_scene::{CameraFrom, LoadOptions, UpAxis};

use super::values::{camera_from, field_of_view, up_axis};

/// Options that choose the view of a model or scene.
#[derive(Args, Clone, Debug)]
pub(super) struct FramingArguments {
    /// Axis of a model that points up: x, y or z, such as --up z for files of CAD programs [default: y]
    #[arg(long, value_name = "AXIS", value_parser = up_axis(), help_heading = "Camera and light")]
    up: Option<UpAxis>,

    /// Direction from which the camera looks at the model or at the target of the scene, in degrees: azimuth from 0 in
    /// front (+z) to 90 on the right (+x), and elevation, such as --camera-from 35,20. The camera shows the whole model,
    /// or stands at this distance in metres [default: the file's camera, otherwise 35,20]
    #[arg(long, value_name = "AZIMUTH,ELEVATION[,DISTANCE]", value_parser = camera_from, allow_hyphen_values = true,
        conflicts_with = "camera", help_heading = "Camera and light")]
    camera_from: Option<CameraFrom>,

    /// Horizontal angle of view in degrees, 0.001 to 179.999, such as --fov 40 [default: the file's, otherwise 28 along
    /// the shorter side of the image]
    #[arg(long, value_name = "DEGREES", value_parser = field_of_view, help_heading = "Camera and light")]
    fov: Option<f32>,

    /// Use an orthographic camera, whose rays are parallel [default: the file's projection, otherwise perspective]
    #[arg(long, conflicts_with = "fov", help_heading = "Camera and light")]
    orthographic: bool,
}

impl FramingArguments {
    /// Adds the choices of the command line to `options`.
    pub(super) fn add_to(&self, options: &mut LoadOptions) {
        options.up = self.up.unwrap_or_default();
        options.camera_from = self.camera_from;
        options.fov_degrees = self.fov;
        options.orthographic = self.orthographic;
    }
}
