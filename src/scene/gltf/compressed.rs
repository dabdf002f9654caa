//! What is stored compressed: buffer views by meshopt, meshes by Draco.

use std::collections::BTreeMap;

use draco_core::{DecodeLimits, DecoderBuffer, Mesh, MeshDecoder};
use gltf::json::{Value, mesh::Primitive};
use meshoptimizer_rs::{
    Workspace,
    codec::{BufferView, Filter, Mode},
};

use super::container::File;
use crate::{
    quiet::quietly,
    scene::{memory, model::room, source::excerpt},
};

const MESHOPT: &str = "EXT_meshopt_compression";
const DRACO: &str = "KHR_draco_mesh_compression";

/// Of a view over its compressed bytes, at most: a group of 16 equal bytes takes two bits.
const MESHOPT_RATIO: u64 = 64;
/// Of a mesh over its compressed bytes, at most, and what any may have: equal numbers take next to nothing.
const DRACO_RATIO: u64 = 1 << 12;
const DRACO_LEAST: u64 = 64 << 20;

/// The bytes of a view that is stored compressed; `None` for any other.
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
        return Err(format!("its {MESHOPT} has a field that is no number"));
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
    let bytes = unharmed(MESHOPT, || layout.decode(source, &mut Workspace::default()))?;
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

/// What a decoder makes. Decoders have bugs, and a damaged file is no reason to die of one.
fn unharmed<T>(name: &str, decode: impl FnOnce() -> T) -> Result<T, String> {
    quietly(decode).map_err(|_| format!("its {name} is damaged"))
}

/// A mesh that was stored compressed.
pub(super) struct Draco {
    mesh: Mesh,
    /// Which attribute of the mesh a semantic is.
    attributes: BTreeMap<String, u32>,
}

impl Draco {
    /// `None` if the primitive is not stored so.
    pub(super) fn decode(file: &File, primitive: &Primitive) -> Result<Option<Draco>, String> {
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
        let most = (bytes.len() as u64).saturating_mul(DRACO_RATIO);
        let limits = DecodeLimits::default()
            .with_max_decoded_bytes(most.max(DRACO_LEAST))
            .with_max_faces(most.max(DRACO_LEAST) / 12);
        let mut mesh = Mesh::new();
        let mut buffer = DecoderBuffer::new(bytes).with_limits(limits);
        unharmed(DRACO, || MeshDecoder::new().decode(&mut buffer, &mut mesh))?
            .map_err(|error| format!("its {DRACO} is damaged: {}", excerpt(&error.to_string())))?;
        Ok(Some(Draco { mesh, attributes }))
    }

    pub(super) fn vertex_count(&self) -> usize {
        self.mesh.num_points()
    }

    pub(super) fn indices(&self) -> Result<Vec<u32>, String> {
        let mut indices = room(self.mesh.num_faces() * 3)?;
        for face in self.mesh.faces() {
            indices.extend(face.map(|corner| corner.0));
        }
        Ok(indices)
    }

    /// How many numbers it has for each vertex; `None` if the semantic is not stored so.
    pub(super) fn components(&self, semantic: &str) -> Option<usize> {
        let &id = self.attributes.get(semantic)?;
        let attribute = self.mesh.attribute_by_unique_id(id)?;
        Some(attribute.num_components().into())
    }

    /// `N` numbers for each vertex; `None` if the semantic is not stored so.
    pub(super) fn floats<const N: usize>(
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
                "its {DRACO} has {} numbers for each {semantic}, expected {N}",
                attribute.num_components()
            ));
        }
        let numbers = unharmed(DRACO, || attribute.read_f32s(count, N))?;
        Ok(Some(numbers.as_chunks::<N>().0.to_vec()))
    }
}
