//! Messages about wrong usage, each on one line.

use clap::{
    CommandFactory,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::Arguments;

/// Returns the message of a usage error on one line, without the prefix `error:` and the usage section. The line ends
/// with a reference to `raysieve --help`.
pub(super) fn usage_message(error: &clap::Error) -> String {
    let is_negative = |found: &str| {
        let number = found.strip_prefix('-').unwrap_or_default();
        number.starts_with(|letter: char| letter.is_ascii_digit())
    };
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidArg)
        && is_negative(found)
    {
        return format!("'{found}': no negative number is possible here; see raysieve --help");
    }
    match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        // Clap's message for a second positional argument after the scene is misleading.
        (ErrorKind::ArgumentConflict, Some(ContextValue::String(found))) => format!(
            "'{found}': unknown command, or more than one scene; a command ({}) must \
             be the first argument; see raysieve --help",
            command_names()
        ),
        _ => one_line(&error.to_string()),
    }
}

/// Returns the names of the commands, such as `merge, verify or bench`.
fn command_names() -> String {
    let command = Arguments::command();
    let names: Vec<&str> = command
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    match &names[..] {
        [names @ .., last] => format!("{} or {last}", names.join(", ")),
        [] => String::new(),
    }
}

/// Joins the lines of a message of clap into one line. Omits the prefix `error:`, the usage section and irrelevant
/// tips, and appends a reference to `raysieve --help`.
fn one_line(message: &str) -> String {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let mut line = String::new();
    for part in message.lines().map(str::trim) {
        if part.starts_with("Usage:") {
            break;
        }
        // The tip on values that begin with a dash does not apply: the options that take such values need no `--`.
        let is_irrelevant = part.starts_with("tip: to pass") || part.starts_with("For more");
        if part.is_empty() || is_irrelevant {
            continue;
        }
        if !line.is_empty() {
            line.push_str(if line.ends_with(':') { " " } else { "; " });
        }
        line.push_str(&plain_number_error(
            part.strip_prefix("tip: ").unwrap_or(part),
        ));
    }
    line + "; see raysieve --help"
}

/// Rewords an error of Rust's integer parser or of clap's range check. Returns other text unchanged.
fn plain_number_error(text: &str) -> String {
    if let Some((head, range)) = text.rsplit_once(" is not in ")
        && let Some((min, max)) = range.split_once("..=")
        && let Some((head, _)) = head.rsplit_once(": ")
    {
        return format!("{head}: must be {min} to {max}");
    }
    text.replace("invalid digit found in string", "expected a whole number")
        .replace(
            "number too large to fit in target type",
            "the number is too large",
        )
}
