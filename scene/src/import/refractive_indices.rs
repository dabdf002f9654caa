//! Refractive indices of materials by the names that other renderers use.

use glam::Vec3;

/// Conductors by name, each with the real and the imaginary part of its refractive index for red, green and blue in
/// linear sRGB: averages of measured spectra, weighted by the color matching functions.
const CONDUCTORS: &[(&str, [f32; 3], [f32; 3])] = &[
    ("a-C", [2.944, 2.2271, 1.9682], [0.8875, 0.7993, 0.8153]),
    ("Ag", [0.1553, 0.1167, 0.1384], [4.8284, 3.1222, 2.1469]),
    ("Al", [1.6575, 0.8804, 0.5212], [9.2238, 6.2695, 4.837]),
    ("AlAs", [3.6053, 3.2329, 2.2163], [0.0007, 0.0, 0.0075]),
    ("AlSb", [0.0, 4.1394, 4.6693], [0.0, 0.094, 1.3006]),
    ("Au", [0.143, 0.3753, 1.442], [3.983, 2.3856, 1.6034]),
    ("Be", [4.185, 3.185, 2.7841], [3.8355, 3.0101, 2.869]),
    ("Cr", [4.3697, 2.9165, 1.6549], [5.2065, 4.2313, 3.7547]),
    ("CsI", [2.1449, 1.7023, 1.6624], [0.0, 0.0, 0.0]),
    ("Cu", [0.201, 0.9237, 1.1022], [3.9133, 2.453, 2.1421]),
    ("Cu2O", [3.5518, 2.9499, 2.7519], [0.1142, 0.1939, 0.6061]),
    ("CuO", [3.2475, 2.4478, 2.2102], [0.5211, 0.57, 0.7222]),
    ("CuZn", [0.444, 0.527, 1.094], [3.695, 2.765, 1.829]),
    ("d-C", [2.7087, 2.3188, 2.2289], [0.0, 0.0, 0.0]),
    ("Hg", [2.3989, 1.44, 0.9096], [6.3276, 4.3719, 3.4218]),
    ("HgTe", [4.779, 3.2312, 2.6599], [1.6316, 1.5808, 1.7293]),
    ("Ir", [3.0863, 2.0822, 1.6179], [5.5922, 4.0671, 3.2673]),
    ("K", [0.064, 0.0464, 0.0382], [2.1042, 1.3489, 0.9131]),
    ("Li", [0.2658, 0.1956, 0.2209], [3.5402, 2.3111, 1.6686]),
    ("MgO", [2.0896, 1.6507, 1.5949], [0.0, 0.0, 0.0]),
    ("Mo", [4.484, 3.5251, 2.7763], [4.1114, 3.4208, 3.1506]),
    ("Na_palik", [0.0603, 0.0561, 0.062], [3.1793, 2.1125, 1.579]),
    ("Nb", [3.4201, 2.7901, 2.3956], [3.4414, 2.7377, 2.5797]),
    (
        "Ni_palik",
        [2.3673, 1.6634, 1.4671],
        [4.4988, 3.0502, 2.3454],
    ),
    ("Rh", [2.5858, 1.8602, 1.5543], [6.7823, 4.703, 3.9761]),
    ("Se", [4.0583, 2.8429, 2.8209], [0.754, 0.6384, 0.5218]),
    ("SiC", [3.1723, 2.526, 2.4794], [0.0, 0.0, 0.0]),
    ("SnTe", [4.5242, 1.9816, 1.2816], [0.0, 0.0, 0.0]),
    ("Ta", [2.0627, 2.3929, 2.6279], [2.4084, 1.7415, 1.947]),
    ("Te", [7.3902, 4.4821, 2.6371], [3.256, 3.5271, 3.2921]),
    ("ThF4", [1.8307, 1.4422, 1.3876], [0.0, 0.0, 0.0]),
    ("TiC", [3.7005, 2.8374, 2.5823], [3.2656, 2.3516, 2.1728]),
    ("TiN", [1.6484, 1.1505, 1.3798], [3.3683, 1.9435, 1.1021]),
    ("TiO2", [3.4566, 2.8017, 2.9052], [0.0001, 0.0, 0.0007]),
    (
        "V_palik",
        [4.2776, 3.5129, 2.7611],
        [3.4913, 2.8895, 3.1115],
    ),
    ("VC", [3.6576, 2.7527, 2.5327], [3.0683, 2.1987, 1.9632]),
    ("VN", [2.8656, 2.1192, 1.9401], [3.0322, 2.0561, 1.6163]),
    ("W", [4.3708, 3.3002, 2.9984], [3.5006, 2.6049, 2.2732]),
];

/// Dielectrics by name, each with its refractive index at 589 nm.
const DIELECTRICS: &[(&str, f32)] = &[
    ("vacuum", 1.0),
    ("helium", 1.000036),
    ("hydrogen", 1.000132),
    ("air", 1.000277),
    ("carbon dioxide", 1.00045),
    ("water", 1.333),
    ("acetone", 1.36),
    ("ethanol", 1.361),
    ("carbon tetrachloride", 1.461),
    ("glycerol", 1.4729),
    ("benzene", 1.501),
    ("silicone oil", 1.52045),
    ("bromine", 1.661),
    ("water ice", 1.31),
    ("fused quartz", 1.458),
    ("pyrex", 1.47),
    ("acrylic glass", 1.49),
    ("polypropylene", 1.49),
    ("bk7", 1.5046),
    ("sodium chloride", 1.544),
    ("amber", 1.55),
    ("pet", 1.575),
    ("diamond", 2.419),
    ("baf10", 1.67),
    ("fk51a", 1.487),
    ("lasf9", 1.85),
    ("f5", 1.673),
    ("f10", 1.728),
    ("f11", 1.785),
    ("sf5", 1.673),
    ("sf10", 1.728),
    ("sf11", 1.785),
];

/// Returns the real and the imaginary part of a conductor's refractive index, by its name in any letter case, such as
/// `Au`. A suffix such as `_palik` may be left out. Returns `None` for unknown names.
pub(crate) fn conductor(name: &str) -> Option<(Vec3, Vec3)> {
    let short = |known: &str| known.split('_').next().unwrap_or_default().to_lowercase();
    let wanted = name.to_lowercase();
    let is = |known: &&(&str, [f32; 3], [f32; 3])| {
        known.0.to_lowercase() == wanted || short(known.0) == wanted
    };
    let (_, eta, k) = CONDUCTORS.iter().find(is)?;
    Some((Vec3::from_array(*eta), Vec3::from_array(*k)))
}

/// Returns the refractive index of a dielectric by its name in any letter case, such as `bk7`. Returns `None` for
/// unknown names.
pub(crate) fn dielectric(name: &str) -> Option<f32> {
    let wanted = name.to_lowercase();
    let found = DIELECTRICS.iter().find(|(known, _)| *known == wanted)?;
    Some(found.1)
}
