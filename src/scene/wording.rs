//! What the RON parser's errors say, in a scene's words.

use ron::error::{Error as Ron, Position, SpannedError};

use super::source::excerpt;

/// Parts an error's text into the object that it is about and what is wrong with it; see [`within`].
const OBJECT_END: char = '\u{1}';

/// Adds the object's name to an error that the parser meets inside a list of objects.
pub(super) fn within<E: serde::de::Error>(object: &str, error: &E) -> E {
    E::custom(format!("{}{OBJECT_END}{error}", excerpt(object)))
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

/// The parser's text of an error, with what was found.
fn in_words(text: &str, rest: &str) -> String {
    let says_all = [
        (Ron::Eof, "the text ends in the middle of it"),
        (Ron::UnclosedBlockComment, "a comment `/*` is not closed"),
        (Ron::ExpectedStringEnd, "a text in quotes is not closed"),
        (
            Ron::ExceededRecursionLimit,
            "is nested too deeply; a scene has no more than four levels",
        ),
    ];
    if let Some((_, words)) = says_all.iter().find(|(error, _)| error.to_string() == text) {
        return (*words).to_owned();
    }
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

/// "; did you mean `x`?", else "; expected one of `x`, `y`".
pub(super) fn alternatives(found: &str, known: &[&str]) -> String {
    // A name as long as a file must not take as long to compare.
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

fn distance(found: &str, name: &str) -> usize {
    strsim::damerau_levenshtein(&found.to_lowercase(), &name.to_lowercase())
}
