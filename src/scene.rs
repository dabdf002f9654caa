//! A scene: what is in a RON file, checked and flattened to triangles and spheres.
//!
//! A scene file is RON in UTF-8, named `.ron`, of up to 16 MiB. Lengths are in metres, angles in degrees, colours in
//! linear sRGB, light in W·sr⁻¹·m⁻² per channel; right-handed, y up. It is read strictly: an unknown or repeated field,
//! a number that is not finite or not in its range, a material that is not there is an error with its file, line and
//! column.
//! `(x, y, z)` and `(r, g, b)` are three numbers in parentheses.
//!
//! ```ron
//! (
//!     camera: (origin: (0, 1, 5), target: (0, 1, 0), fov: 40),
//!     sky: (0.8, 0.9, 1.0),
//!     materials: {
//!         "clay": Diffuse(albedo: (0.7, 0.5, 0.3)),
//!         "glass": Dielectric(ior: 1.5),
//!     },
//!     objects: [
//!         Quad(corner: (-4, 0, 4), edge_u: (8, 0, 0), edge_v: (0, 0, -8), material: "clay"),
//!         Sphere(center: (0, 1, 0), radius: 1, material: "glass"),
//!     ],
//! )
//! ```
//!
//! # The scene
//!
//! | field | what | default |
//! |---|---|---|
//! | `size` | `(width, height)` of the picture, pixels, each 1 to 65,536 and together at most 2²⁸ | `(512, 512)` |
//! | `spp` | samples a pixel, from 1 | `64` |
//! | `max_bounces` | how often a path may scatter, 0 to 1024; 0 shows only what the camera sees shine | `8` |
//! | `seed` | of every random number, 0 to 2³²−1 | `0` |
//! | `clamp_indirect` | what light that was scattered more than once may add to a sample at most, in any channel, 1e-6 to 1e6: fewer bright specks, and a picture that is too dark by what they hold | none: nothing is clamped |
//! | `exposure` | of the picture and the window, stops, -32 to 32: one more is twice as bright | `0` |
//! | `tone` | their tone curve, see [`Tone`]: `Srgb`, `AgX`, `Aces` or `Neutral` | `Srgb` |
//! | `camera` | see below | required |
//! | `sky` | radiance from all around, the same everywhere; is added to what `lights` put there | `(0, 0, 0)` |
//! | `direct_light` | how light is found: `Both`, or by `Lights` or `Bsdf` alone, which show the same with more noise | `Both` |
//! | `lights` | `[ Light(..), .. ]`: what shines and is no object | `[]` |
//! | `materials` | `{ "name": Material(..), .. }` | `{}` |
//! | `objects` | `[ Object(..), .. ]`, at least one; at most 2³¹ triangles and spheres | required |
//!
//! The film takes samples below 2²⁴, and holds 2³⁰ per pixel and channel: a radiance lies below the one, and times `spp`
//! not above the other.
//!
//! # The camera
//!
//! | field | what | default |
//! |---|---|---|
//! | `origin` | where the pinhole or the lens is | required |
//! | `target` | a point that it looks at: the middle of the picture | required |
//! | `up` | a direction that points up in the picture, not along the view | `(0, 1, 0)` |
//! | `fov` | horizontal angle of view, degrees, 0.001 to 179.999; or | required |
//! | `width` | of an orthographic camera, whose rays are parallel and leave the plane through `origin`: how much it sees from left to right, metres | required |
//! | `lens` | `(..)`: a thin lens instead of the pinhole, see below | none |
//! | `filter` | how a pixel's samples are spread over the film, see below | `Box(radius: 0.5)` |
//!
//! | field of `lens` | what | default |
//! |---|---|---|
//! | `radius` | of the aperture, metres; or | required |
//! | `f_stop` | focal length over the aperture's diameter, 0.1 to 1000, for the focal length at which a film 36 mm wide sees `fov`; not beside `width` | required |
//! | `focus_distance` | from the lens along the view to the plane that is sharp, metres; or | the distance of `target` |
//! | `focus_point` | a point of that plane, before the camera | `target` |
//! | `blades` | the aperture is a regular polygon of 3 to 16 corners, on the circle of its radius; 0: it is round | `0` |
//! | `rotation` | turns the polygon, whose first corner points up, counter-clockwise, degrees | `0` |
//!
//! | filter | field | what | default |
//! |---|---|---|---|
//! | `Box` | `radius` | half its width, pixels, 0.01 to 16; 0.5 is the pixel's own square | `0.5` |
//! | `Gaussian` | `radius` | where it ends, pixels, 0.01 to 16 | `1.5` |
//! | | `sigma` | standard deviation, pixels, `radius / 8` to `8 * radius` | `radius / 3` |
//! | `BlackmanHarris` | `radius` | where it ends, pixels, 0.01 to 16 | `1.5` |
//!
//! # Lights
//!
//! Objects of an `Emissive` material shine too. Light comes from:
//!
//! | light | field | what | default |
//! |---|---|---|---|
//! | `Point` | `position` | a point that shines to all sides alike | required |
//! | | `intensity` | W/sr per channel, 0 or more | required |
//! | `Spot` | `position`, `intensity` | as above, within a cone | required |
//! | | `direction` | the cone's axis, of any length | required |
//! | | `outer` | angle from the axis at which it ends, 0 to 90 | required |
//! | | `inner` | angle from the axis up to which it is full; from there it falls by the square of what falls linearly in the angle's cosine | `0` |
//! | `Directional` | `direction` | the way that light goes which comes from infinitely far, of any length | required |
//! | | `irradiance` | on a surface that faces it, W/m² per channel, 0 or more | required |
//! | | `angle` | diameter of the disk that it comes from, 0.01 to 90; a disk is seen, and throws soft shadows. 0 is none | `0` |
//! | `Environment` | `file` | a picture of the sky, `.hdr` (Radiance) or `.exr` (OpenEXR), linear sRGB, by longitude and latitude; at most one | required |
//! | | `scale` | its values times this are radiances | `1` |
//! | | `rotate_y` | turned by so much about +y, as a `Box` is | `0` |
//! | `SunSky` | `elevation` | of the sun above the horizon, 0 to 90 | required, or the next four |
//! | | `azimuth` | of the sun, from north, which is −z, over east, +x | `180` |
//! | | `date`, `time` | `(year, month, day)`, 1950 to 2050, and the hours since midnight in universal time, 0 to 24 | required, or the sun's angles |
//! | | `latitude`, `longitude` | of the place, degrees north and east | required with `date` |
//! | | `turbidity` | haze, 1 (clean air) to 10 | `3` |
//! | | `ground` | albedo of the ground, which fills all below the horizon | `(0.3, 0.3, 0.3)` |
//! | | `sun` | whether there is a sun; else only its sky | `true` |
//! | | `scale` | 1 is in W·sr⁻¹·m⁻² as the eye weighs them, 683 cd/m²; by default white is about 1 in the sun | `0.02` |
//!
//! A `SunSky` is an environment too, and its sun a directional light of 0.533 degrees: L. Hosek & A. Wilkie's model of a
//! clear day (2012), and a sun that is dimmed and reddened by the same haze, by air and by ozone.
//!
//! Of an EXR file the first layer with `R`, `G` and `B` is shown; else `Y`, channels such as `beauty.R`, or the only one
//! there is. An HDR file may begin at any corner and be of XYZ; its `EXPOSURE` changes nothing.
//!
//! A sky's picture shows, u from the left and v from the top, what is in the direction
//! (sin 2πu sin πv, cos πv, −cos 2πu sin πv): its middle is +z, its quarters are +x and −x. Values stand at the pixels'
//! centres and are bilinear between them. Below 0 they count as 0; infinite ones, NaN, and those that are not below 2²⁴
//! when scaled are errors.
//!
//! What is infinitely far is often brighter than a film can take: a sun's disk is of some 10⁷. Where it is seen directly, or
//! through nothing but mirrors and clear glass, each channel is cut off at 16,384. All that it lights is lit by all of it.
//!
//! # Materials
//!
//! | material | field | what | default |
//! |---|---|---|---|
//! | `Diffuse` | `albedo` | part of the light that is scattered, evenly to all sides, 0 to 1 | required |
//! | | `one_sided` | black from behind: the back absorbs | `false` |
//! | `Mirror` | `reflectance` | part of the light that is reflected, 0 to 1 | required |
//! | | `one_sided` | as above | `false` |
//! | `Dielectric` | `ior` | index of refraction inside over outside, 0.1 to 10; smooth, clear | required |
//! | | `absorption` | `(color, distance)`: what is left of white light, 0 to 1, after so many metres behind the front | none |
//! | `Conductor` | `preset` | a smooth metal by name: see below | one of the three |
//! | | `eta`, `k` | its complex index of refraction, real and imaginary part per channel, each 0 to 100 | one of the three |
//! | | `color` | its reflectance head on, 0 to 1 (Schlick) | one of the three |
//! | | `one_sided` | as above | `false` |
//! | `RoughConductor` | as `Conductor`, and | | |
//! | | `alpha` | roughness of GGX: about the slope of its facets, 0.001 to 1 | required |
//! | | `masking` | `Separable` or `HeightCorrelated`: the form of Smith's term | `HeightCorrelated` |
//! | | `energy_compensation` | light that hits several facets leaves, and is not lost | `true` |
//! | `RoughDielectric` | `ior` | as of `Dielectric` | required |
//! | | `alpha`, `masking`, `energy_compensation`, `absorption` | as above | |
//! | `CoatedDiffuse` | `albedo` | as of `Diffuse`, below a clear boundary | required |
//! | | `ior` | index of refraction of the boundary, 0.1 to 10 | `1.5` |
//! | | `alpha` | its roughness, 0 to 1 | `0` |
//! | | `one_sided` | as above | `false` |
//! | `Principled` | `base_color` | reflectance of a metal, albedo of anything else, tint of what goes through, 0 to 1 | `(1, 1, 1)` |
//! | | `metallic` | part that is metal, 0 to 1 | `0` |
//! | | `roughness` | √alpha, 0 to 1 | `0.5` |
//! | | `ior` | index of refraction, 0.1 to 10 | `1.5` |
//! | | `specular` | strength of what is reflected by what is no metal and lets nothing through, 0 to 1 | `1` |
//! | | `specular_color` | its tint head on, 0 to 100 | `(1, 1, 1)` |
//! | | `transmission` | part of what is no metal that is clear, 0 to 1 | `0` |
//! | | `absorption` | as of `Dielectric`, of what is clear and not `thin` | none |
//! | | `thin` | a wall without a volume: light goes through without being bent | `false` |
//! | | `clearcoat` | strength of a clear coat over everything, 0 to 1 | `0` |
//! | | `clearcoat_roughness` | √alpha of the coat, 0 to 1 | `0` |
//! | | `clearcoat_normal` | `Texture(..)`: a normal map of the coat's own | `normal` |
//! | | `emission` | light given off from the front, 0 or more | `(0, 0, 0)` |
//! | | `both_sides` | the back gives it off too | `false` |
//! | | `one_sided` | as above | `false` |
//! | `Emissive` | `radiance` | light given off from the front, 0 or more | required |
//! | | `albedo` | diffuse reflection of the lamp itself | `(0, 0, 0)` |
//! | | `one_sided` | as above, for its reflection | `false` |
//! | | `both_sides` | it shines to the back too; lamps that do are noisier there, as only paths that meet them find that light | `false` |
//!
//! Metals by name are "aluminium", "chromium", "copper", "gold", "iridium", "mercury", "nickel", "silver" and "tungsten",
//! with refractive indices for linear sRGB as of the renderer Tungsten, averages of measured spectra.
//! Absorption counts from where light meets the front of a closed body to where it next meets its back; what stands within
//! the body ends it uncounted.
//! A rough dielectric whose `ior` is within 0.001 of 1 bends nothing, and is taken for a smooth one.
//!
//! Every material takes three more fields:
//!
//! | field | what | default |
//! |---|---|---|
//! | `opacity` | part of the light that meets the surface, 0 to 1; the rest goes on as if there were none. A number, or a texture, of which `Alpha` counts if no `channel` is named | `1` |
//! | `cutoff` | above 0, to 1: where the surface is at least as opaque it is there, elsewhere it is not: a cut-out | none |
//! | `normal` | a texture, whose colours are directions that the surface faces: red to the right on the image, green up, blue away from the surface, 0 to 1 for −1 to 1 | none |
//!
//! # Textures
//!
//! In place of a colour (`albedo`, `reflectance`, `radiance`, `base_color`, `specular_color`, `emission`) or of a number of
//! `Principled` from 0 to 1 may stand `Texture(file: "wood.png")`; and so for `opacity` and `normal`.
//!
//! | field of `Texture` | what | default |
//! |---|---|---|
//! | `file` | a `.png`, `.jpg`, `.webp`, `.bmp`, `.tga`, `.hdr`, `.exr` or `.ktx2`, relative to the scene's folder | required |
//! | `factor` | what its values are multiplied by: a number or `(r, g, b)`, in the parameter's own range; of a normal map how far it bends, -100 to 100 | `1` |
//! | `channel` | where a number is: `Red`, `Green`, `Blue` or `Alpha` | `Red`, of an `opacity` `Alpha` |
//! | `encoding` | `Srgb` or `Linear`, of integers; floats are linear | `Srgb` of colours, else `Linear` |
//! | `filter` | between texels: `Bilinear` or `Nearest` | `Bilinear` |
//! | `wrap` | beyond the image's edges: `Repeat`, `Mirror` or `Clamp`, or two of them, `(across, down)` | `Repeat` |
//! | `scale` | how often the image fits, or `(across, down)` | `1` |
//! | `rotate` | degrees, by which the coordinates are turned and the image clockwise, after `scale` | `0` |
//! | `offset` | `(right, down)`, in parts of the image, added to the coordinates last | `(0, 0)` |
//!
//! On a `Quad` an image's lower left is at `corner` and its lower right at the end of `edge_u`, and each face
//! of a `Box` shows all of it. It is wrapped around a `Sphere`: its middle faces +z, its top edge is at +y. A mesh shows it by the texture
//! coordinates of its file, whose v grows upwards, and by those of a glTF file, where it grows downwards; without any all
//! of the surface is of one texel.
//!
//! # Objects
//!
//! Every object but a `Model` has a `material`, by name. Coordinates lie within 1e8 m of 0. The front of a triangle is the side from
//! which its vertices run counter-clockwise, the front of a sphere is its outside.
//!
//! | object | field | what | default |
//! |---|---|---|---|
//! | `Quad` | `corner` | one corner of a parallelogram | required |
//! | | `edge_u`, `edge_v` | its two edges from there; the front faces along `edge_u × edge_v` | required |
//! | `Box` | `center` | of a cuboid | required |
//! | | `half_size` | half its edges along x, y and z, before it is turned | required |
//! | | `rotate_y` | turned by so much about +y: x' = x cos + z sin, z' = z cos − x sin | `0` |
//! | `Sphere` | `center`, `radius` | exact, not of triangles | required |
//! | `Mesh` | `file` | a `.ply` (ASCII, binary little or big endian) or `.obj`, relative to the scene's folder | required |
//! | | `scale` | a number, or one for x, y and z; a negative one mirrors, and the front stays outside | `1` |
//! | | `rotate` | degrees about x, then y, then z, after `scale` | `(0, 0, 0)` |
//! | | `translate` | after `rotate` | `(0, 0, 0)` |
//! | | `smooth` | shaded as if it were curved, by a normal at each vertex: its file's, or else the mean of its faces' | `false` |
//! | `Model` | `file` | a `.glb`, `.gltf`, `.obj` or `.ply`, relative to the scene's folder: see below | required |
//! | | `material` | takes the place of the model's own; may be left out | the model's own |
//! | | `lights` | whether the lights of its file shine | `true` |
//! | | `scale`, `rotate`, `translate` | as of a `Mesh` | |
//! | `DisplacedSphere` | `rings`, `segments` | steps from pole to pole and around, 2 and 3 or more | required |
//! | | `amplitudes` | `(a, b)` of its two waves, \|a\| + \|b\| < 1 | `(0.08, 0.03)` |
//! | | `center`, `radius` | where it is and how large | `(0, 0, 0)`, `1` |
//! | | `smooth` | as above | `false` |
//! | `Instances` | `of` | a `Mesh(..)` or `DisplacedSphere(..)`: what stands in many places, and is stored once | required |
//! | | `at` | `[(scale: .., rotate: .., translate: .., material: ".."), ..]`, each as of a `Mesh`, each field optional; or | |
//! | | `grid` | `(count: (x, y, z), spacing: (x, y, z), center: (x, y, z))`, about `center`, by default 0; or | |
//! | | `scatter` | `(count: .., from: (x, y, z), to: (x, y, z))`, by chance within a box; see below | |
//!
//! Instances that shine are looked for as other lamps are, if they have no more than 1,048,576 triangles in all; more are found
//! by the paths that meet them, and [`Scene::notes`] says so.
//!
//! `Instances` have one of `at`, `grid` and `scatter`. Memory grows with their number, some 250 bytes each, and not with
//! their triangles. What stands in a place has been scaled, rotated and moved there as `of` says before the place does.
//! A `scatter` takes also `seed` (default `0`), `scale: (least, most)` (default `(1, 1)`) and `turn`, the most degrees that
//! something is turned about +y (default `360`).
//!
//! Of a `Mesh` positions and faces are read, strips of triangles, texture coordinates, and normals if it is `smooth`; materials
//! and colours of the mesh's own are not used.
//! Polygons become triangles: a fan from their first corner, where they have no dents that it would leave. Triangles without area cannot be hit and are left out;
//! [`Scene::notes`] says how many.
//!
//! # Models
//!
//! A `Model` is shown with its own materials, textures and lights: glTF 2.0, whose nodes, instances, morph targets and
//! skins stand as they do at rest; OBJ with its MTL; PLY. Meshes may be compressed (`KHR_draco_mesh_compression`,
//! `EXT_meshopt_compression`) or quantised. What a file names beside itself lies in its folder or below it. What a file
//! uses and is not shown is named in [`Scene::notes`]; a glTF file that requires it is refused.
//!
//! A mesh that stands in several places is stored once, and so is a file that several objects name. Meshes that stand in one
//! place each are one mesh to the renderer, if they are many. What a node scales to nothing along one axis is shown as the
//! plane that is left of it. Where a mesh has
//! normals it is smooth; where a normal map needs tangents that the file lacks, they are made.
//!
//! Materials of glTF are `Principled` ones, with the extensions `emissive_strength`, `ior`, `specular`, `transmission`,
//! `clearcoat`, `unlit`, `texture_transform` and `pbrSpecularGlossiness`: what transmits is `thin` without a `volume`, what
//! is `unlit` is `Emissive`, and the alpha of the base colour is an `opacity`, with a `cutoff` where it is a mask. The
//! colours of vertices multiply the material's, and their alpha its opacity, where it has no textures. Ambient occlusion is no light, and not looked at;
//! a surface shows and scatters on both sides, and shines to its front, and to its back where it is `doubleSided` or `unlit`.
//! A material's textures lie by up to two sets of texture coordinates. What a `volume` absorbs is by the way through the body
//! itself: of its thickness it counts only whether it is 0, which is a wall, and `thicknessTexture` not at all.
//!
//! A PLY file shows the colours of its vertices, or else of its faces; or the images that its header names
//! (`comment TextureFile`), by texture coordinates of its vertices or of its faces (`texcoord`, `texnumber`).
//!
//! Lights of glTF (`KHR_lights_punctual`) are in candela and lux, and what surfaces emit is in candela per square metre: in
//! either, 1 is 1 here. Many programs mix these with watts, though. So where some light is of 200 or more, all lights are
//! divided by 683, the lumens of a watt.
//!
//! Materials of MTL are `Diffuse` or `Emissive`, `Dielectric` where `illum` is that of glass, and `Principled` where they
//! have highlights (`Ks`, `Ns`) or the fields of physically based rendering (`Pr`, `Pm`, `Pc`, `Pcr`); `d` is their `opacity`. Textures are `map_Kd`,
//! `map_Ks`, `map_Ke`, `map_d`, `map_Pr`, `map_Pm` and normal maps (`norm`, and `map_Bump` where its image is one). Of any other
//! `map_Bump` the brightness is a height: white is a hundredth of the image's width above black, times `-bm`. One that cannot be
//! read is named in the notes.
//!
//! The path of a model may stand in the place of a scene's. It is then seen by its file's own camera, or else from three
//! quarters, 35° to the right of +z and 20° from above, as a whole whatever the picture's size. It stands in a grey room that
//! gets lighter upwards, with a large soft box to the viewer's left, a narrow one to the right and one behind it; where its
//! file has lights they are brighter than the room, and the picture is exposed for them. It has 960 × 540 pixels, or its
//! camera's shape, 64 samples each, and the tone curve `Neutral`.
//!
//! A displaced sphere has `2 * rings * segments` triangles through the points
//! `r (sin u cos v, cos u, sin u sin v)`, `r = 1 + a sin 9u cos 7v + b sin(31u + 1) sin 29v`, with u from 0 to π over
//! the rings and v from 0 to 2π over the segments. At a pole r still depends on v: the points there lie apart along the
//! axis, and the triangles between them are slivers. Where `b` is 0 they have no area and are left out.

mod basis;
mod build;
mod bumps;
mod camera;
mod changes;
mod displaced_sphere;
mod edit;
mod files;
mod flattened;
mod framed;
mod gather;
mod geometry;
mod gltf;
mod hash;
mod image;
mod knobs;
mod lamp;
mod lights;
mod limits;
mod materials;
pub(crate) mod memory;
mod metals;
mod mesh;
mod model;
mod objects;
mod parameters;
mod places;
mod shape;
mod source;
mod studio;
mod sun_sky;
mod surface;
mod tangents;
mod text;
mod texture;
mod tint;
mod transform;
mod view;
mod wording;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use glam::Vec3;

pub use changes::Changes;
pub use edit::{materials_to_ron, save_camera, save_view};
pub use files::SceneFile;
pub use framed::Framing;
pub(crate) use hash::scene_hash;
pub use image::{Image, Texels};
pub use knobs::Knob;
pub use lamp::{Environment, Light};
pub(crate) use limits::check_sides;
pub use shape::{Instance, Mesh, Sphere, Triangle};
pub use surface::{Masking, Metal, Principled, Roughness, Surface};
pub use texture::{Channel, Encoding, Filter, Map, Maps, Parameter, Texture, Wrap};
pub use view::{Camera, Focus, Lens, PixelFilter, Projection};

use crate::{Error, tone::Tone};

/// A scene that can be rendered: every number is finite and in its range, every index leads somewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The file, as it was given.
    pub path: PathBuf,
    /// Width and height of the picture, pixels.
    pub size: (u32, u32),
    /// Samples a pixel.
    pub spp: u32,
    /// How often a path may scatter.
    pub max_bounces: u32,
    /// Of every random number.
    pub seed: u32,
    /// What light that was scattered more than once may add to a sample at most, in any channel, above 0.
    pub clamp_indirect: Option<f32>,
    /// Of a PNG and the window: brightness doubles with every stop. The film does not depend on it.
    pub exposure_stops: f32,
    /// Of a PNG and the window.
    pub tone: Tone,
    /// Where it is seen from.
    pub camera: Camera,
    /// How the camera follows the picture's size, of a scene that is a model's file.
    pub framing: Option<Framing>,
    /// Radiance from all around, linear sRGB.
    pub sky: Vec3,
    /// Which samples find light.
    pub direct_light: DirectLight,
    /// What shines and is no object; at most one environment.
    pub lights: Vec<Light>,
    /// What the objects are made of, in the file's order.
    pub materials: Vec<Surface>,
    /// Their names, of those that have one; empty ones for the others.
    pub material_names: Vec<String>,
    /// Textures that scale parameters of materials, by the material's index.
    pub maps: BTreeMap<u32, Maps>,
    /// Images as they lie on surfaces.
    pub textures: Vec<Texture>,
    /// What the textures are of.
    pub images: Vec<Arc<Image>>,
    /// All flat objects, in the file's order.
    pub triangles: Arc<Vec<Triangle>>,
    /// All spheres, in the file's order.
    pub spheres: Arc<Vec<Sphere>>,
    /// Shapes that instances place, each stored once.
    pub meshes: Arc<Vec<Mesh>>,
    /// Where meshes stand, in the file's order.
    pub instances: Arc<Vec<Instance>>,
    /// What the reader of the file should know though it is no error, a line each.
    pub notes: Vec<String>,
    /// What was looked for to read it.
    pub files: Vec<SceneFile>,
}

/// Which samples find light. All converge to one picture; both together have the least noise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub enum DirectLight {
    /// Of lights and of the BSDF, combined by the power heuristic (E. Veach 1997).
    #[default]
    Both,
    /// Points on lights; directions of the BSDF count where no point on a light is found.
    Lights,
    /// Directions of the BSDF; points on lights count where no direction finds them.
    Bsdf,
}

impl Scene {
    /// Reads a `.ron` file and the meshes that it names, or a model: a `.glb`, `.gltf`, `.obj` or `.ply` file, which is
    /// framed and lit.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, [`Error::Scene`] with the place of the first thing in it that is wrong.
    pub fn load(path: &Path) -> Result<Scene, Error> {
        let (scene, files) = Scene::load_noting(path);
        Ok(Scene { files, ..scene? })
    }

    /// The same, with the files that were looked for, whatever came of it.
    pub(crate) fn load_noting(path: &Path) -> (Result<Scene, Error>, Vec<SceneFile>) {
        files::noting(|| Scene::read(path))
    }

    fn read(path: &Path) -> Result<Scene, Error> {
        if mesh::MODEL_TYPES.contains(&source::file_type(path).as_str()) {
            return framed::scene(path);
        }
        let text = source::read_scene_file(path)?;
        build::scene(path, &text)
    }

    /// Whether a file of this name may hold a scene or a model.
    pub fn is_named(path: &Path) -> bool {
        let found = source::file_type(path);
        found == "ron" || mesh::MODEL_TYPES.contains(&found.as_str())
    }

    /// Takes another size for its picture, and the camera that shows the same in it.
    pub fn set_size(&mut self, size: (u32, u32)) {
        self.size = size;
        if let Some(framing) = &self.framing {
            self.camera = framing.camera(size);
        }
    }
}
