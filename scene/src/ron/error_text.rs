//! Turns errors of the RON parser into messages about scenes, with suggestions for misspelt names.

use ron::error::{Error as Ron, Position, SpannedError};

use crate::error::excerpt;

/// Character between the name of a list entry and the problem in the text of an error; inserted by [`in_entry`].
const OBJECT_END: char = '\u{1}';

/// Adds the name of the list entry in which a parser error occurred to the front of its text; [`describe`] takes it off
/// again.
pub(crate) fn in_entry<E: serde::de::Error>(object: &str, error: &E) -> E {
    E::custom(format!("{}{OBJECT_END}{error}", excerpt(object)))
}

/// Returns the byte offset in `text`, the text that was parsed, of the value or name that the error is about.
pub(crate) fn error_offset(text: &str, error: &SpannedError) -> usize {
    let position = match error.code {
        Ron::MissingStructField { .. } => Position { line: 1, col: 1 },
        Ron::NoSuchStructField { .. }
        | Ron::NoSuchEnumVariant { .. }
        | Ron::DuplicateStructField { .. }
        | Ron::ExpectedDifferentStructName { .. }
        | Ron::ExpectedStringEnd => error.span.start,
        _ => error.span.end,
    };
    let line_start = match position.line {
        1 => 0,
        line => text
            .match_indices('\n')
            .nth(line - 2)
            .map_or(text.len(), |(at, _)| at + 1),
    };
    let column = text[line_start..].char_indices().nth(position.col - 1);
    let place = column.map_or(text.len(), |(at, _)| line_start + at);
    // For something missing at the end of a line, point to the next word instead.
    let rest = &text[place..];
    if rest.trim_start().is_empty() {
        place
    } else {
        place + (rest.len() - rest.trim_start().len())
    }
}

/// Returns a message for the user about a parser error. Returns also the name of the list entry that [`in_entry`]
/// stored in the error, or `None`.
///
/// `rest` is the parsed text from the place of the error on.
pub(crate) fn describe(error: &Ron, rest: &str) -> (Option<String>, String) {
    let problem = match error {
        Ron::Message(text) => match text.split_once(OBJECT_END) {
            Some((object, text)) => return (Some(object.to_owned()), in_words(text, rest)),
            None => in_words(text, rest),
        },
        Ron::NoSuchStructField {
            expected, found, ..
        } => {
            format!(
                "unknown field `{}`{}",
                excerpt(found),
                alternatives(found, expected)
            )
        }
        Ron::NoSuchEnumVariant {
            expected, found, ..
        } => {
            format!(
                "unknown kind `{}`{}",
                excerpt(found),
                alternatives(found, expected)
            )
        }
        Ron::MissingStructField { field, .. } => format!("the field `{field}` is missing"),
        Ron::DuplicateStructField { field, .. } => format!("the field `{field}` is given twice"),
        Ron::TrailingCharacters => in_words("Expected nothing more", rest),
        Ron::ExpectedNamedStructLike(_) | Ron::ExpectedDifferentStructName { .. } => {
            in_words("Expected `(`", rest)
        }
        Ron::SuggestRawIdentifier(_) | Ron::ExpectedIdentifier => in_words("Expected a name", rest),
        other => in_words(&other.to_string(), rest),
    };
    (None, problem)
}

/// Rewrites the parser's message `text` for users: it begins in lower case and quotes the beginning of `rest`, the text
/// at the place of the error, as what was found.
fn in_words(text: &str, rest: &str) -> String {
    let complete = [
        (Ron::Eof, "the text ends before it is complete"),
        (
            Ron::UnclosedBlockComment,
            "a comment that begins with `/*` is not closed by `*/`",
        ),
        (
            Ron::ExpectedStringEnd,
            "a string is not closed by a quotation mark",
        ),
        (
            Ron::ExceededRecursionLimit,
            "is nested too deeply; remove surplus brackets",
        ),
    ];
    if let Some((_, words)) = complete.iter().find(|(error, _)| error.to_string() == text) {
        return (*words).to_owned();
    }
    let text = match text {
        "Expected colon" => "Expected `:`",
        "Expected comma" => "Expected `,`",
        text => text,
    };
    let mut letters = text.chars();
    let text: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_lowercase)
        .chain(letters)
        .collect();
    match excerpt(rest.lines().next().unwrap_or_default()) {
        found if found.is_empty() => format!("{text}, but the text ends"),
        found => format!("{text}, found `{found}`"),
    }
}

/// Returns a suggestion for the unknown name `found`, to be appended to a message: "; did you mean `x`?" if a known
/// name is similar. Otherwise "; expected one of `x`, `y`" with at most 12 names.
pub(crate) fn alternatives(found: &str, known: &[&str]) -> String {
    // Bounds the work for names and lists of any length.
    const MAX_BYTES: usize = 64;
    const MAX_NAMES: usize = 1000;
    let comparable = |name: &&str| found.len().max(name.len()) <= MAX_BYTES;
    let closest = known
        .iter()
        .copied()
        .take(MAX_NAMES)
        .filter(comparable)
        .map(|name| (distance(found, name), name))
        .filter(|&(distance, name)| distance <= 1 + name.chars().count() / 4)
        .min();
    match (closest, known) {
        (Some((_, name)), _) => format!("; did you mean `{}`?", excerpt(name)),
        (None, []) => "; none is defined".to_owned(),
        (None, [only]) => format!("; expected `{}`", excerpt(only)),
        (None, _) => {
            const MAX_SHOWN: usize = 12;
            let mut names = known
                .iter()
                .take(MAX_SHOWN)
                .map(|name| format!("`{}`", excerpt(name)))
                .collect::<Vec<_>>();
            if known.len() > MAX_SHOWN {
                names.push(format!("{} more", known.len() - MAX_SHOWN));
            }
            format!("; expected one of {}", names.join(", "))
        }
    }
}

/// Returns the Damerau-Levenshtein distance of two names, ignoring case.
fn distance(found: &str, name: &str) -> usize {
    strsim::damerau_levenshtein(&found.to_lowercase(), &name.to_lowercase())
}
