//! Options of camera and light that need no scene file.

use clap::Args;
use raysieve_scene::{Background, CameraFrom, EnvironmentFile, LoadOptions, UpAxis};

use super::values::{background, camera_from, environment, field_of_view, up_axis};

/// Options that choose the view of a model or scene, its environment and its background.
#[derive(Args, Clone, Debug)]
pub(super) struct FramingArguments {
    /// Axis of a model, or of a scene of Mitsuba or pbrt, that points up: x, y or z, such as --up z for files of CAD
    /// programs [default: y; in those scenes the one that points up in their camera's image]
    #[arg(long, value_name = "AXIS", value_parser = up_axis(), help_heading = "Camera and light")]
    up: Option<UpAxis>,

    /// Direction from which the camera looks at the model or at the target of the scene, in degrees: azimuth from 0 in
    /// front (+z) to 90 on the right (+x), and elevation, such as --camera-from 35,20. The camera shows the whole
    /// model, or stands at this distance in metres [default: the file's camera, otherwise 35,20]
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

    /// Light the scene by this environment map, an .hdr or .exr file, turned counter-clockwise by ROTATION degrees and
    /// with its values multiplied by STRENGTH, such as --env studio.hdr,90,0.5. It replaces the sky, environment or sun
    /// and sky of a scene, and the default lighting of a model [default: the scene's or the default lighting]
    #[arg(long, value_name = "FILE[,ROTATION[,STRENGTH]]", value_parser = environment,
        help_heading = "Camera and light")]
    env: Option<EnvironmentFile>,

    /// Show this where camera rays hit nothing: a color (#rrggbb in sRGB, white, gray or black), env (the environment),
    /// or transparent (images with alpha). It does not light the scene [default: the scene's, otherwise env]
    #[arg(long, value_name = "COLOR|env|transparent", value_parser = background, help_heading = "Camera and light")]
    background: Option<Background>,

    /// Show the shadows of the objects on an invisible ground below them, as black with alpha; only with a transparent
    /// background [default: the scene's, otherwise no ground]
    #[arg(long, help_heading = "Camera and light")]
    ground: bool,
}

impl FramingArguments {
    /// Adds the choices of the command line to `options`.
    pub(super) fn add_to(&self, options: &mut LoadOptions) {
        options.up = self.up;
        options.camera_from = self.camera_from;
        options.fov_degrees = self.fov;
        options.orthographic = self.orthographic;
        options.environment = self.env.clone();
        options.background = self.background;
        options.ground = self.ground;
    }
}
