//! Reads text files, as a whole or line by line, in any of the usual encodings. Limits keep damaged files from filling
//! the memory.

use std::{
    borrow::Cow,
    char::REPLACEMENT_CHARACTER,
    io::{self, BufRead, Read},
    mem::take,
};

/// Longest line of a text file in bytes. It fits a strip of several 100,000 triangles, and keeps a file without line ends
/// from filling the memory.
pub(crate) const MAX_LINE_BYTES: u64 = 1 << 22;

/// Order of the bytes in UTF-16 text.
#[derive(Clone, Copy)]
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// Returns the value of a UTF-16 code unit.
    fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        }
    }

    /// Decodes UTF-16 text. Unpaired surrogates are replaced, and an odd last byte is ignored.
    fn decode(self, bytes: &[u8]) -> String {
        let units = bytes
            .chunks_exact(2)
            .map(|unit| self.unit([unit[0], unit[1]]));
        char::decode_utf16(units)
            .map(|decoded| decoded.unwrap_or(REPLACEMENT_CHARACTER))
            .collect()
    }
}

/// Returns the length in bytes of the byte order mark at the start of a text, and the byte order if the text is UTF-16.
/// The length is 0 if there is no mark.
fn byte_order_mark(start: &[u8]) -> (usize, Option<ByteOrder>) {
    match start {
        [0xef, 0xbb, 0xbf, ..] => (3, None),
        [0xff, 0xfe, ..] => (2, Some(ByteOrder::Little)),
        [0xfe, 0xff, ..] => (2, Some(ByteOrder::Big)),
        _ => (0, None),
    }
}

/// Returns whether a file that begins with these bytes is UTF-16 text with a byte order mark.
pub(crate) fn is_utf16(start: &[u8]) -> bool {
    byte_order_mark(start).1.is_some()
}

/// Decodes a whole text file: UTF-16 with a byte order mark, or UTF-8 with or without one. Lines that are not UTF-8 are
/// Latin-1.
pub(crate) fn decode(bytes: Vec<u8>) -> String {
    match byte_order_mark(&bytes) {
        (mark, Some(order)) => order.decode(&bytes[mark..]),
        (0, None) => utf8_or_latin1(bytes),
        (mark, None) => utf8_or_latin1(bytes[mark..].to_vec()),
    }
}

/// Decodes UTF-8 text, and each of its lines that is not UTF-8 as Latin-1, see [`latin1`].
fn utf8_or_latin1(bytes: Vec<u8>) -> String {
    fn decoded(line: &[u8]) -> Cow<'_, str> {
        match std::str::from_utf8(line) {
            Ok(line) => Cow::Borrowed(line),
            Err(_) => Cow::Owned(latin1(line)),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let lines = error
            .as_bytes()
            .split_inclusive(|byte| matches!(byte, b'\n' | b'\r'));
        lines.map(decoded).collect()
    })
}

/// Decodes Latin-1 text. The bytes 0x80 to 0x9f are control characters there, but letters in other encodings. They
/// become U+EF80 to U+EF9F, which have no meaning, so that different names stay different.
fn latin1(bytes: &[u8]) -> String {
    let decoded = |&byte: &u8| match byte {
        // File names may not contain control characters, and U+0085 would be white space, which ends names.
        0x80..0xa0 => char::from_u32(0xef00 + u32::from(byte)).unwrap_or(REPLACEMENT_CHARACTER),
        _ => char::from(byte),
    };
    bytes.iter().map(decoded).collect()
}

/// Reader of the lines of a text file. With a byte order mark of UTF-16, all lines are UTF-16. Otherwise each line is
/// UTF-8, or Latin-1 if it is not valid UTF-8.
pub(crate) struct Lines<'r, R> {
    reader: &'r mut R,
    /// Byte, or UTF-16 code unit, that ends lines.
    end: u8,
    /// Byte order of UTF-16 text; `None` for other text.
    order: Option<ByteOrder>,
}

impl<'r, R: BufRead> Lines<'r, R> {
    /// Starts at the first line of a text file, before anything is read from it. Fails if the file cannot be read.
    ///
    /// Lines end with a carriage return if the first bytes contain one and no line feed, as in files of old programs,
    /// and with a line feed otherwise.
    pub(crate) fn new(reader: &'r mut R) -> io::Result<Lines<'r, R>> {
        let start = reader.fill_buf()?;
        let old = start.contains(&b'\r') && !start.contains(&b'\n');
        let (mark, order) = byte_order_mark(start);
        reader.consume(mark);
        let end = if old { b'\r' } else { b'\n' };
        Ok(Lines { reader, end, order })
    }

    /// Reads the next line into `line`, without its end and trailing white space. Returns `false` at the end of the
    /// file. Replaces what `line` contained.
    ///
    /// Fails if the file cannot be read, or if the line contains a NUL character or is longer than [`MAX_LINE_BYTES`].
    pub(crate) fn read(&mut self, line: &mut String) -> io::Result<bool> {
        let Some(order) = self.order else {
            return read_line(self.reader, self.end, line);
        };
        let mut bytes = Vec::new();
        let mut unit = [0; 2];
        let mut last = None;
        while last != Some(u16::from(self.end)) {
            match self.reader.read_exact(&mut unit) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                read => read?,
            }
            if bytes.len() as u64 >= MAX_LINE_BYTES {
                return Err(too_long());
            }
            bytes.extend(unit);
            last = Some(order.unit(unit));
        }
        *line = order.decode(&bytes);
        if line.contains('\0') {
            return Err(not_text());
        }
        line.truncate(line.trim_end().len());
        Ok(!bytes.is_empty())
    }
}

/// Reads a line into `line`, without the line end `end` and trailing white space. Returns `false` at the end of the
/// file. A line that is not UTF-8 is decoded as Latin-1. Replaces what `line` contained.
///
/// Fails if the file cannot be read, or if the line contains a NUL character or is longer than [`MAX_LINE_BYTES`].
pub(crate) fn read_line(reader: &mut impl BufRead, end: u8, line: &mut String) -> io::Result<bool> {
    let mut bytes = take(line).into_bytes();
    bytes.clear();
    let read = reader.take(MAX_LINE_BYTES).read_until(end, &mut bytes)?;
    if read as u64 == MAX_LINE_BYTES && !bytes.ends_with(&[end]) {
        return Err(too_long());
    }
    if bytes.contains(&0) {
        return Err(not_text());
    }
    *line = utf8_or_latin1(bytes);
    line.truncate(line.trim_end().len());
    Ok(read > 0)
}

/// Returns the error for a line that is longer than [`MAX_LINE_BYTES`].
fn too_long() -> io::Error {
    io::Error::other(format!("a line is longer than {MAX_LINE_BYTES} bytes"))
}

/// Returns the error for a line that contains a NUL character.
fn not_text() -> io::Error {
    io::Error::other(
        "contains a zero byte: is not text, or UTF-16 without a byte order mark; save it as UTF-8",
    )
}
