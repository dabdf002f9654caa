//! The words of the command line, before and after clap parses them.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Args, parser::ValueSource};
use raysieve_scene::EnvironmentFile;

use super::{output::Denoiser, values::environment_text};

/// Joins `--denoise` and `oidn` to `--denoise=oidn`. The option takes no other word, because the one after it may be
/// the scene.
pub(super) fn with_denoiser(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    for word in words {
        match joined.last_mut() {
            Some(option) if option == "--denoise" && word == Denoiser::OIDN => {
                option.push("=");
                option.push(word);
            }
            _ => joined.push(word),
        }
    }
    joined
}

/// Lets an option take negative numbers, so that its parser states which values it expects.
pub(super) fn with_negative_numbers(option: Arg) -> Arg {
    let takes_value = option.get_action().takes_values() && !option.is_positional();
    option.allow_negative_numbers(takes_value)
}

/// Returns the options of the clap group `Group` that the command line sets explicitly, as words such as `--size` and
/// `64x64`. Paths in them are absolute.
///
/// `farm` repeats the options of [`Machine`](super::Machine) and [`ModelArguments`](super::ModelArguments) in the
/// commands that render its parts. It refuses the options of these groups and of
/// [`SceneArguments`](super::SceneArguments) without a scene.
pub(super) fn given_options<Group: Args>(matches: &ArgMatches) -> Vec<String> {
    let group = Group::augment_args(clap::Command::new("group"));
    let mut words = Vec::new();
    for option in group.get_arguments() {
        let (id, name) = (option.get_id().as_str(), option.get_long());
        if let Some(name) = name
            && matches.value_source(id) == Some(ValueSource::CommandLine)
        {
            let name = format!("--{name}");
            if let ArgAction::Append = option.get_action() {
                for value in matches.get_raw(id).into_iter().flatten() {
                    words.extend([name.clone(), value.to_string_lossy().into_owned()]);
                }
                continue;
            }
            words.push(name);
            if !option.get_action().takes_values() {
                continue;
            }
            if let Ok(Some(environment)) = matches.try_get_one::<EnvironmentFile>(id) {
                words.push(environment_text(environment));
                continue;
            }
            let values = matches.get_raw(id).into_iter().flatten();
            words.extend(values.map(|value| value.to_string_lossy().into_owned()));
        }
    }
    words
}
