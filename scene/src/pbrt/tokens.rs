//! Tokens of pbrt files, and the files themselves with those that they include.
//!
//! The crate `pbrt4` is not used, because it panics on several directives.

use std::{
    io::{BufReader, Read},
    path::Path,
};

use flate2::bufread::MultiGzDecoder;

use crate::{
    error::excerpt,
    files::{file_type, lines::decode, open_regular_file},
    memory,
};

/// Bytes of memory that a file takes per byte, at most, while it is read.
const BYTES_PER_BYTE: u64 = 8;
/// Largest size of the text of a file in bytes.
const MAX_BYTES: u64 = 8 << 30;

/// A token of a pbrt file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    /// A directive, a number, or `true` or `false`.
    Word(&'t str),
    /// The content of a text in quotes, with its escapes resolved.
    Text(String),
    /// `[`, the start of a list.
    Open,
    /// `]`, the end of a list.
    Close,
}

/// The tokens of a text.
pub(super) struct Tokens<'t> {
    text: &'t str,
    /// Offset of the next byte.
    at: usize,
    /// Line number of the next byte, from 1.
    pub(super) line: u32,
    /// The next token, if it was looked at already.
    peeked: Option<Token<'t>>,
}

impl<'t> Tokens<'t> {
    /// Returns the tokens of a text.
    pub(super) fn new(text: &'t str) -> Tokens<'t> {
        Tokens {
            text,
            at: 0,
            line: 1,
            peeked: None,
        }
    }

    /// Returns the next token without consuming it; `None` at the end. Fails if a text in quotes has no end.
    pub(super) fn peek(&mut self) -> Result<Option<&Token<'t>>, String> {
        if self.peeked.is_none() {
            self.peeked = self.read()?;
        }
        Ok(self.peeked.as_ref())
    }

    /// Returns the next token; `None` at the end. Fails if a text in quotes has no end.
    pub(super) fn next(&mut self) -> Result<Option<Token<'t>>, String> {
        match self.peeked.take() {
            Some(token) => Ok(Some(token)),
            None => self.read(),
        }
    }

    /// Returns the next token, which must be a text in quotes, or a list of one. Fails with a message that `what` was
    /// expected.
    pub(super) fn text(&mut self, what: &str) -> Result<String, String> {
        match self.next()? {
            Some(Token::Text(text)) => Ok(text),
            // A single text may be written as a list.
            Some(Token::Open) => match (self.next()?, self.next()?) {
                (Some(Token::Text(text)), Some(Token::Close)) => Ok(text),
                _ => Err(format!("expected {what} in quotes, or a list of it")),
            },
            Some(Token::Word(word)) => Err(format!(
                "found `{}`, expected {what} in quotes",
                excerpt(word)
            )),
            _ => Err(format!("expected {what} in quotes")),
        }
    }

    /// Returns the next `N` numbers, which may stand in a list. Fails if there are fewer, or the list is longer.
    pub(super) fn numbers<const N: usize>(&mut self) -> Result<[f64; N], String> {
        let listed = self.peek()? == Some(&Token::Open);
        if listed {
            self.next()?;
        }
        let mut numbers = [0.0; N];
        for number in &mut numbers {
            *number = match self.next()? {
                Some(Token::Word(word)) => number_of(word)?,
                _ => return Err(format!("expected {N} numbers")),
            };
        }
        if listed && self.next()? != Some(Token::Close) {
            return Err(format!("expected `]` after {N} numbers"));
        }
        Ok(numbers)
    }

    /// Reads the next token from the text; `None` at the end. Fails if a text in quotes has no end.
    fn read(&mut self) -> Result<Option<Token<'t>>, String> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                None => return Ok(None),
                Some(b'\n') => {
                    self.line += 1;
                    self.at += 1;
                }
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'#') => {
                    let rest = &bytes[self.at..];
                    self.at += rest
                        .iter()
                        .position(|&byte| byte == b'\n')
                        .unwrap_or(rest.len());
                }
                Some(b'[') => {
                    self.at += 1;
                    return Ok(Some(Token::Open));
                }
                Some(b']') => {
                    self.at += 1;
                    return Ok(Some(Token::Close));
                }
                Some(b'"') => return self.quoted().map(Some),
                Some(_) => {
                    let rest = &bytes[self.at..];
                    let ends = |byte: &u8| b" \t\r\n\"[]#".contains(byte);
                    let length = rest.iter().position(ends).unwrap_or(rest.len());
                    let word = &self.text[self.at..self.at + length];
                    self.at += length;
                    return Ok(Some(Token::Word(word)));
                }
            }
        }
    }

    /// Reads a text that begins with the quote at the current position. Fails if the line ends before the closing
    /// quote.
    fn quoted(&mut self) -> Result<Token<'t>, String> {
        let rest = &self.text[self.at + 1..];
        let mut text = String::new();
        let mut chars = rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += 1 + at + 1;
                    return Ok(Token::Text(text));
                }
                '\n' => break,
                '\\' => text.extend(chars.next().map(|(_, escaped)| match escaped {
                    'n' => '\n',
                    't' => '\t',
                    escaped => escaped,
                })),
                c => text.push(c),
            }
        }
        Err(format!(
            "the text \"{}\" has no closing quote",
            excerpt(&text)
        ))
    }
}

/// Parses a number. Fails if the word is no finite number.
pub(super) fn number_of(word: &str) -> Result<f64, String> {
    let number = word.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("found `{}`, expected a number", excerpt(word)))
}

/// Reads a `.pbrt` or `.pbrt.gz` file and decodes its text by [`decode`]. Fails with a one-line message that does not
/// name the file.
pub(super) fn read_text(path: &Path) -> Result<String, String> {
    let file = open_regular_file(path, &["pbrt", "gz"])?;
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    let bytes = file.metadata().map_err(cannot)?.len();
    memory::check(bytes.saturating_mul(BYTES_PER_BYTE))?;
    let too_large = format!("is larger than {MAX_BYTES} bytes; split it");
    let mut text = Vec::new();
    if file_type(path) == "gz" {
        let mut unpacked = MultiGzDecoder::new(BufReader::new(file));
        // The text is read in parts, so that a small file cannot take all memory.
        const PART: u64 = 64 << 20;
        while unpacked
            .by_ref()
            .take(PART)
            .read_to_end(&mut text)
            .map_err(cannot)?
            > 0
        {
            memory::check(text.len() as u64 * (BYTES_PER_BYTE - 1) + PART)?;
            if text.len() as u64 > MAX_BYTES {
                return Err(too_large);
            }
        }
    } else {
        file.take(MAX_BYTES + 1)
            .read_to_end(&mut text)
            .map_err(cannot)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(too_large);
        }
    }
    Ok(decode(text))
}
