//! Recognises files of formats that are not supported, so that an error can say what the file is and what to do.
//!
//! The messages continue a sentence that begins with the name of the file.

/// Number of bytes from the start of a file that suffice for [`by_content`].
pub(crate) const START_BYTES: usize = 512;

/// Error for a Gaussian splat.
pub(crate) const SPLAT: &str = "is a Gaussian splat, which has no surfaces; reconstruct a mesh from the photos and \
    export it as glTF";
/// Error for a point cloud in a format that is not read.
pub(crate) const POINT_CLOUD: &str = "is a point cloud in a format that is not read; convert it to PLY, for example with \
    CloudCompare, to show its points as spheres";
/// Error for a point cloud where a mesh is expected.
pub(crate) const NO_FACES: &str = "is a point cloud, which has no faces; show it by a `Model`, or make a mesh of it, for \
    example with MeshLab";
/// Error for a file with free-form curves and surfaces and no faces.
pub(crate) const FREE_FORMS: &str = "has free-form curves or surfaces and no faces; convert them to a mesh in the program \
    that made them";
/// Error for a file with lines and no faces.
pub(crate) const LINES: &str =
    "has lines and no faces; export it as glTF (.glb), whose lines are shown as tubes";
/// Error for a file in UTF-16 whose format allows only UTF-8 or ASCII.
pub(crate) const UTF16_TEXT: &str = "is UTF-16 text; save it as UTF-8";
const FBX: &str = "is an FBX file, which is not supported; export it as glTF (.glb)";
const STL: &str =
    "is an STL file, which is not supported; convert it to PLY or glTF, for example with Blender";
const USD: &str = "is a USD file, which is not supported; export it as glTF (.glb)";
const BLEND: &str =
    "is a Blender file, which is not supported; open it in Blender and export it as glTF (.glb)";
const ARCHIVE: &str = "is an archive; unpack it and open the model in it";
const OTHER_MODEL: &str = "is a model in a format that is not supported; export it as glTF (.glb)";

/// Returns cause and remedy for a file with this extension (lower case, without the dot), or `None` if the extension is
/// not known. The file need not exist.
pub(crate) fn by_extension(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "fbx" => FBX,
        "stl" => STL,
        "usd" | "usda" | "usdc" | "usdz" => USD,
        "blend" | "blend1" => BLEND,
        "splat" | "ksplat" | "spz" | "sog" => SPLAT,
        "las" | "laz" | "e57" | "pcd" | "pts" | "ptx" | "xyz" => POINT_CLOUD,
        "3ds" | "3mf" | "abc" | "c4d" | "dae" | "ma" | "max" | "mb" | "step" | "stp" | "vrm"
        | "wrl" | "x3d" => OTHER_MODEL,
        "7z" | "gz" | "rar" | "tar" | "tgz" | "zip" => ARCHIVE,
        _ => return None,
    })
}

/// Returns whether a file with this start is an STL file in text form: `solid NAME`, and `facet normal` on the next line.
fn is_text_stl(start: &[u8]) -> bool {
    let mut lines = start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.next().unwrap_or_default().to_ascii_lowercase();
    let second = lines.find(|line| !line.is_empty()).unwrap_or_default();
    (first == b"solid" || first.starts_with(b"solid "))
        && second.to_ascii_lowercase().starts_with(b"facet")
}

/// Returns whether a file that begins with these bytes is a pointer of Git LFS.
pub(crate) fn is_lfs_pointer(start: &[u8]) -> bool {
    start.starts_with(b"version https://git-lfs.github.com/spec/")
}

/// Returns whether a file that begins with these bytes is compressed by gzip. The test is longer than the two bytes that
/// identify gzip, because a buffer may begin with any bytes.
pub(crate) fn is_gzip(start: &[u8]) -> bool {
    start.starts_with(b"\x1f\x8b\x08")
}

/// Returns cause and remedy for a file that begins with these bytes, whatever its name. At most [`START_BYTES`] are
/// needed.
///
/// Returns `None` if the bytes are not those of a known foreign format, so that the file may be what its name says.
pub(crate) fn by_content(start: &[u8]) -> Option<&'static str> {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let text = text.trim_ascii_start();
    let begins = |word: &str| {
        let begin = text.get(..word.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(word.as_bytes()))
    };
    if is_lfs_pointer(start) {
        Some("is a Git LFS pointer instead of the file itself; run `git lfs pull` in its folder")
    } else if begins("<!doctype html") || begins("<html") {
        Some("is a web page; download the file itself, on GitHub with the button `Raw`")
    } else if start.starts_with(b"Kaydara FBX Binary") || begins("; FBX ") {
        Some(FBX)
    } else if is_text_stl(text) {
        Some(STL)
    } else if start.starts_with(b"PXR-USDC") || begins("#usda ") {
        Some(USD)
    } else if start.starts_with(b"BLENDER") {
        Some(BLEND)
    } else if start.starts_with(b"PK\x03\x04") || is_gzip(start) {
        Some(ARCHIVE)
    } else {
        None
    }
}
