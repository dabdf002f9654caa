//! Options that choose among what a model file offers, and the frames of its animation.

use clap::Args;
use raysieve_scene::LoadOptions;

use super::{
    framing::FramingArguments,
    values::{definition, frame_range, frame_rate, line_width, seconds},
};

/// Options that choose among what a glTF file offers (a material variant, a camera, and the time of its animations),
/// and those of camera and light.
#[derive(Args, Clone, Debug)]
pub(super) struct ModelArguments {
    /// Material variant of a glTF file (KHR_materials_variants) to show, such as --variant "street"; a wrong name lists
    /// the variants [default: the default materials]
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    variant: Option<String>,

    /// Camera of a glTF file to show it from, by name or number from 1, such as --camera 2; a wrong name lists the
    /// cameras [default: the first, otherwise a view of the whole model]
    #[arg(long, value_name = "NAME|N", help_heading = "Model")]
    camera: Option<String>,

    /// Animation of a glTF file to play, by name or number from 1, such as --animation Walk, or all; a wrong name lists
    /// the animations. Without --time, it is shown at 0 s [default: all]
    #[arg(long, value_name = "NAME|N|all", help_heading = "Model")]
    animation: Option<String>,

    /// Time in seconds at which the animations of a glTF file are shown, such as --time 1.5; in a .ron scene, also
    /// those of its models [default: the rest pose]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Model")]
    time: Option<f64>,

    /// Diameter in metres of the tubes and spheres that show lines and points of a glTF or PLY file, such as --line-width
    /// 0.01 [default: 1/200 of the size of the model]
    #[arg(long, value_name = "METRES", value_parser = line_width, help_heading = "Model")]
    line_width: Option<f64>,

    /// Value of `$NAME` in a Mitsuba scene, such as --define spp=64, instead of that of its <default>; can be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = definition, help_heading = "Model")]
    define: Vec<(String, String)>,

    #[command(flatten)]
    framing: FramingArguments,
}

impl ModelArguments {
    /// Returns the choices of the command line.
    pub(super) fn options(&self) -> LoadOptions {
        let mut options = LoadOptions {
            variant: self.variant.clone(),
            camera: self.camera.clone(),
            animation: self.animation.clone(),
            time: self.time,
            line_width: self.line_width,
            defines: self.define.clone(),
            ..LoadOptions::default()
        };
        self.framing.add_to(&mut options);
        options
    }
}

/// The frames of a sequence that are rendered, one image each: of an animation or of a turntable.
#[derive(Args, Clone, Debug)]
pub(crate) struct FrameArguments {
    /// Render frames A to B-1 of an animation, each into an image with its number, such as --frames 0..48 -o fox.png
    /// for fox.0000.png to fox.0047.png; implies --headless [default: one image]
    #[arg(long, value_name = "A..B", value_parser = frame_range, allow_hyphen_values = true,
        conflicts_with_all = ["time", "turntable", "samples", "checkpoint", "serve", "scene_hash"], help_heading = "Model")]
    frames: Option<(u32, u32)>,

    /// Frames per second of --frames, 0.001 to 1000, such as --fps 30: frame N shows the time N / FPS
    #[arg(long, value_name = "N", value_parser = frame_rate, default_value = "24", requires = "frames",
        help_heading = "Model")]
    fps: f64,

    /// Render N images while the camera circles its target once, from its own azimuth on, such as --turntable 36 -o
    /// shoe.png for shoe.0000.png to shoe.0035.png; implies --headless [default: one image]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=MAX_TURNTABLE),
        conflicts_with_all = ["samples", "checkpoint", "serve", "scene_hash"], help_heading = "Model")]
    turntable: Option<u32>,
}

/// Maximum number of images of `--turntable`.
const MAX_TURNTABLE: i64 = 10_000;

/// A frame of a sequence: its number, and the time or camera angle that it shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    /// Number of the frame, which its image has in its name.
    pub(crate) number: u32,
    /// Time or angle of the frame.
    pub(crate) view: FrameView,
}

/// The time or the angle of a frame of a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FrameView {
    /// The animations of the scene at this time in seconds.
    Time(f64),
    /// The scene from a camera that has circled its target counter-clockwise, seen from above, by this angle in
    /// degrees.
    Turn(f64),
}

impl FrameArguments {
    /// Returns the frames to render, one or more. `None` without `--frames` and `--turntable`.
    pub(crate) fn frames(&self) -> Option<Vec<Frame>> {
        let (first, end) = self.frames.or(self.turntable.map(|count| (0, count)))?;
        let frame = |number: u32| Frame {
            number,
            view: match self.turntable {
                Some(count) => FrameView::Turn(360.0 * f64::from(number) / f64::from(count)),
                None => FrameView::Time(f64::from(number) / self.fps),
            },
        };
        Some((first..end).map(frame).collect())
    }

    /// Returns whether the command line asks for a sequence of images.
    pub(super) fn is_sequence(&self) -> bool {
        self.frames.is_some() || self.turntable.is_some()
    }
}
