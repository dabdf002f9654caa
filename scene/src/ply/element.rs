//! The elements of a PLY file, which the crate `ply-rs-bw` or `binary` fills with their properties.

use glam::{DVec3, Vec2, Vec3};
use ply_rs_bw::ply::{Property, PropertyAccess, PropertyAccessResult};

/// A vertex or a face, which are the elements of a file that affect its geometry.
pub(crate) enum Element<'e> {
    Vertex(&'e Vertex),
    Face(&'e Face),
}

/// An element that does not affect the geometry, such as an edge. All its properties are discarded.
pub(super) struct Skipped;

impl PropertyAccess for Skipped {
    fn new() -> Self {
        Skipped
    }
}

/// A vertex with its attributes. Components that the file does not give are NaN.
pub(crate) struct Vertex {
    pub(crate) position: DVec3,
    pub(crate) normal: Vec3,
    pub(crate) uv: Vec2,
    /// Color of the vertex, sRGB-encoded. Bytes are 0 to 1, other numbers as written.
    pub(crate) color: Vec3,
}

/// A function that stores a number in a vertex. It also receives the value that means 1 in a color of the number's
/// type.
pub(super) type Setter = fn(&mut Vertex, f64, f64);

impl Vertex {
    /// Names of the components of a normal.
    pub(super) const NORMAL: [&str; 3] = ["nx", "ny", "nz"];
    /// Names of the texture coordinates.
    pub(super) const UV: [&str; 6] = ["u", "s", "texture_u", "v", "t", "texture_v"];

    /// Returns a vertex without components: all are NaN.
    pub(super) fn bare() -> Vertex {
        Vertex {
            position: DVec3::NAN,
            normal: Vec3::NAN,
            uv: Vec2::NAN,
            color: Vec3::NAN,
        }
    }

    /// Returns the function that stores the property with this name, or `None` if it is not used.
    pub(super) fn setter(name: &str) -> Option<Setter> {
        Some(match name {
            "x" => |vertex, number, _| vertex.position.x = number,
            "y" => |vertex, number, _| vertex.position.y = number,
            "z" => |vertex, number, _| vertex.position.z = number,
            "nx" => |vertex, number, _| vertex.normal.x = number as f32,
            "ny" => |vertex, number, _| vertex.normal.y = number as f32,
            "nz" => |vertex, number, _| vertex.normal.z = number as f32,
            "u" | "s" | "texture_u" => |vertex, number, _| vertex.uv.x = number as f32,
            "v" | "t" | "texture_v" => |vertex, number, _| vertex.uv.y = number as f32,
            "red" | "r" | "diffuse_red" | "color_0" => {
                |vertex, number, white| vertex.color.x = (number / white) as f32
            }
            "green" | "g" | "diffuse_green" | "color_1" => {
                |vertex, number, white| vertex.color.y = (number / white) as f32
            }
            "blue" | "b" | "diffuse_blue" | "color_2" => {
                |vertex, number, white| vertex.color.z = (number / white) as f32
            }
            _ => return None,
        })
    }
}

impl PropertyAccess for Vertex {
    fn new() -> Self {
        Vertex::bare()
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        let (Some(setter), Some((number, white))) = (Vertex::setter(name), number(&property))
        else {
            return PropertyAccessResult::Ignored;
        };
        setter(self, number, white);
        PropertyAccessResult::Set
    }
}

/// A polygon, with the attributes that the file gives to faces instead of vertices.
pub(crate) struct Face {
    /// Zero-based vertex indices, not yet validated.
    pub(crate) corners: Vec<i64>,
    /// Texture coordinates of the corners, v upwards; empty if the file gives faces none.
    pub(crate) uvs: Vec<Vec2>,
    /// Color of the face, sRGB-encoded, as that of a vertex; NaN if the file gives faces none.
    pub(crate) color: Vec3,
    /// Zero-based index of the face's image in [`PlyFile::images`](super::file::PlyFile::images), 0 by default. Values
    /// outside that list, such as -1, mean no image.
    pub(crate) image: i64,
}

impl Face {
    /// Names of the property that lists a face's vertex indices. Programs write one or the other.
    pub(super) const LISTS: [&str; 2] = ["vertex_indices", "vertex_index"];
    /// Names of the properties that give a face its own color, texture coordinates or image.
    pub(super) const OWN: [&str; 8] = [
        "texcoord",
        "texnumber",
        "red",
        "green",
        "blue",
        "diffuse_red",
        "diffuse_green",
        "diffuse_blue",
    ];

    /// Returns the face itself. Fails unless it has texture coordinates for all corners or for none.
    pub(super) fn checked(&self) -> Result<&Face, String> {
        let (corners, uvs) = (self.corners.len(), self.uvs.len());
        if uvs == 0 || uvs == corners {
            return Ok(self);
        }
        Err(format!(
            "a face has texture coordinates for {uvs} corners, expected {corners}"
        ))
    }

    /// Returns the triangles of triangle strips, one face each. `corners` lists the strips, separated by negative
    /// indices.
    ///
    /// Every second triangle of a strip is reversed, so that all have one orientation. Triangles with repeated vertices
    /// are left out.
    pub(super) fn triangles(&self) -> impl Iterator<Item = Face> {
        let strips = self.corners.split(|&index| index < 0);
        strips.flat_map(|strip| {
            let triangles = strip.windows(3).enumerate();
            triangles.filter_map(|(number, window)| {
                let [a, b, c] = [window[0], window[1], window[2]];
                let corners = if number % 2 == 0 {
                    vec![a, b, c]
                } else {
                    vec![a, c, b]
                };
                let seen = a != b && b != c && c != a;
                seen.then(|| Face {
                    corners,
                    ..Face::new()
                })
            })
        })
    }
}

impl PropertyAccess for Face {
    fn new() -> Self {
        Face {
            corners: Vec::new(),
            uvs: Vec::new(),
            color: Vec3::NAN,
            image: 0,
        }
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        if Face::LISTS.contains(&name) {
            self.corners = indices(property);
            return PropertyAccessResult::Set;
        }
        if name == "texcoord" {
            let pairs = |numbers: Vec<f32>| {
                let pairs = numbers.chunks(2);
                pairs
                    .map(|pair| Vec2::new(pair[0], *pair.get(1).unwrap_or(&f32::NAN)))
                    .collect()
            };
            self.uvs = match property {
                Property::ListFloat(numbers) => pairs(numbers),
                Property::ListDouble(numbers) => {
                    pairs(numbers.into_iter().map(|number| number as f32).collect())
                }
                _ => return PropertyAccessResult::Ignored,
            };
            return PropertyAccessResult::Set;
        }
        let Some((number, white)) = number(&property) else {
            return PropertyAccessResult::Ignored;
        };
        match name {
            "red" | "diffuse_red" => self.color.x = (number / white) as f32,
            "green" | "diffuse_green" => self.color.y = (number / white) as f32,
            "blue" | "diffuse_blue" => self.color.z = (number / white) as f32,
            "texnumber" => self.image = number as i64,
            _ => return PropertyAccessResult::Ignored,
        }
        PropertyAccessResult::Set
    }
}

/// Returns the value of a scalar property, and the value that means 1 in a color of that type: 255 for an 8-bit
/// integer, for example. Returns `None` for lists.
fn number(property: &Property) -> Option<(f64, f64)> {
    Some(match *property {
        Property::Char(value) => (value.into(), 1.0),
        Property::UChar(value) => (value.into(), 255.0),
        Property::Short(value) => (value.into(), 1.0),
        Property::UShort(value) => (value.into(), 65535.0),
        Property::Int(value) => (value.into(), 1.0),
        Property::UInt(value) => (value.into(), 1.0),
        Property::Float(value) => (value.into(), 1.0),
        Property::Double(value) => (value, 1.0),
        _ => return None,
    })
}

/// Returns the values of a property that is a list of integers. Returns an empty list for other properties.
fn indices(property: Property) -> Vec<i64> {
    fn widened<T: Into<i64>>(indices: Vec<T>) -> Vec<i64> {
        indices.into_iter().map(Into::into).collect()
    }
    match property {
        Property::ListChar(indices) => widened(indices),
        Property::ListUChar(indices) => widened(indices),
        Property::ListShort(indices) => widened(indices),
        Property::ListUShort(indices) => widened(indices),
        Property::ListInt(indices) => widened(indices),
        Property::ListUInt(indices) => widened(indices),
        _ => Vec::new(),
    }
}
