//! What the RON parser's errors say, in a scene's words.

use ron::error::{Error as Ron, Position, SpannedError};

use super::source::excerpt;

/// Parts an error's text into the object that it is about and what is wrong with it; see [`within`].
const OBJECT_END: char = '\u{1}';

/// Adds the object's name to an error that the parser meets inside a list of objects.
pub(super) fn within<E: serde::de::Error>(object: &str, error: &E) -> E {
    E::custom(format!("{object}{OBJECT_END}{error}"))
}

/// Offset into `text` that the error is about.
pub(super) fn place(text: &str, error: &SpannedError) -> usize {
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
    // What is missing at the end of a line is missed at the next word.
    let rest = &text[place..];
    if rest.trim_start().is_empty() {
        place
    } else {
        place + (rest.len() - rest.trim_start().len())
    }
}

/// The object that the error names itself, if it does, and what was found and expected; `rest` is the text from the
/// error's place on.
pub(super) fn describe(error: &Ron, rest: &str) -> (Option<String>, String) {
    let problem = match error {
        Ron::Message(text) => {
            if let Some((object, problem)) = text.split_once(OBJECT_END) {
                return (Some(object.to_owned()), with_found(problem, rest));
            }
            with_found(text, rest)
        }
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
        Ron::ExceededRecursionLimit => {
            "is nested too deeply; a scene has no more than four levels".to_owned()
        }
        Ron::Eof => "the text ends in the middle of it".to_owned(),
        Ron::UnclosedBlockComment => "a comment `/*` is not closed".to_owned(),
        Ron::ExpectedStringEnd => "a text in quotes is not closed".to_owned(),
        Ron::ExpectedNamedStructLike(_) | Ron::ExpectedDifferentStructName { .. } => {
            with_found("Expected `(`", rest)
        }
        Ron::TrailingCharacters => with_found("Expected nothing more", rest),
        Ron::SuggestRawIdentifier(_) | Ron::ExpectedIdentifier => {
            with_found("Expected a name", rest)
        }
        other => with_found(&other.to_string(), rest),
    };
    (None, problem)
}

/// "expected ..., found ...".
fn with_found(expected: &str, rest: &str) -> String {
    let mut letters = expected.chars();
    let expected: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_lowercase)
        .chain(letters)
        .collect();
    match excerpt(rest.lines().next().unwrap_or_default()) {
        found if found.is_empty() => format!("{expected}, but the text ends"),
        found => format!("{expected}, found `{found}`"),
    }
}

/// "; did you mean `x`?", else "; expected one of `x`, `y`".
pub(super) fn alternatives(found: &str, known: &[&str]) -> String {
    let closest = known
        .iter()
        .map(|name| {
            (
                strsim::damerau_levenshtein(&found.to_lowercase(), &name.to_lowercase()),
                name,
            )
        })
        .filter(|&(distance, name)| distance <= 1 + name.chars().count() / 4)
        .min();
    match (closest, known) {
        (Some((_, name)), _) => format!("; did you mean `{}`?", excerpt(name)),
        (None, []) => "; there is none".to_owned(),
        (None, [only]) => format!("; expected `{}`", excerpt(only)),
        (None, _) => {
            const MOST: usize = 12;
            let mut names = known
                .iter()
                .take(MOST)
                .map(|name| format!("`{}`", excerpt(name)))
                .collect::<Vec<_>>();
            if known.len() > MOST {
                names.push(format!("{} more", known.len() - MOST));
            }
            format!("; expected one of {}", names.join(", "))
        }
    }
}
