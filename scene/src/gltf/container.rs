//! The glTF container: the JSON, the buffers, and access to the files that it names.

pub(super) mod compressed;

use std::{
    borrow::Cow,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use base64::{Engine, alphabet, engine::GeneralPurpose, engine::GeneralPurposeConfig};
use gltf::json::{self, Root, Value};
use serde_json::Map;

use crate::{
    error::{excerpt, sentence},
    files::{
        bounds::Bounds, check_bounds, display_path, file_type, foreign::UTF16_TEXT,
        lines::is_utf16, open_regular_file, record::record, relative_path,
    },
    memory::{self, vec_with_capacity},
};

/// File extensions that an external buffer may have, in lower case without the dot.
const BUFFER_TYPES: [&str; 4] = ["bin", "glbin", "buffer", "glbuf"];
/// First bytes of a `.glb` file.
const MAGIC: &[u8; 4] = b"glTF";
/// Size of the `.glb` header in bytes; the first chunk follows it.
const HEADER_BYTES: usize = 12;
/// Type of the `.glb` chunk that contains the JSON ("JSON" as a little-endian number).
const JSON_CHUNK: u32 = 0x4e4f_534a;
/// Type of the `.glb` chunk that contains binary data ("BIN\0" as a little-endian number).
const BINARY_CHUNK: u32 = 0x004e_4942;
/// Remedy for a file of an older version.
const CONVERT: &str = "convert it, for example with the program gltf-pipeline";
/// Upper bound for the memory of parsed JSON, in bytes per byte of its text. JSON with many empty nodes comes closest.
const PARSED_BYTES: u64 = 200;

/// An opened glTF file: its parsed JSON, and all its buffers in memory.
pub(super) struct File {
    /// The parsed JSON. Indices in it are not validated.
    pub(super) root: Root,
    /// Folder of the file, to which URIs in it are relative.
    folder: PathBuf,
    /// Folders whose files the URIs may name by paths with `..`.
    bounds: Bounds,
    /// Bytes of each buffer; `None` for one that has neither a URI nor a binary chunk.
    buffers: Vec<Option<Vec<u8>>>,
    /// Decompressed bytes of each buffer view; `None` for one that is stored uncompressed.
    decompressed: Vec<Option<Vec<u8>>>,
}

impl File {
    /// Reads a `.gltf` or `.glb` file, loads its buffers and decompresses its buffer views.
    ///
    /// Fails with a message without the file's name, if a file cannot be read or the JSON, a buffer or compressed data
    /// is invalid.
    pub(super) fn open(path: &Path) -> Result<File, String> {
        let mut bytes = Vec::new();
        append_file(path, &["gltf", "glb"], u64::MAX, &mut bytes)?;
        // Some files have the other extension.
        let is_text = bytes.trim_ascii_start().starts_with(b"{");
        let is_binary = bytes.starts_with(MAGIC) || (file_type(path) == "glb" && !is_text);
        let (text, mut binary) = if is_binary {
            let (text, binary) = chunks(&bytes)?;
            (text, binary.map(<[u8]>::to_vec))
        } else {
            (&bytes[..], None)
        };
        let root = parse(text)?;
        drop(bytes);
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut file = File {
            root,
            folder: folder.to_owned(),
            bounds: Bounds::of_model(folder),
            buffers: Vec::new(),
            decompressed: Vec::new(),
        };
        for index in 0..file.root.buffers.len() {
            let buffer = file
                .buffer(index, &mut binary)
                .map_err(|problem| format!("buffer {index}: {problem}"))?;
            file.buffers.push(buffer);
        }
        for index in 0..file.root.buffer_views.len() {
            let view = compressed::view(&file, index)
                .map_err(|problem| format!("bufferView {index}: {problem}"))?;
            file.decompressed.push(view);
        }
        Ok(file)
    }

    /// Loads the buffer with this index and truncates it to its declared length. If the first buffer has no URI, it
    /// takes the bytes of `binary`, the binary chunk of a `.glb` file.
    ///
    /// Returns `None` if it has neither. Fails if the buffer cannot be read or is shorter than declared.
    fn buffer(
        &self,
        index: usize,
        binary: &mut Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, String> {
        let declared = self.root.buffers[index].byte_length.0;
        let mut bytes = match &self.root.buffers[index].uri {
            None if index == 0 => match binary.take() {
                Some(binary) => binary,
                None => return Ok(None),
            },
            None => return Ok(None),
            Some(uri) => self.resource(uri, &BUFFER_TYPES, declared)?,
        };
        if (bytes.len() as u64) < declared {
            return Err(format!(
                "declares {declared} bytes, and has {}; the file is cut off",
                bytes.len()
            ));
        }
        bytes.truncate(declared as usize);
        Ok(Some(bytes))
    }

    /// Records that the scene depends on the file of a URI; a data URI is ignored. Call it before another thread reads
    /// the file, because [`record`] works only on the thread that loads the scene.
    pub(super) fn record_dependency(&self, uri: &str) {
        if !uri.starts_with("data:")
            && let Ok(path) = self.path_of(uri)
        {
            record(&path);
        }
    }

    /// Returns the bytes of a data URI, or at most `max_bytes` of a file. Fails if the data URI is malformed, or the file
    /// lies outside of the model's [`Bounds`], cannot be read or has none of the extensions `types`.
    pub(super) fn resource(
        &self,
        uri: &str,
        types: &[&str],
        max_bytes: u64,
    ) -> Result<Vec<u8>, String> {
        if let Some(data) = uri.strip_prefix("data:") {
            return decode_data_uri(data);
        }
        let path = self.path_of(uri)?;
        let mut bytes = Vec::new();
        append_file(&path, types, max_bytes, &mut bytes)
            .map_err(|problem| format!("{}: {problem}", display_path(&path)))?;
        Ok(bytes)
    }

    /// Decodes a relative URI to the path of a file. Fails if that lies outside of the model's [`Bounds`], or the URI is
    /// malformed or not UTF-8.
    fn path_of(&self, uri: &str) -> Result<PathBuf, String> {
        let bytes = percent_decoded(uri)?;
        let name = std::str::from_utf8(&bytes);
        let name =
            name.map_err(|_| format!("refers to the file `{}`, which is not UTF-8", excerpt(uri)))?;
        let name = relative_path(name)?;
        let path = self.folder.join(&name);
        check_bounds(&self.bounds, &name, &path)?;
        Ok(path)
    }

    /// Returns the bytes of a buffer view, decompressed if needed, and its stride in bytes; `None` if it declares no
    /// stride. Fails if the view or its buffer does not exist or is too short.
    pub(super) fn view(&self, index: usize) -> Result<(&[u8], Option<usize>), String> {
        let within = |problem| format!("bufferView {index}: {problem}");
        let view = self
            .root
            .buffer_views
            .get(index)
            .ok_or_else(|| format!("there is no bufferView {index}"))?;
        let stride = view.byte_stride.map(|stride| stride.0);
        match self.decompressed.get(index) {
            Some(Some(bytes)) => Ok((bytes, stride)),
            _ => {
                let offset = view.byte_offset.map_or(0, |offset| offset.0);
                let bytes = self
                    .slice(view.buffer.value(), offset, view.byte_length.0)
                    .map_err(within)?;
                Ok((bytes, stride))
            }
        }
    }

    /// Returns `length` bytes of the buffer with the index `buffer`, from the byte `offset` on. Fails if the buffer
    /// does not exist or is too short.
    pub(super) fn slice(&self, buffer: usize, offset: u64, length: u64) -> Result<&[u8], String> {
        let bytes = match self.buffers.get(buffer) {
            Some(Some(bytes)) => bytes,
            Some(None) => return Err(format!("buffer {buffer} has no bytes")),
            None => return Err(format!("there is no buffer {buffer}")),
        };
        let end = offset.checked_add(length);
        end.and_then(|end| bytes.get(usize::try_from(offset).ok()?..usize::try_from(end).ok()?))
            .ok_or_else(|| {
                format!(
                    "needs {length} bytes from byte {offset} on, but buffer {buffer} has {}",
                    bytes.len()
                )
            })
    }
}

/// Parses the JSON text of a file. Fails if it is invalid, or if the parsed form might not fit into memory.
fn parse(text: &[u8]) -> Result<Root, String> {
    // Readers may ignore a byte order mark (RFC 8259, section 8.1).
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if is_utf16(text) {
        return Err(UTF16_TEXT.to_owned());
    }
    memory::check((text.len() as u64).saturating_mul(PARSED_BYTES))
        .map_err(|problem| format!("its JSON {problem}"))?;
    let parsed = match json::deserialize::from_slice(text) {
        Err(error) if error.to_string().starts_with("missing field `node") => {
            with_missing_fields_added(text)
        }
        parsed => parsed,
    };
    parsed.map_err(|error| {
        if is_version_1(text) {
            return format!("is glTF version 1, expected 2; {CONVERT}");
        }
        let (line, column) = (error.line(), error.column());
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        format!(
            "is not a valid glTF file: its JSON is wrong at line {line}, column {column}: {}",
            sentence(message)
        )
    })
}

/// Returns whether JSON is that of glTF 1.0, whose lists of nodes and meshes are objects with named members.
fn is_version_1(text: &[u8]) -> bool {
    let root: Result<Value, _> = json::deserialize::from_slice(text);
    root.is_ok_and(|root| {
        let is_object = |name: &str| root.get(name).is_some_and(Value::is_object);
        is_object("nodes") || is_object("meshes") || is_object("accessors")
    })
}

/// Parses JSON that lacks optional fields of glTF which the crate `gltf` requires, by adding them.
///
/// Scenes without `nodes` get an empty list. Channels of animations whose pointer (`KHR_animation_pointer`) is to a
/// property of a node get that node and path. Other channels without a `node` get node 0 and the path `pointer`, with
/// which they are left out of poses, with a warning.
fn with_missing_fields_added(text: &[u8]) -> Result<Root, json::Error> {
    let mut root: Value = json::deserialize::from_slice(text)?;
    let scenes = root.get_mut("scenes").and_then(Value::as_array_mut);
    for scene in scenes
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        let nodes = scene.entry("nodes");
        nodes.or_insert_with(|| Value::Array(Vec::new()));
    }
    let animations = root.get_mut("animations").and_then(Value::as_array_mut);
    let channels = animations
        .into_iter()
        .flatten()
        .filter_map(|animation| animation.get_mut("channels")?.as_array_mut());
    for channel in channels.flatten() {
        if let Some(target) = channel.get_mut("target").and_then(Value::as_object_mut)
            && !target.contains_key("node")
        {
            let (node, path) = node_property(target).unwrap_or((0, "pointer".to_owned()));
            target.insert("node".to_owned(), node.into());
            target.insert("path".to_owned(), path.into());
        }
    }
    json::deserialize::from_value(root)
}

/// Returns the index of a node and the name of its property to which the target of a channel points, such as
/// `/nodes/3/rotation`. Returns `None` for a pointer to anything else.
fn node_property(target: &Map<String, Value>) -> Option<(u32, String)> {
    let extension = target.get("extensions")?.get("KHR_animation_pointer")?;
    let pointer = extension.get("pointer")?.as_str()?;
    let (node, property) = pointer.strip_prefix("/nodes/")?.split_once('/')?;
    let is_known = ["translation", "rotation", "scale", "weights"].contains(&property);
    is_known.then_some((node.parse().ok()?, property.to_owned()))
}

/// Returns the JSON chunk of a `.glb` file, and its binary chunk or `None`. Fails if the header is invalid, the file is
/// cut off, or it has no JSON chunk.
fn chunks(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), String> {
    let word = |at: usize| -> Option<u32> {
        let word = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(word))
    };
    let (Some(version), Some(length), true) = (word(4), word(8), bytes.starts_with(MAGIC)) else {
        return Err("is not a GLB file: its header is missing".to_owned());
    };
    if version != 2 {
        return Err(format!("is GLB version {version}, expected 2; {CONVERT}"));
    }
    if (bytes.len() as u64) < u64::from(length) {
        return Err(format!(
            "declares {length} bytes, and has {}; the file is cut off",
            bytes.len()
        ));
    }
    let (mut at, mut json, mut binary) = (HEADER_BYTES, None, None);
    while let (Some(length), Some(kind)) = (word(at), word(at + 4)) {
        let start = at + 8;
        let chunk = (start.checked_add(length as usize))
            .and_then(|end| bytes.get(start..end))
            .ok_or_else(|| {
                format!("has a chunk of {length} bytes at byte {at}; the file is cut off")
            })?;
        match kind {
            JSON_CHUNK if json.is_none() => json = Some(chunk),
            BINARY_CHUNK if binary.is_none() => binary = Some(chunk),
            _ => {}
        }
        at = start + chunk.len();
    }
    json.map(|json| (json, binary))
        .ok_or_else(|| "is not a GLB file: it has no JSON chunk".to_owned())
}

/// Decodes the part of a data URI after `data:`, that is `[<media type>][;<parameter>..][;base64],<data>`. Data without
/// `;base64` is percent-encoded.
///
/// Fails if the comma is missing, the data is malformed, or memory does not suffice.
fn decode_data_uri(data: &str) -> Result<Vec<u8>, String> {
    let (head, data) = data
        .split_once(',')
        .ok_or("its data URI has no comma before its data")?;
    if head.split(';').skip(1).any(|word| word == "base64") {
        let mut bytes = vec_with_capacity(data.len() / 4 * 3 + 3)?;
        let config = GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent);
        GeneralPurpose::new(&alphabet::STANDARD, config)
            .decode_vec(data, &mut bytes)
            .map_err(|error| format!("its data URI is not valid base64: {error}"))?;
        Ok(bytes)
    } else {
        Ok(percent_decoded(data)?.into_owned())
    }
}

/// Returns a URI's bytes with each `%XX` replaced by the byte with that hexadecimal value. Fails if two hexadecimal
/// digits do not follow a `%`.
fn percent_decoded(text: &str) -> Result<Cow<'_, [u8]>, String> {
    if !text.contains('%') {
        return Ok(Cow::Borrowed(text.as_bytes()));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        match (digit(rest.next()), digit(rest.next())) {
            (Some(high), Some(low)) => decoded.push((high * 16 + low) as u8),
            _ => {
                return Err(format!(
                    "`{}` has a `%` without two hexadecimal digits",
                    excerpt(text)
                ));
            }
        }
    }
    Ok(Cow::Owned(decoded))
}

/// Appends to `bytes` at most `max_bytes` of a regular file with one of the extensions `types`. Fails if the file
/// cannot be read or memory does not suffice.
fn append_file(
    path: &Path,
    types: &[&str],
    max_bytes: u64,
    bytes: &mut Vec<u8>,
) -> Result<(), String> {
    let file = open_regular_file(path, types)?;
    let cannot = |error| format!("cannot be read: {error}");
    let length = fs::metadata(path).map_err(cannot)?.len().min(max_bytes);
    memory::check(length)?;
    bytes
        .try_reserve_exact(length as usize)
        .map_err(|error| format!("is too large for memory: {error}"))?;
    file.take(max_bytes)
        .read_to_end(bytes)
        .map(|_| ())
        .map_err(cannot)
}
