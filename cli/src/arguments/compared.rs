//! Comparison of an existing image: `raysieve IMAGE --compare FILE`, which renders nothing.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, parser::ValueSource};
use raysieve::render::output::PictureFormat;
use raysieve_scene::Scene;

use super::{Arguments, command};
use crate::{compare::map_path, error::Error};

/// Returns whether a path names an image by its extension: .png or .exr.
pub(crate) fn is_image(path: &Path) -> bool {
    PictureFormat::of(path).is_some()
}

/// Identifiers of the arguments that apply to the comparison of an existing image.
const APPLICABLE: [&str; 5] = ["scene", "compare", "output", "exposure", "tone"];

/// Returns [`Error::Usage`] if an image is given instead of a scene without `--compare`, or with options that apply
/// only to a render.
pub(super) fn check(arguments: &Arguments, matches: &ArgMatches) -> Result<(), Error> {
    let Some(image) = arguments.scene.as_deref().filter(|path| is_image(path)) else {
        return Ok(());
    };
    let name = image.display();
    if arguments.compare.is_none() {
        let problem = Scene::check_name(image).err().unwrap_or_default();
        return Err(Error::Usage(format!(
            "invalid value '{name}' for '[SCENE]': {problem}; --compare FILE compares an image; see raysieve --help"
        )));
    }
    let command = command();
    let option = command.get_arguments().find(|option| {
        let id = option.get_id().as_str();
        !APPLICABLE.contains(&id)
            && matches!(matches.try_contains_id(id), Ok(true))
            && matches.value_source(id) == Some(ValueSource::CommandLine)
    });
    if let Some(option) = option.and_then(|option| option.get_long()) {
        return Err(Error::Usage(format!(
            "--{option} has no effect, because {name} is compared and not rendered; omit it"
        )));
    }
    match &arguments.output {
        Some(map) if PictureFormat::of(map) != Some(PictureFormat::Png) => Err(Error::Usage(
            format!("-o {}: the error map is a .png; name one", map.display()),
        )),
        _ => Ok(()),
    }
}

impl Arguments {
    /// Returns the path of the error map of an existing image: that of `--output`, otherwise beside the image.
    pub(crate) fn map_path(&self, image: &Path) -> PathBuf {
        self.output.clone().unwrap_or_else(|| map_path(image))
    }
}
