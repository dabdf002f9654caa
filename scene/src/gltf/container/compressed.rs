//! Decompression of buffer views (`EXT_meshopt_compression`) and meshes (`KHR_draco_mesh_compression`).

use std::collections::BTreeMap;

use draco_core::{DecodeLimits, DecoderBuffer, Mesh, MeshDecoder};
use gltf::json::{Value, mesh::Primitive};
use meshoptimizer_rs::{
    Workspace,
    codec::{BufferView, Filter, Mode},
};

use super::File;
use crate::{
    catch_panics::catch_panics,
    error::excerpt,
    memory::{self, vec_with_capacity},
};

const MESHOPT: &str = "EXT_meshopt_compression";
const DRACO: &str = "KHR_draco_mesh_compression";

/// Largest accepted ratio of decompressed to compressed bytes of a buffer view that meshopt compressed. The format
/// stores 16 equal bytes in two bits, which is a ratio of 64.
const MESHOPT_RATIO: u64 = 64;
/// Largest accepted ratio of decompressed to compressed bytes of a Draco mesh. Equal values compress to almost nothing.
const DRACO_RATIO: u64 = 1 << 12;
/// Number of decompressed bytes that any Draco mesh may have, however small it is.
const DRACO_MIN_BYTES: u64 = 64 << 20;

/// Returns the decompressed bytes of the buffer view with this index, or `None` if it is stored uncompressed. Fails if
/// the compressed data is damaged or declares too many bytes.
pub(super) fn view(file: &File, index: usize) -> Result<Option<Vec<u8>>, String> {
    let view = &file.root.buffer_views[index];
    let extension = view.extensions.as_ref();
    let Some(written) = extension.and_then(|extension| extension.others.get(MESHOPT)) else {
        return Ok(None);
    };
    let number = |name: &str| written.get(name).and_then(Value::as_u64);
    let word = |name: &str| written.get(name).and_then(Value::as_str);
    let (Some(buffer), Some(length), Some(stride), Some(count)) = (
        number("buffer"),
        number("byteLength"),
        number("byteStride"),
        number("count"),
    ) else {
        return Err(format!("its {MESHOPT} has a field that is not a number"));
    };
    let offset = number("byteOffset").unwrap_or(0);
    let source = file.slice(buffer as usize, offset, length)?;
    let wrong = |error: meshoptimizer_rs::Error| format!("its {MESHOPT} is damaged: {error}");
    let mode = Mode::parse(word("mode").unwrap_or_default()).map_err(wrong)?;
    let filter = Filter::parse(word("filter").unwrap_or("NONE")).map_err(wrong)?;
    let size = count.saturating_mul(stride);
    if size > length.saturating_mul(MESHOPT_RATIO).saturating_add(1 << 12) {
        return Err(format!(
            "its {MESHOPT} declares {size} bytes, which {length} compressed ones cannot hold"
        ));
    }
    memory::check(size)?;
    let layout = BufferView::new(mode, filter, count as usize, stride as usize).map_err(wrong)?;
    let bytes = run_decoder(MESHOPT, || layout.decode(source, &mut Workspace::default()))?;
    let bytes = bytes.map_err(wrong)?;
    if (bytes.len() as u64) < view.byte_length.0 {
        return Err(format!(
            "declares {} bytes, and its {MESHOPT} has {}",
            view.byte_length.0,
            bytes.len()
        ));
    }
    Ok(Some(bytes))
}

/// Runs the decoder of the extension `name` and turns a panic into an error. So a damaged file that triggers a bug of
/// the decoder does not end the program.
fn run_decoder<T>(name: &str, decode: impl FnOnce() -> T) -> Result<T, String> {
    catch_panics(decode).map_err(|_| format!("its {name} is damaged"))
}

/// The decoded Draco mesh of a primitive, from which indices and vertex attributes are read.
pub(in crate::gltf) struct Draco {
    mesh: Mesh,
    /// Unique id of an attribute of `mesh`, by the glTF name of the attribute, such as `POSITION`.
    attributes: BTreeMap<String, u32>,
}

impl Draco {
    /// Decodes the mesh of a primitive. Returns `None` if it is not compressed by Draco. Fails if the data is damaged
    /// or would decompress to too many bytes.
    pub(in crate::gltf) fn decode(
        file: &File,
        primitive: &Primitive,
    ) -> Result<Option<Draco>, String> {
        let extension = primitive.extensions.as_ref();
        let Some(written) = extension.and_then(|extension| extension.others.get(DRACO)) else {
            return Ok(None);
        };
        let view = written.get("bufferView").and_then(Value::as_u64);
        let named = written.get("attributes").and_then(Value::as_object);
        let (Some(view), Some(named)) = (view, named) else {
            return Err(format!("its {DRACO} has no bufferView and attributes"));
        };
        let mut attributes = BTreeMap::new();
        for (name, id) in named {
            let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
            let id = id.ok_or_else(|| {
                format!(
                    "its {DRACO} has no number for the attribute {}",
                    excerpt(name)
                )
            })?;
            attributes.insert(name.clone(), id);
        }
        let (bytes, _) = file.view(view as usize)?;
        let max_bytes = (bytes.len() as u64).saturating_mul(DRACO_RATIO);
        let max_bytes = max_bytes.max(DRACO_MIN_BYTES);
        let limits = DecodeLimits::default()
            .with_max_decoded_bytes(max_bytes)
            .with_max_faces(max_bytes / 12);
        let mut mesh = Mesh::new();
        let mut buffer = DecoderBuffer::new(bytes).with_limits(limits);
        run_decoder(DRACO, || MeshDecoder::new().decode(&mut buffer, &mut mesh))?
            .map_err(|error| format!("its {DRACO} is damaged: {}", excerpt(&error.to_string())))?;
        Ok(Some(Draco { mesh, attributes }))
    }

    /// Returns the number of vertices of the decoded mesh. It need not equal the count of the primitive's accessors.
    pub(in crate::gltf) fn vertex_count(&self) -> usize {
        self.mesh.num_points()
    }

    /// Returns the vertex indices of all faces, three per triangle. Fails if memory does not suffice.
    pub(in crate::gltf) fn indices(&self) -> Result<Vec<u32>, String> {
        let mut indices = vec_with_capacity(self.mesh.num_faces() * 3)?;
        for face in self.mesh.faces() {
            indices.extend(face.map(|corner| corner.0));
        }
        Ok(indices)
    }

    /// Returns the number of components per vertex of the attribute with the glTF name `semantic`, or `None` if the
    /// mesh does not contain it.
    pub(in crate::gltf) fn components(&self, semantic: &str) -> Option<usize> {
        let &id = self.attributes.get(semantic)?;
        let attribute = self.mesh.attribute_by_unique_id(id)?;
        Some(attribute.num_components().into())
    }

    /// Returns the attribute with the glTF name `semantic` as `N` floats per vertex, or `None` if the mesh does not
    /// contain it. Fails if it has another number of components or is damaged.
    pub(in crate::gltf) fn floats<const N: usize>(
        &self,
        semantic: &str,
    ) -> Result<Option<Vec<[f32; N]>>, String> {
        let Some(&id) = self.attributes.get(semantic) else {
            return Ok(None);
        };
        let attribute = self
            .mesh
            .attribute_by_unique_id(id)
            .ok_or_else(|| format!("its {DRACO} has no attribute {id} for {semantic}"))?;
        let count = self.mesh.num_points();
        memory::check((count * N * size_of::<f32>()) as u64)?;
        if usize::from(attribute.num_components()) != N {
            return Err(format!(
                "its {DRACO} has {} components per {semantic}, expected {N}",
                attribute.num_components()
            ));
        }
        let numbers = run_decoder(DRACO, || attribute.read_f32s(count, N))?;
        Ok(Some(numbers.as_chunks::<N>().0.to_vec()))
    }
}
