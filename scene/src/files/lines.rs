//! Reads text files line by line, with limits that damaged files cannot exceed.

use std::{
    io::{self, BufRead, Read},
    mem::take,
};

/// Longest line of a text file in bytes. It fits a polygon of 100,000 corners, and keeps a file without line ends from
/// filling the memory.
pub(crate) const MAX_LINE_BYTES: u64 = 1 << 20;

/// Detects the byte that ends lines, before anything is read from a text file. It is a carriage return if the first
/// bytes contain one and no line feed, as in files of old programs, otherwise a line feed.
pub(crate) fn line_end(reader: &mut impl BufRead) -> io::Result<u8> {
    let start = reader.fill_buf()?;
    let old = start.contains(&b'\r') && !start.contains(&b'\n');
    Ok(if old { b'\r' } else { b'\n' })
}

/// Reads a line into `line`, without the line end `end` and trailing white space. Returns `false` at the end of the
/// file. Bytes that are not UTF-8 are replaced, because comments and names may have any encoding.
///
/// Fails if the file cannot be read, or the line contains a zero byte or is longer than [`MAX_LINE_BYTES`].
pub(crate) fn read_line(reader: &mut impl BufRead, end: u8, line: &mut String) -> io::Result<bool> {
    let mut bytes = take(line).into_bytes();
    bytes.clear();
    let read = reader.take(MAX_LINE_BYTES).read_until(end, &mut bytes)?;
    if read as u64 == MAX_LINE_BYTES && !bytes.ends_with(&[end]) {
        return Err(io::Error::other(format!(
            "a line is longer than {MAX_LINE_BYTES} bytes"
        )));
    }
    if bytes.contains(&0) {
        return Err(io::Error::other("is not a text file"));
    }
    *line = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    line.truncate(line.trim_end().len());
    Ok(read > 0)
}
