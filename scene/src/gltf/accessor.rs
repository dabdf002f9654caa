//! Accessors: typed numbers from buffers, with strides, sparse values and normalised integers.

use gltf::json::{
    Accessor,
    accessor::{ComponentType, Type},
    validation::Checked,
};

use super::container::File;
use crate::memory::vec_with_capacity;

/// The bytes of one stored component, little endian.
type Bytes<'b> = &'b [u8];

impl File {
    /// Returns the elements of the accessor with this index as `N` floats each. Integers are converted, and mapped to
    /// 0..=1 or -1..=1 if the accessor is normalised.
    ///
    /// Fails if the accessor is invalid or its elements do not have `N` components.
    pub(super) fn floats<const N: usize>(&self, index: usize) -> Result<Vec<[f32; N]>, String> {
        let accessor = self.accessor(index)?;
        let convert =
            converter(accessor).map_err(|problem| format!("accessor {index}: {problem}"))?;
        self.elements(index, convert)
    }

    /// Returns the elements of the accessor with this index as `N` unsigned integers each. Fails if the accessor is
    /// invalid, or its elements are not `N` unsigned integers.
    pub(super) fn integers<const N: usize>(&self, index: usize) -> Result<Vec<[u32; N]>, String> {
        let accessor = self.accessor(index)?;
        let convert = match component_type(accessor) {
            Ok(ComponentType::U8) => |bytes: Bytes| u32::from(bytes[0]),
            Ok(ComponentType::U16) => |bytes: Bytes| u16::from_le_bytes(array(bytes)).into(),
            Ok(ComponentType::U32) => |bytes: Bytes| u32::from_le_bytes(array(bytes)),
            Ok(_) => {
                return Err(format!(
                    "accessor {index}: has a componentType that is not an unsigned integer"
                ));
            }
            Err(problem) => return Err(format!("accessor {index}: {problem}")),
        };
        self.elements(index, convert)
    }

    /// Returns the number of elements that an accessor declares, without checking that they are stored. Fails if the
    /// accessor does not exist.
    pub(super) fn element_count(&self, index: usize) -> Result<usize, String> {
        let accessor = self.accessor(index)?;
        usize::try_from(accessor.count.0)
            .map_err(|_| format!("accessor {index}: declares {} elements", accessor.count.0))
    }

    /// Returns the number of components of each element: 3 for `VEC3`, for example. Fails if the accessor does not
    /// exist or its type is unknown.
    pub(super) fn component_count(&self, index: usize) -> Result<usize, String> {
        component_count(self.accessor(index)?)
            .map_err(|problem| format!("accessor {index}: {problem}"))
    }

    /// Returns the accessor with this index. Fails if it does not exist.
    fn accessor(&self, index: usize) -> Result<&Accessor, String> {
        let accessor = self.root.accessors.get(index);
        accessor.ok_or_else(|| format!("there is no accessor {index}"))
    }

    /// Returns the elements of the accessor with this index, using `convert` for each component. Fails if it is invalid
    /// or its elements do not have `N` components; the message names the accessor.
    fn elements<const N: usize, T: Copy + Default>(
        &self,
        index: usize,
        convert: impl Fn(Bytes) -> T,
    ) -> Result<Vec<[T; N]>, String> {
        let accessor = self.accessor(index)?;
        self.read_elements(accessor, convert)
            .map_err(|problem| format!("accessor {index}: {problem}"))
    }

    /// Returns the elements of an accessor. `convert` makes each component from its bytes. The elements come from the
    /// buffer view, or are zeros without one. Those that the accessor lists as sparse are then replaced.
    ///
    /// Fails if the accessor is invalid or its elements do not have `N` components.
    fn read_elements<const N: usize, T: Copy + Default>(
        &self,
        accessor: &Accessor,
        convert: impl Fn(Bytes) -> T,
    ) -> Result<Vec<[T; N]>, String> {
        let components = component_count(accessor)?;
        if components != N {
            return Err(format!(
                "has {components} components per element, expected {N}"
            ));
        }
        let size = component_type(accessor)?.size();
        let count = usize::try_from(accessor.count.0)
            .map_err(|_| format!("declares {} elements", accessor.count.0))?;
        let element = |bytes: Bytes| -> [T; N] {
            let mut components = bytes.chunks_exact(size);
            std::array::from_fn(|_| components.next().map(&convert).unwrap_or_default())
        };
        let mut elements = match accessor.buffer_view {
            Some(view) => {
                let (bytes, stride) = self.view(view.value())?;
                let offset = accessor.byte_offset.map_or(0, |offset| offset.0);
                let stored = strided(bytes, offset, stride.unwrap_or(0), size * N, count)?;
                let mut elements = vec_with_capacity(count)?;
                elements.extend(stored.map(element));
                elements
            }
            None => {
                self.check_backed(accessor, count)?;
                let mut elements = vec_with_capacity(count)?;
                elements.resize(count, [T::default(); N]);
                elements
            }
        };
        if let Some(sparse) = &accessor.sparse {
            let changed = usize::try_from(sparse.count.0).unwrap_or(usize::MAX);
            let index_size = match &sparse.indices.component_type {
                Checked::Valid(kind) => kind.0.size(),
                Checked::Invalid => return Err("has sparse indices of no known type".to_owned()),
            };
            let (bytes, _) = self.view(sparse.indices.buffer_view.value())?;
            let offset = sparse.indices.byte_offset.0;
            let places = strided(bytes, offset, 0, index_size, changed)?;
            let (bytes, _) = self.view(sparse.values.buffer_view.value())?;
            let values = strided(bytes, sparse.values.byte_offset.0, 0, size * N, changed)?;
            for (place, value) in places.zip(values) {
                let place = place
                    .iter()
                    .rev()
                    .fold(0u32, |word, &byte| word << 8 | u32::from(byte));
                *elements.get_mut(place as usize).ok_or_else(|| {
                    format!("has a sparse value for element {place} of {count}")
                })? = element(value);
            }
        }
        Ok(elements)
    }

    /// Fails if an accessor without a buffer view, whose elements are all 0, declares too many. It may have as many as
    /// the largest stored accessor or as its own sparse values, so that a small file cannot fill the memory.
    fn check_backed(&self, accessor: &Accessor, count: usize) -> Result<(), String> {
        let stored = |accessor: &Accessor| -> Option<u64> {
            let (bytes, _) = self.view(accessor.buffer_view?.value()).ok()?;
            Some(accessor.count.0.min(bytes.len() as u64))
        };
        let max_stored = self.root.accessors.iter().filter_map(stored).max();
        let changed = accessor.sparse.as_ref().map_or(0, |sparse| sparse.count.0);
        if count as u64 > max_stored.unwrap_or(0).max(changed) {
            return Err(format!("declares {count} elements that are not stored"));
        }
        Ok(())
    }
}

/// Returns `count` elements of `size` bytes from the byte `offset` on. They are `stride` bytes apart; 0 means tightly
/// packed. Fails if `bytes` is too short or `stride` is below `size`.
fn strided(
    bytes: &[u8],
    offset: u64,
    stride: usize,
    size: usize,
    count: usize,
) -> Result<impl Iterator<Item = &[u8]>, String> {
    let stride = if stride == 0 { size } else { stride };
    let start = usize::try_from(offset).ok();
    let end = (count.checked_sub(1))
        .map_or(Some(0), |last| last.checked_mul(stride)?.checked_add(size))
        .and_then(|length| start?.checked_add(length));
    match (start, end) {
        _ if stride < size => Err(format!(
            "has elements of {size} bytes in a bufferView of stride {stride}"
        )),
        (Some(start), Some(end)) if end <= bytes.len() => Ok((0..count)
            .map(move |element| &bytes[start + element * stride..start + element * stride + size])),
        _ => Err(format!(
            "declares {count} elements of {size} bytes from byte {offset} on, but its bufferView has {} bytes",
            bytes.len()
        )),
    }
}

/// Returns the type of an accessor's components, such as `U8` or `F32`. Fails if it is unknown.
fn component_type(accessor: &Accessor) -> Result<ComponentType, String> {
    match &accessor.component_type {
        Checked::Valid(kind) => Ok(kind.0),
        Checked::Invalid => Err("has no known componentType".to_owned()),
    }
}

/// Returns the number of components of each element of an accessor. Fails if the type of the elements is unknown.
fn component_count(accessor: &Accessor) -> Result<usize, String> {
    match accessor.type_ {
        Checked::Valid(Type::Scalar) => Ok(1),
        Checked::Valid(Type::Vec2) => Ok(2),
        Checked::Valid(Type::Vec3) => Ok(3),
        Checked::Valid(Type::Vec4 | Type::Mat2) => Ok(4),
        Checked::Valid(Type::Mat3) => Ok(9),
        Checked::Valid(Type::Mat4) => Ok(16),
        Checked::Invalid => Err("has no known type".to_owned()),
    }
}

/// Returns the conversion from a stored component of an accessor to a float, as glTF defines it. Fails if the component
/// type is unknown.
fn converter(accessor: &Accessor) -> Result<fn(Bytes) -> f32, String> {
    Ok(match (component_type(accessor)?, accessor.normalized) {
        (ComponentType::F32, _) => |bytes| f32::from_le_bytes(array(bytes)),
        (ComponentType::I8, false) => |bytes| f32::from(bytes[0] as i8),
        (ComponentType::U8, false) => |bytes| f32::from(bytes[0]),
        (ComponentType::I16, false) => |bytes| f32::from(i16::from_le_bytes(array(bytes))),
        (ComponentType::U16, false) => |bytes| f32::from(u16::from_le_bytes(array(bytes))),
        (ComponentType::U32, false) => |bytes| u32::from_le_bytes(array(bytes)) as f32,
        (ComponentType::I8, true) => |bytes| (f32::from(bytes[0] as i8) / 127.0).max(-1.0),
        (ComponentType::U8, true) => |bytes| f32::from(bytes[0]) / 255.0,
        (ComponentType::I16, true) => {
            |bytes| (f32::from(i16::from_le_bytes(array(bytes))) / 32767.0).max(-1.0)
        }
        (ComponentType::U16, true) => |bytes| f32::from(u16::from_le_bytes(array(bytes))) / 65535.0,
        (ComponentType::U32, true) => {
            |bytes| (f64::from(u32::from_le_bytes(array(bytes))) / f64::from(u32::MAX)) as f32
        }
    })
}

/// Returns the first `N` bytes of a stored component. Panics if there are fewer.
fn array<const N: usize>(bytes: Bytes) -> [u8; N] {
    std::array::from_fn(|index| bytes[index])
}
