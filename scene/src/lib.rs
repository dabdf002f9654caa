//! Scene files for path tracing: reads RON scenes, glTF, OBJ, PLY and images into one checked [`Scene`].
//!
//! [`Scene::load`] reads a scene file, or a model, and all files that it names. The result holds plain data: camera,
//! lights, materials, textures, triangles, spheres and instances. The crate contains no renderer and no GPU code.
//!
//! This page is the reference of the scene format. A scene file is RON text in UTF-8, named `.ron`, of at most 16 MiB.
//!
//! - Lengths are in metres, from 1e-15 to 1e8; edges of flat faces from 1e-9. Coordinates lie within 1e8 m of 0. They
//!   may be far from 0 in relation to the size of the objects, as on a map, without loss of precision; [`Scene::origin`]
//!   says how. Such a scene is read twice.
//! - Angles are in degrees.
//! - Colors are in linear sRGB. Radiance is in W·sr⁻¹·m⁻² per channel.
//! - The coordinate system is right-handed, with y up.
//! - `(x, y, z)` and `(r, g, b)` are three numbers in parentheses.
//! - Paths are relative to the folder of the scene file.
//!
//! Reading is strict. An unknown or repeated field, a number that is not finite or outside its range, and a missing
//! material are errors. An error names the file, the line and the column.
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
//! | field | meaning | default |
//! |---|---|---|
//! | `size` | `(width, height)` of the image in pixels; each 1 to 65,536, their product at most 2²⁸ | `(512, 512)` |
//! | `spp` | samples per pixel, 1 or more | `64` |
//! | `max_bounces` | how often a path may scatter, 0 to 4096; 0 shows only the emission that the camera sees directly | `8` |
//! | `roulette` | the first time of scattering, counted from 1 to 4096, after which a path that carries little light may end at random (Russian roulette); saves time and does not change the expected image; 0 turns it off | `5` |
//! | `seed` | seed of all random numbers, 0 to 2³²−1 | `0` |
//! | `clamp_indirect` | upper limit per channel, 1e-6 to 1e6, for each contribution of light that was scattered more than once; removes fireflies, and darkens the image by the light that it cuts off | no limit |
//! | `exposure` | exposure of the displayed image in stops, -32 to 32; each stop doubles the brightness | `0` |
//! | `tone` | tone curve of the displayed image, see [`Tone`]: `Srgb`, `AgX`, `Aces` or `Neutral` | `Srgb` |
//! | `camera` | the camera, see below | required |
//! | `sky` | constant radiance from all directions, added to the radiance of `lights` | `(0, 0, 0)` |
//! | `background` | what camera rays see that hit nothing: a radiance `(r, g, b)`, `Environment`, or `Transparent` for images with alpha, see [`Background`]; it lights nothing | `Environment` |
//! | `shadow_catcher` | height in metres of an invisible, horizontal ground; with a transparent background, images show the shadows on it, as black with alpha | no ground |
//! | `fog` | `(scattering: (r, g, b), absorption: (r, g, b), anisotropy: g)`: a medium that fills all space, see below | none |
//! | `direct_light` | how direct light is sampled: `Both`, `Lights` only or `Bsdf` only; all converge to one image, and `Both` has the least noise | `Both` |
//! | `lights` | `[ Light(..), .. ]`: the lights that are not objects | `[]` |
//! | `materials` | `{ "name": Material(..), .. }` | `{}` |
//! | `objects` | `[ Object(..), .. ]`, at least one; at most 2³¹ triangles, spheres and instances in all | required |
//!
//! A film accepts samples below 2²⁴, and sums of at most 2³⁰ per pixel and channel. Therefore each visible radiance
//! must be below 2²⁴, and its product with `spp` must be at most 2³⁰. A film stores multiples of 2⁻³² (2.3e-10). Samples are
//! rounded up or down so that their mean is right: the mean of a pixel is off by at most some 1e-9 / `spp`.
//!
//! `fog` scatters and absorbs light on its way. `scattering` and `absorption` are coefficients per metre and channel, 0 to
//! 1e6: light of a channel goes 1 / (scattering + absorption) metres on average. `absorption` is 0 by default.
//! `anisotropy` is the mean cosine of the scattering angle, -0.99 to 0.99 (Henyey–Greenstein phase function): 0, the
//! default, scatters equally in all directions, and fog of droplets has about 0.8. Fog extends to infinity, so that no
//! light of the sky, of an environment, of a sun or of a directional light arrives; place lights in the scene. It does
//! not fill transparent bodies. `fog: (scattering: (0.1, 0.1, 0.1))` makes light
//! fog in a room.
//!
//! # The camera
//!
//! | field | meaning | default |
//! |---|---|---|
//! | `origin` | position of the pinhole, or of the lens center | required |
//! | `target` | point at which the camera looks, in the center of the image unless `shift` moves it; not `origin` | required |
//! | `up` | direction that points up in the image, of any length; not parallel to the view direction | `(0, 1, 0)` |
//! | `fov` | horizontal angle of view of a perspective camera in degrees, 0.001 to 179.999 | `fov` or `width` is required |
//! | `width` | width in metres of the view of an orthographic camera, whose rays are parallel and start on the plane through `origin` | `fov` or `width` is required |
//! | `shift` | `(right, up)`: moves the view sideways without turning the camera, in image widths and heights, each -1e6 to 1e6; parallel edges stay parallel, as with a shift lens | `(0, 0)` |
//! | `pixel_aspect` | width of a pixel divided by its height, 0.001 to 1000, which changes the height of the view; squares look stretched if it is not 1 | `1` |
//! | `lens` | `(..)`: a thin lens instead of the pinhole, see below | none |
//! | `filter` | pixel reconstruction filter, see below | `Box(radius: 0.5)` |
//!
//! | field of `lens` | meaning | default |
//! |---|---|---|
//! | `radius` | radius of the aperture in metres | `radius` or `f_stop` is required |
//! | `f_stop` | focal length divided by the aperture's diameter, 0.1 to 1000; the focal length is the one at which a film 36 mm wide sees `fov`; not for a camera with `width` | `radius` or `f_stop` is required |
//! | `focus_distance` | distance in metres from the lens to the plane of focus, along the view direction | distance of `target` |
//! | `focus_point` | a point on the plane of focus; everything is blurred while it is not in front of the camera; excludes `focus_distance` | `target` |
//! | `blades` | corners of the aperture, a regular polygon on the circle of its radius: 3 to 16, or 0 for a round aperture | `0` |
//! | `rotation` | counter-clockwise rotation of the polygon in degrees, -360 to 360; at 0 its first corner points up | `0` |
//!
//! | filter | field | meaning | default |
//! |---|---|---|---|
//! | `Box` | `radius` | half its width in pixels, 0.01 to 16; 0.5 covers exactly the pixel | `0.5` |
//! | `Gaussian` | `radius` | radius in pixels at which it is cut off, 0.01 to 16 | `1.5` |
//! | | `sigma` | standard deviation in pixels, `radius / 8` to `8 * radius` | `radius / 3` |
//! | `BlackmanHarris` | `radius` | radius in pixels at which it ends, 0.01 to 16 | `1.5` |
//!
//! # Lights
//!
//! Light comes from objects with emission, from `sky`, and from these lights:
//!
//! | light | field | meaning | default |
//! |---|---|---|---|
//! | `Point` | `position` | a point that emits equally in all directions | required |
//! | | `intensity` | radiant intensity, W/sr per channel, 0 or more | required |
//! | `Spot` | `position`, `intensity` | like `Point`, but limited to a cone | required |
//! | | `direction` | axis of the cone, of any length | required |
//! | | `outer` | angle from the axis at which the light ends, 0 to 90 | required |
//! | | `inner` | angle from the axis up to which the intensity is full, at most `outer`; from there it falls to 0 at `outer` | `0` |
//! | | `falloff` | how it falls, with p the part of the way from `outer` to `inner` in the angle's cosine: `Squared`: p²; `Smooth`: 3 p² − 2 p³; `Linear`: linear in the angle | `Squared` |
//! | `Directional` | `direction` | direction in which the light travels, of any length; its source is infinitely far away | required |
//! | | `irradiance` | irradiance on a surface that faces the light, W/m² per channel, 0 or more | required |
//! | | `angle` | angular diameter of its disk: 0, or 0.01 to 90; a disk is visible and casts soft shadows, 0 is invisible and casts hard ones | `0` |
//! | `Environment` | `file` | environment map in latitude-longitude format, `.hdr` (Radiance) or `.exr` (OpenEXR), linear sRGB unless an EXR file names other `chromaticities`; at most one environment per scene | required |
//! | | `scale` | factor from the values of the file to radiance, 0 or more | `1` |
//! | | `rotate_y` | rotation about +y, in the same sense as that of a `Box` | `0` |
//! | `Studio` | `azimuth` | the default lighting of models, a grey room with three soft boxes: azimuth of the viewer whom it suits, -360 to 360, from +z over +x; an environment | `0` |
//! | | `scale` | factor for the brightness, 0 or more | `1` |
//! | `SunSky` | `elevation` | elevation of the sun above the horizon, 0 to 90 | required without `date` |
//! | | `azimuth` | azimuth of the sun, -360 to 360, from north (−z) over east (+x) | `180` |
//! | | `date`, `time` | `(year, month, day)` from 1950 to 2050, and hours since midnight in universal time, 0 to 24; they replace `elevation` and `azimuth` | required without `elevation` |
//! | | `latitude`, `longitude` | the place in degrees north, -90 to 90, and east, -180 to 180 | required with `date` |
//! | | `north` | azimuth of north in the scene, -360 to 360, from −z over +x, only with `date`: turns sky and sun | `0` |
//! | | `turbidity` | haze: 1 (clean air) to 10 | `3` |
//! | | `ground` | albedo of the ground, which fills everything below the horizon | `(0.3, 0.3, 0.3)` |
//! | | `sun` | whether the sun is there, or only its sky | `true` |
//! | | `scale` | factor for the brightness, 0 to 1000; at 1 the values are in W·sr⁻¹·m⁻² weighted by the eye, 683 cd/m² each; at the default, white in the sun is about 1 | `0.02` |
//!
//! A `SunSky` adds an environment, and for its sun a directional light with a disk of 0.533 degrees. The sky is the
//! clear-day model of L. Hosek and A. Wilkie (2012). The sun is dimmed and reddened by the same haze, by air and by
//! ozone.
//!
//! From an EXR file the first layer with `R`, `G` and `B` is used. Without one, `Y`, channels such as `beauty.R`, or
//! the only channel is used. Luminance and chroma (`Y`, `RY`, `BY`) become colors. An HDR file may start at any corner and
//! may be in XYZ. Its `EXPOSURE` is ignored.
//!
//! In an environment map, u grows from left to right and v from top to bottom, both from 0 to 1. The point (u, v)
//! shows the direction (sin 2πu sin πv, cos πv, −cos 2πu sin πv). The center is +z, u = 1/4 is +x and u = 3/4 is −x.
//! Values belong to pixel centers and are interpolated bilinearly. Values below 0 are treated as 0, and infinite ones as
//! 65504. NaN and scaled values of 2²⁴ or more are errors. An EXR file whose attribute `envmap` says that it is a cube map
//! has six squares below each other, in the directions +x, −x, +y, −y, +z and −z.
//!
//! Distant light is often brighter than a film can store: the disk of the sun has a radiance of about 10⁷. Where it is
//! seen directly, or only through mirrors and clear glass, each channel is clamped to 16,384. Surfaces receive its full
//! radiance.
//!
//! # Materials
//!
//! The page [`materials`] lists the materials and their fields.
//!
//! # Textures
//!
//! `Texture(file: "wood.png")` may replace any color of a material (`albedo`, `reflectance`, `radiance`, `base_color`,
//! `specular_color`, `sheen_color`, `diffuse_transmission_color`, `emission`) and any number of `Principled` with the
//! range 0 to 1. `opacity` and `normal` take one too.
//!
//! | field of `Texture` | meaning | default |
//! |---|---|---|
//! | `file` | a `.png`, `.jpg`, `.webp`, `.bmp`, `.tga`, `.hdr`, `.exr`, `.pfm` or `.ktx2` file, see below, relative to the scene's folder | required |
//! | `factor` | factor for the values, a number or `(r, g, b)` within the range of the parameter; for a normal map, the strength of the bend, -100 to 100 | `1` |
//! | `channel` | channel that holds a single number: `Red`, `Green`, `Blue` or `Alpha` | `Alpha` for `opacity`, else `Red` |
//! | `encoding` | encoding of integer images, `Srgb` or `Linear`; floating-point images are always linear | `Srgb` for colors, else `Linear` |
//! | `filter` | interpolation between texels: `Bilinear` or `Nearest` | `Bilinear` |
//! | `wrap` | mode beyond the edges of the image: `Repeat`, `Mirror` or `Clamp`, or a pair `(across, down)` | `Repeat` |
//! | `scale` | number of repetitions of the image, or `(across, down)` | `1` |
//! | `rotate` | rotation of the texture coordinates in degrees, after `scale`; the image turns clockwise | `0` |
//! | `offset` | `(right, down)` in fractions of the image, added to the texture coordinates last | `(0, 0)` |
//!
//! - A `.pfm` file holds floats, in color or in grey.
//! - A `.ktx2` file holds Basis Universal, plain texels of 8 or 16 bits or floats, or BC1 to BC7, and may be compressed
//!   by Zstandard or zlib. An image of two channels is read as a normal map, whose blue follows from red and green.
//! - On a `Quad`, the lower left corner of the image is at `corner`, and the lower right one at the end of `edge_u`.
//! - Each face of a `Box` shows the whole image.
//! - Around a `Sphere`, the center of the image faces +z and its top edge is at +y.
//! - A mesh uses the texture coordinates of its file. Their v grows upwards, and in a glTF file downwards. Without any,
//!   the whole surface shows the upper left corner of the image.
//!
//! # Objects
//!
//! Every object has a `material`, given by name; a `Model` may omit it. The front of a triangle is the side from which
//! its vertices are counter-clockwise. The front of a sphere is its outside.
//!
//! | object | field | meaning | default |
//! |---|---|---|---|
//! | `Quad` | `corner` | one corner of a parallelogram | required |
//! | | `edge_u`, `edge_v` | the two edges that start there; the front faces along `edge_u × edge_v` | required |
//! | `Box` | `center` | center of a cuboid | required |
//! | | `half_size` | half the lengths of its edges along x, y and z, before the rotation | required |
//! | | `rotate_y` | rotation about +y in degrees: x' = x cos + z sin, z' = z cos − x sin | `0` |
//! | `Sphere` | `center`, `radius` | an exact sphere, not made of triangles | required |
//! | `Mesh` | `file` | a `.ply` (ASCII, binary little or big endian) or `.obj` file, relative to the scene's folder | required |
//! | | `scale` | a number, or one each for x, y and z; a negative scale mirrors, and the front stays outside | `1` |
//! | | `rotate` | rotation in degrees about x, then y, then z, after `scale` | `(0, 0, 0)` |
//! | | `translate` | translation, after `rotate` | `(0, 0, 0)` |
//! | | `smooth` | whether normals are interpolated over each face: the file's vertex normals, or else the averages of the adjacent faces' normals | `false` |
//! | `Model` | `file` | a `.glb`, `.gltf`, `.obj` or `.ply` file, relative to the scene's folder, see below | required |
//! | | `material` | replaces all materials of the model | the model's own |
//! | | `lights` | whether the lights in the file are used | `true` |
//! | | `variant` | name of a material variant of a glTF file, in quotes | the default materials |
//! | | `animation` | the animation of a glTF file that plays, by name or number from 1, in quotes; `"all"` plays all of them | all |
//! | | `time` | time in seconds at which the animations are shown; an `animation` without a time is shown at 0 | the rest pose |
//! | | `line_width` | diameter in metres of the tubes and spheres for lines and points of a glTF or PLY file, before `scale`, above 0 and up to 1e8; spheres stay round where `scale` stretches | 1/200 of the diagonal of the model's bounding box |
//! | | `scale`, `rotate`, `translate` | like those of a `Mesh` | |
//! | `DisplacedSphere` | `rings`, `segments` | number of steps from pole to pole, 2 or more, and around the axis, 3 or more | required |
//! | | `amplitudes` | amplitudes `(a, b)` of its two waves, \|a\| + \|b\| < 1 | `(0.08, 0.03)` |
//! | | `center`, `radius` | center and radius of the undisplaced sphere | `(0, 0, 0)`, `1` |
//! | | `smooth` | like that of a `Mesh` | `false` |
//! | `Instances` | `of` | a `Mesh(..)` or `DisplacedSphere(..)`, stored once and shown in many places | required |
//! | | `at` | `[(scale: .., rotate: .., translate: .., material: ".."), ..]`: the transforms, each field optional and like that of a `Mesh` | one of `at`, `grid` and `scatter` is required |
//! | | `grid` | `(count: (x, y, z), spacing: (x, y, z), center: (x, y, z))`: a regular grid around `center`, which defaults to 0 | |
//! | | `scatter` | `(count: .., from: (x, y, z), to: (x, y, z))`: random positions in a box, see below | |
//!
//! Triangles without area cannot be hit and are left out; [`Scene::notes`] says how many.
//!
//! **Mesh.** Positions, faces, triangle strips and texture coordinates are read, and normals if `smooth` is set.
//! Materials and colors in the file are ignored. A polygon becomes a fan of triangles from its first corner if that
//! covers it exactly, as it does for convex polygons. Other polygons are triangulated by ear clipping.
//!
//! **Instances.** The transform of `of` applies first, the transform of each place second. Each instance takes about
//! 250 bytes of memory, whatever the number of its triangles. Emissive instances are sampled as area lights if they
//! have at most 1,048,576 triangles in all. Beyond that their light is found only by paths that hit them, and
//! [`Scene::notes`] says so.
//!
//! A `scatter` has three more fields: `seed` (default `0`), `scale: (min, max)` (default `(1, 1)`), and `turn`, the
//! largest rotation about +y in degrees (default `360`).
//!
//! **DisplacedSphere.** It has `2 * rings * segments` triangles. Its vertices are at `center + radius * r * (sin u cos
//! v, cos u, sin u sin v)` with `r = 1 + a sin 9u cos 7v + b sin(31u + 1) sin 29v`. Over the rings u runs from 0 to π,
//! and over the segments v runs from 0 to 2π. At a pole r still depends on v, so the vertices there lie apart along the
//! axis, and the triangles between them are slivers. If `b` is 0 these have no area and are left out.
//!
//! # Models
//!
//! A `Model` has its own materials, textures and lights. The formats are glTF 2.0, OBJ with MTL, and PLY. Meshes may be
//! compressed (`KHR_draco_mesh_compression`, `EXT_meshopt_compression`) or quantised. Files that a model names by
//! paths with `..` must lie in the folder of the file that was opened, or in the repository (`.git`, `.hg`, `.svn`)
//! around it; others are left out. Reading is lenient: [`Scene::notes`] names each feature that a file uses and that is not
//! shown. A glTF file that lists an unknown extension as required is an error.
//!
//! **Animations of glTF** move nodes, and with them cameras, lights and the joints of skins, and set the weights of
//! morph targets. [`LoadOptions::time`] selects the time. Without one, the model is in its rest pose. A property keeps
//! the value of its first keyframe before it, and that of its last keyframe after it. If several animations set one
//! property, the last of them wins, and [`Scene::notes`] says so. [`LoadOptions::animation`] selects one of them.
//! [`SceneLoader`] loads the frames of an animation. `KHR_animation_pointer` may point to a node's translation, rotation,
//! scale or weights; animations of anything else are not shown. A node that `KHR_node_visibility` hides, and those below
//! it, show no meshes and no lights, but may have cameras and be joints.
//!
//! **Points and lines of glTF** become spheres and tubes with round ends. Their width is in metres of the model,
//! whatever the transforms of its nodes. Tubes consist of triangles, and so do spheres that have textures or more than
//! 1,024 colors, and more than 1,048,576 that emit light. Up to 16,384 points and lines have 48 to 64 triangles each,
//! and more of them 10 to 20.
//!
//! - A mesh that a model uses several times is stored once, and so is a file that several objects name.
//! - Many meshes that are each used once are merged into one.
//! - A mesh that a node scales to 0 along one axis is shown as a flat shape.
//! - A mesh with normals is smooth. Tangents for a normal map are computed if the file has none.
//!
//! **Materials of glTF** become `Principled`. The supported extensions are `emissive_strength`, `ior`, `specular`,
//! `transmission`, `clearcoat`, `volume`, `sheen`, `anisotropy`, `iridescence`, `diffuse_transmission`, `dispersion`,
//! `unlit`, `texture_transform` and `pbrSpecularGlossiness`.
//!
//! - A transmissive material without a `volume`, or with one of thickness 0, is `thin`. Any other thickness, and
//!   `thicknessTexture`, are ignored: absorption follows the actual path through the body.
//! - Colorless glass with a `volume` and `anisotropy` becomes a `RoughDielectric`, if it has no other layers and no
//!   textures but those of its normal, opacity and roughness. For other directions than along and across the tangent,
//!   the tangents of its mesh are turned, which a normal map rules out. Other transmission ignores `anisotropy` and is
//!   equally rough in all directions. Vertex colors of a `RoughDielectric` are not used.
//! - An `unlit` material becomes `Emissive`.
//! - The alpha of the base color is the `opacity`; in mode `MASK` it has a `cutoff`.
//! - Vertex colors multiply the material's color, and their alpha its opacity. If the material has textures, each
//!   triangle has the mean color of its corners.
//! - Ambient occlusion is ignored.
//! - Surfaces are visible from both sides. They emit to the front, and to the back if they are `doubleSided` or
//!   `unlit`.
//! - The textures of a material may use up to two sets of texture coordinates.
//! - An image that cannot be read is left out. [`Scene::notes`] names it and the materials that are shown without it.
//! - [`LoadOptions::variant`] selects a material variant (`KHR_materials_variants`). Without one, the default materials
//!   are shown.
//!
//! **Points of PLY.** A PLY file without faces is a point cloud. Its points become spheres, like those of glTF.
//!
//! **Materials of PLY.** A PLY file shows its vertex colors (`red`, `r`, `diffuse_red`, `color_0` and so on), or else
//! its face colors. If its header names images
//! (`comment TextureFile`), it shows those by the texture coordinates of its vertices or faces (`texcoord`,
//! `texnumber`).
//!
//! **Memory.** Reading a model and building its acceleration structures takes a multiple of the size of its files,
//! besides images. These are the peaks of the whole program for files that were made for the worst case (2026-11-26).
//!
//! | file | worst case | factor | usual mesh |
//! |---|---|---|---|
//! | glTF | triangle strips with indices of one byte | 200 | 13 |
//! | OBJ | a material for each face | 85 | 15 to 30 |
//! | PLY | binary faces with indices of one byte | 52 | 12 |
//!
//! A glTF file may exceed that, because several meshes may share one accessor, and decompression has its own limits. An error
//! reports a list that does not fit into memory, and more than 2²⁴ instances of `EXT_mesh_gpu_instancing`. The JSON of
//! a file must fit into memory 200 times. An image may declare 2²² texels, and 1,024 more for each byte of its file, as
//! the best compression has. Each takes 4 to 16 bytes, and twice that while the image is decoded. This also holds for
//! KTX2, of which only the first level is decoded.
//!
//! **Materials of MTL** become `Dielectric` if `illum` is 4, 6, 7 or 9 (glass) and none of the fields of physically
//! based rendering (`Pr`, `Pm`, `Pc`, `Pcr`) are present. They become `Principled` if those fields or highlights (`Ks`,
//! `Ns`) are present, and otherwise `Emissive` or `Diffuse`. `d` is the `opacity`. What nobody could see is opaque
//! (`d 0`, and `Tr 1` without `d`) or no glass (`Ni 1`), with a note. The textures are `map_Kd`, `map_Ks`,
//! `map_Ke`, `map_d`, `map_Pr`, `map_Pm` and normal maps (`norm`, and `map_Bump` if its image is one). Any other
//! `map_Bump` is a height map: white is higher than black by `-bm` times a hundredth of the image's width. Options may
//! precede or follow the name of the image. A texture that cannot be read is named in [`Scene::notes`].
//!
//! **Lights of glTF** (`KHR_lights_punctual`) are in candela and lux, and emission is in candela per square metre. All
//! are taken as numbers without conversion. Many programs mix these units with watts, though. So if any light is 200 or
//! more, all lights are divided by 683, the lumens per watt.
//!
//! **Scenes of glTF.** The default scene is shown, or the first if there is no default. If that scene has no meshes,
//! the first scene with meshes is shown instead. If no scene has meshes, all nodes are shown.
//!
//! **Text of OBJ and MTL files** is UTF-8, or UTF-16 with a byte order mark. A line that is not UTF-8 is read as
//! Latin-1.
//!
//! **A model without a scene.** [`Scene::load`] also accepts the path of a model. The view is that of the model's
//! first camera, or of the one that [`LoadOptions::camera`] selects. Without any, the whole model fills the image at
//! any size, from 35° to the right of +z and 20° above. [`LoadOptions::camera_from`] selects another direction. The
//! image has 960 × 540 pixels, or the aspect ratio of the model's camera, 64 samples per pixel and the tone curve
//! `Neutral`.
//!
//! A dark grey room that is lighter at the top surrounds the model. A large soft box to the viewer's left is the key
//! light, a narrow one to the right fills the shadows, and one behind outlines the model. If the file has lights, the
//! exposure is set for the irradiance that they cause on the visible surfaces, up or down. The room is dimmed to 30 %
//! of that. If the file also has a camera, an even backdrop replaces the room, with 12 % of the radiance of a white
//! surface. [`LoadOptions::environment`] replaces the room or the backdrop. [`SceneLoader::scene_text`] returns all of
//! this as a scene file.

//! # Scenes of other renderers
//!
//! [`Scene::load`] reads scenes of Mitsuba 3 (`.xml`) and pbrt-v4 (`.pbrt`). Reading is lenient: what has no
//! counterpart is replaced by the nearest thing or left out, and [`Scene::notes`] says so, once per scene. A shape
//! whose file is missing is left out. Files have paths relative to the scene file; Mitsuba's `<path>` adds folders that
//! are searched first. If the file of an absolute path is missing or elsewhere, one of the same name in the scene's
//! folder is used. A file may not include itself. Its text is encoded like that of OBJ.
//!
//! | | Mitsuba | pbrt |
//! |---|---|---|
//! | cameras | `perspective`, `thinlens`, `orthographic`; [`LoadOptions::camera`] selects one of several | `perspective`, `orthographic`, both with a lens |
//! | films | size, crop, `principal_point_offset`; filters `box` and `gaussian` | size, crop, `screenwindow`; the same filters; exposure by `iso` and the time of the shutter |
//! | shapes | `obj`, `ply`, `serialized`, `rectangle`, `cube`, `sphere`, `disk`, `cylinder`, `bsplinecurve`, `linearcurve`, `shapegroup`, `instance`, `merge` | `trianglemesh`, `plymesh`, `bilinearmesh`, `sphere`, `disk`, `cylinder`, `curve`, `loopsubdiv`, objects and instances |
//! | materials | `diffuse`, `conductor`, `dielectric`, `thindielectric`, `plastic`, their rough forms, `principled`, `principledthin`, `twosided`, `mask`, `blendbsdf`, `bumpmap`, `normalmap`, `null` | `diffuse`, `conductor`, `dielectric`, `thindielectric`, `diffusetransmission`, `coateddiffuse`, `coatedconductor`, `mix`, `interface`; bump and normal maps, `alpha` |
//! | textures | `bitmap`, `checkerboard`, `scale`, `mesh_attribute` with colors | `imagemap`, `checkerboard`, `constant`, `scale`, `mix` |
//! | lights | `area`, `constant`, `envmap` with any rotation, `point`, `spot`, `directional`, `sunsky`, `sun`, `sky` | `diffuse` with an image, `infinite` with any rotation, `point`, `spot`, `distant` |
//! | spectra | `uniform`, `regular`, `irregular`, `blackbody`, `d65`, lists of wavelengths, files; metals and glasses by name | lists of wavelengths, files, `blackbody`; metals and glasses by name |
//!
//! - Spectra become linear sRGB by the color matching functions of the CIE: reflectances under the illuminant D65,
//!   emissions as they are. As in pbrt, the spectrum of a pbrt light has luminance 1 before its `scale`.
//! - A camera that mirrors its image is supported: then the whole scene is mirrored. So pbrt's left-handed coordinates
//!   need no conversion.
//! - Disks, cylinders, curved patches, and stretched, textured or anisotropic spheres become meshes of 128 edges per
//!   circle. They deviate from the circle by 0.03 % of its radius.
//! - Curves of pbrt become tubes with six sides, and those of type `ribbon` flat ribbons. A segment has up to 16
//!   straight pieces. Curves of Mitsuba become tubes and round cones whose sides and pieces depend on the number of
//!   segments in a file: 128 sides up to 128 segments, 24 up to 8,192, and 6 for more. Their insides are visible.
//! - Scenes keep their coordinates, also if z points up in them. If an option needs a vertical axis, a scene whose camera
//!   takes +z for up is turned so that this axis becomes +y. [`LoadOptions::up`] chooses another axis.
//! - Without a lens that focuses, the target of the camera, about which it orbits, is at the median depth of the shapes
//!   in its view.
//! - Coats of Mitsuba and pbrt lose light between their facets, and pbrt's also in the layer below them. Here coats
//!   lose none, so that the albedo of their base is lowered instead. In diffuse light, coats over an albedo of 0.5 are
//!   then as bright as there, within 5 %. In saturated colors, a channel can be 17 % brighter than in pbrt.
//! - Subdivision surfaces get fewer levels if one would have more than 2¹⁹ triangles, or all of a scene more than 2²³
//!   beyond those of their control meshes.
//! - The colors `specular_reflectance` and `specular_transmittance` of Mitsuba's dielectrics, conductors and plastics are
//!   exact, with textures except for plastics. That of plastics is replaced by its mean.
//! - Vertex and face colors of a PLY file are shown in Mitsuba if a `mesh_attribute` names them, and never in pbrt.
//! - An emitter in a shape that is not `area`, such as `spot`, has its own transform, as in Mitsuba 3.9. The light of
//!   `directionalarea` is not shown, as Mitsuba's path integrator does not find it either.
//! - The distributions GGX and Beckmann's are exact, except for plastic, whose facets become GGX. The roughness of
//!   metals, dielectrics and `principled` may have a texture, and that of metals and dielectrics another value along v.
//!   Under a coat, both are replaced by their mean.
//! - The front of each triangle of a mesh is the side of its vertex normals, whatever its winding. That of a mesh without
//!   normals, or with Mitsuba's `face_normals`, follows the winding.
//! - Of a `twosided` with two BSDFs, the second one is seen on the side from which the shading normals point away. Both
//!   sides have the same opacity.
//! - Each material of a blend has its own bump map. A texture of an opacity is replaced by its mean in a blend. Nested
//!   opacities are multiplied.
//! - Bump maps and normal maps have no shadows of their own, which Mitsuba adds at grazing angles. As in Mitsuba, those
//!   inside `twosided` show a mirrored relief from behind, and those around it that of a thin sheet.
//! - As in Mitsuba, light of a surface does not depend on its opacity if that is constant. With a texture of the
//!   opacity, and in pbrt, the surface shines where it is opaque. A light on `null` is half opaque.
//! - With Mitsuba's `hide_emitters` the background is black, or transparent if the film has alpha, and camera rays pass
//!   through area lights. Mitsuba shows them behind surfaces of `mask` and `null`.
//! - A colored image that is a number, such as a roughness, has the luminance of its colors in Mitsuba. In pbrt it has
//!   the mean of the channels, or the alpha of a PNG or EXR image that is not opaque. pbrt's textures `mix` and
//!   `imagemap` with `invert` are exact with one image, and a mix of several images becomes their mean.
//! - The slopes of a bump map are those of the mean sizes that u and v cover on a shape. An instance that scales it
//!   unevenly counts as evenly scaled. Of a bump map and a normal map around each other, the outer one is shown.
//! - The sky and the sun of Mitsuba are black if the sun is not above the horizon, as in Mitsuba, with a warning.
//! - Participating media, scattering in hair, projected images as lights, subsurface scattering, polarisation and
//!   motion are not shown.
//! - Mitsuba's `max_depth` counts edges of a path, so that `max_bounces` is one less. Without a limit it is 128.
//! - Defaults (`<default>` and `$name`) are replaced, up to 64 KiB in a value and 16 MiB in all.
//!   [`LoadOptions::defines`] takes precedence. References may precede their objects.
//! - Parameters that a plugin or a directive does not have are named in one warning. Clipping planes have no effect,
//!   and a warning says where they would hide something.
//! - As in Mitsuba 3.9, the scale of a `directional` emitter's `to_world` multiplies its irradiance. A sphere that is
//!   scaled unevenly is an ellipsoid, and a warning says so, because Mitsuba shows it round.
//! - pbrt's `dots` and checkerboards in three dimensions become their mean, and its other textures of patterns grey.
//! - As in Mitsuba 3.9, a checkerboard that is a number, such as an opacity, has its two colors exchanged.
//! - pbrt's area lights with an alpha of 0, which light the scene invisibly, become spot lights on their surface: up to
//!   1,024 each, which shine like a diffuse surface together.
//!
//! A Mitsuba file has at most 256 MiB, and a document type definition, which could declare entities, is an error.
//! Reading takes at most 128 times the size of an XML file in memory, 16 MiB for defaults, 32 times that of a pbrt file, and the data of
//! meshes and images. Below coats, each different combination of an image, its factor and the coat makes one more
//! image, and so do colored images that are numbers, inverted or mixed. It has 8 bytes per texel, or 16 if the image has
//! floats. Time grows linearly with the size of all files,
//! included ones counted as often as they are included. A scene has at most 2²³ shapes, and an instance of a group
//! counts as all of its shapes. Tessellated shapes with equal parameters share a mesh, of up to 0.5 MB. A curved patch
//! takes up to 16 kB, and a segment of a curve 7 kB. In Mitsuba's files with few segments it takes more, up to 200 MB
//! in total. A subdivision surface takes up to 16 MB more than its control mesh, and all of a scene up to 302 MB more.
//! While one is subdivided, temporary lists take up to 90 MB. Those of a surface without subdivisions are part of the
//! 32 times.

// Imports go one way. Each module imports only modules before it in this list: error, memory, color, catch_panics,
// limits, origin, atomic_file, files, studio, sun_sky, scene, load_options, view_options, surroundings, image, model, builder,
// gltf and obj and ply, model_file, default_scene, import, mitsuba and pbrt, ron, loader, append.

mod append;
pub mod atomic_file;
mod builder;
pub mod catch_panics;
pub mod color;
mod default_scene;
mod error;
mod files;
mod gltf;
mod image;
mod import;
pub mod limits;
mod load_options;
mod loader;
pub mod memory;
mod mitsuba;
mod model;
mod model_file;
mod obj;
mod origin;
mod pbrt;
mod ply;
mod ron;
mod scene;
mod studio;
mod sun_sky;
mod surroundings;
mod view_options;

use std::path::Path;

use self::files::{bounds::opening, record::recording};
pub use self::{
    builder::add_mesh::NewMesh,
    error::{Error, error_line, escaped},
    files::{progress::LoadProgress, record::SceneFile},
    image::ImageError,
    load_options::{CameraFrom, EnvironmentFile, LoadOptions, UpAxis},
    loader::SceneLoader,
    origin::position_in_file,
    ron::{
        edit::{can_save_view, edits_text, edits_to_ron, save_camera, save_edits},
        materials,
    },
    scene::{
        Absorption, Background, BlendError, Camera, Channel, DirectLight, Encoding, Environment,
        EnvironmentSource, FacetDistribution, Field, FieldEdit, FieldError, FieldKind, FieldValue,
        Filter, Focus, Framing, GlassTint, Image, Instance, Lens, Light, MAX_LIGHT, Masking,
        MaterialTexture, MaterialTextures, MaterialUse, Medium, Mesh, Metal, NamedCamera,
        NumberKind, Parameter, Part, PartState, PixelFilter, Principled, Projection, Roughness,
        Scene, SettingOverrides, Sphere, SpotFalloff, SunSkySettings, Surface, Texels, Texture,
        Timeline, Tone, Triangle, ViewAxes, WholeLens, WholeView, Wrap, scene_hash,
    },
};

impl Scene {
    /// Reads a scene file (`.ron`, Mitsuba's `.xml` or `.pbrt`) and the files that it names, or a model (`.glb`,
    /// `.gltf`, `.obj` or `.ply`). A model gets default settings and lighting, and a camera: its own, or else one that
    /// shows all of it.
    ///
    /// # Errors
    /// Returns [`Error::File`] if the file cannot be read or a model is invalid. Returns [`Error::Scene`], with the
    /// position of the first problem, if a scene file or a file that it names is invalid.
    pub fn load(path: &Path) -> Result<Scene, Error> {
        Scene::load_with(path, &LoadOptions::default())
    }

    /// Reads a scene like [`Scene::load`], with the variant, the camera, the time and so on that `options` selects.
    ///
    /// # Errors
    /// Those of [`SceneLoader::load`].
    pub fn load_with(path: &Path, options: &LoadOptions) -> Result<Scene, Error> {
        SceneLoader::new(path).load(options)
    }

    /// Reads a scene from the text of a scene file in RON. `path` names the text in errors, and its folder is the one
    /// that paths in the text are relative to. The file itself need not exist.
    ///
    /// # Errors
    /// Those of [`Scene::load`] for a scene file.
    pub fn parse(path: &Path, text: &str) -> Result<Scene, Error> {
        let read = || ron::scene(path, text, &LoadOptions::default());
        let (scene, files) = recording(|| opening(path, read));
        Ok(Scene { files, ..scene? })
    }

    /// Loads a scene like [`Scene::load_with`], and also returns the files that were looked for, even if loading fails.
    /// [`Scene::files`] of the result contains them too.
    pub fn load_with_files(
        path: &Path,
        options: &LoadOptions,
    ) -> (Result<Scene, Error>, Vec<SceneFile>) {
        let mut loader = SceneLoader::new(path);
        let scene = loader.load(options);
        (scene, loader.into_files())
    }

    /// Checks that the file's extension is that of a scene or a model, like [`Scene::is_named`].
    ///
    /// # Errors
    /// One line without the path. For a model in another format it says what the file is and how to convert it.
    pub fn check_name(path: &Path) -> Result<(), &'static str> {
        if Scene::is_named(path) {
            return Ok(());
        }
        let known = files::foreign::by_extension(&files::file_type(path));
        Err(known.unwrap_or(
            "expected a scene (.ron, Mitsuba's .xml or .pbrt), or a model: .glb, .gltf, .obj or .ply",
        ))
    }

    /// Returns whether the file's extension is that of a scene (`ron`, `xml`, `pbrt`) or a model (`glb`, `gltf`, `obj`,
    /// `ply`), in any letter case. The file need not exist.
    pub fn is_named(path: &Path) -> bool {
        let found = files::file_type(path);
        ["ron", "xml", "pbrt"].contains(&found.as_str())
            || model_file::MODEL_TYPES.contains(&found.as_str())
    }

    /// Returns the name of the renderer whose scene format the file's extension names: `Mitsuba` or `pbrt`. Returns
    /// `None` for the scenes of this program and for models. Scenes of other renderers are read, and never written.
    pub fn foreign_format(path: &Path) -> Option<&'static str> {
        match files::file_type(path).as_str() {
            "xml" => Some("Mitsuba"),
            "pbrt" => Some("pbrt"),
            _ => None,
        }
    }
}
