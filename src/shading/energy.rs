//! Energy compensation for rough surfaces: directional albedos of single-scattering GGX, tabulated. Twin:
//! `kernels/shared/energy.cuh`.
//!
//! Single scattering loses the energy that is scattered more than once. That energy is added as a diffuse-like lobe: C.
//! Kulla & A. Conty, Revisiting Physically Based Shading at Imageworks, SIGGRAPH 2017 course. A table covers one form
//! of masking, and one refractive index if it is for glass. Its rows are evenly spaced in √alpha from 0 to 1, the
//! entries of a row in √cosine. Quantiles in each row serve to sample the lobe. The table of sheen has the same form. That of anisotropic facets has four dimensions. In
//! scenes with clear coats, the table of facets is followed by a part for coats above them. That of sheen always has this
//! part.

mod albedo;
mod anisotropic_table;
mod coat_table;
mod nested_glass;
mod sheen_table;

use std::sync::{Arc, Mutex, PoisonError};

use glam::Vec3;
use rayon::prelude::*;

use self::albedo::{Point, glass, mean_transmitted, mirrors, points};
use crate::{
    math::{max_f32, min_f32, truncated},
    shading::material::{
        BLEND, COMPENSATED, CORRELATED, EXTENDED, LAYERED, Material, ROUGH_CONDUCTOR,
        ROUGH_DIELECTRIC, THIN, dispersed_ior,
    },
};

/// Number of cosines per row and function of a table.
pub const COSINES: u32 = 48;
/// Number of rows of a table.
pub const ROUGHNESSES: u32 = 48;
/// Number of hemispherical means at the end of a row.
pub const MEANS: u32 = 4;
/// Number of quantiles per row and function of a table.
pub const QUANTILES: u32 = 32;
/// Number of floats per row: two functions of the cosine, the means, and the quantiles of both functions.
pub const ROW: u32 = 2 * COSINES + MEANS + 2 * QUANTILES;

/// First function of a table of perfect mirrors: the fraction of energy that single scattering loses.
pub const LOST: u32 = 0;
/// Second function of a table of perfect mirrors: the single-scattering albedo with each facet weighted by Schlick's (1
/// − cos)⁵.
pub const GRAZING: u32 = 1;
/// Index of a mean of a glass table: the transmittance of a smooth boundary for diffuse light from the front.
///
/// Means 0 and 1 of a glass table are the energy lost in front and behind.
pub const THROUGH_FRONT: u32 = 2;
/// Index of a mean of a glass table: the transmittance of a smooth boundary for diffuse light from the back.
pub const THROUGH_BACK: u32 = 3;
/// First function of the table of sheen: the albedo of its formula, which may exceed 1.
pub const SHEEN_RAW: u32 = 0;
/// Second function of the table of sheen: the albedo, at most 1.
pub const SHEEN_BOUNDED: u32 = 1;
/// Number of roughnesses along each axis of the table of anisotropic facets, evenly spaced in √alpha from 0 to 1.
pub const ANISOTROPIC_ROUGHNESSES: u32 = 12;
/// Number of azimuths of the table of anisotropic facets, evenly spaced in the squared cosine to the tangent.
pub const TURNS: u32 = 5;
/// Number of cosines of the table of anisotropic facets, evenly spaced in √cosine from 0 to 1.
pub const ANISOTROPIC_COSINES: u32 = 16;
/// Number of roughnesses of the facets in the part of a table for coats, evenly spaced in √alpha from 0 to 1.
pub const COATED_ROUGHNESSES: u32 = 24;
/// Number of roughnesses of the coat in the part of a table for coats, evenly spaced in √alpha from 0 to 1.
pub const COAT_ROUGHNESSES: u32 = 12;
/// Number of cosines in the part of a table for coats, evenly spaced in √cosine from 0 to 1.
pub const COAT_COSINES: u32 = 24;
/// Number of means for each pair of roughnesses in the part of a table for coats.
pub const COAT_MEANS: u32 = 2;
/// Number of floats for each pair of roughnesses: a function of the cosine, then the means.
pub const COAT_ROW: u32 = COAT_COSINES + COAT_MEANS;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![
    COSINES,
    ROUGHNESSES,
    MEANS,
    QUANTILES,
    ROW,
    LOST,
    GRAZING,
    THROUGH_FRONT,
    SHEEN_RAW,
    SHEEN_BOUNDED,
    ANISOTROPIC_ROUGHNESSES,
    TURNS,
    ANISOTROPIC_COSINES,
    COATED_ROUGHNESSES,
    COAT_ROUGHNESSES,
    COAT_COSINES,
    COAT_ROW
];

/// Returns the position of `root`, clamped to 0..=1, among `count` evenly spaced entries: the lower entry's index and
/// the upper entry's interpolation weight.
#[inline(always)]
pub fn table_place(root: f32, count: u32) -> (u32, f32) {
    let place = min_f32(max_f32(root, 0.0), 1.0) * (count - 1) as f32;
    let lower = truncated(place);
    let lower = if lower > count - 2 { count - 2 } else { lower };
    (lower, place - lower as f32)
}

/// Interpolates a function of a table at a roughness and a cosine. `table` is the table's offset in `tables`;
/// `function` is that of the table's two functions to read, 0 or 1: for perfect mirrors [`LOST`] or [`GRAZING`].
#[inline]
pub fn directional(tables: &[f32], table: u32, function: u32, alpha: f32, cosine: f32) -> f32 {
    let cell = table_cell(table, alpha, cosine);
    interpolated(cell_corners(tables, &cell, function), &cell)
}

/// The cell of a table between whose corners functions are interpolated.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TableCell {
    /// Index of the cell's first corner, for the table's first function.
    pub at: u32,
    /// Interpolation weight of the higher cosine, 0..=1.
    pub right: f32,
    /// Interpolation weight of the higher roughness, 0..=1.
    pub down: f32,
}

/// Returns the cell of the table with offset `table` at a roughness and a cosine.
#[inline(always)]
pub(crate) fn table_cell(table: u32, alpha: f32, cosine: f32) -> TableCell {
    let (row, down) = table_place(max_f32(alpha, 0.0).sqrt(), ROUGHNESSES);
    let (column, right) = table_place(max_f32(cosine, 0.0).sqrt(), COSINES);
    TableCell {
        at: table + row * ROW + column,
        right,
        down,
    }
}

/// Reads a function, 0 or 1, at the corners of a cell: at the lower roughness for both cosines, then at the higher one.
#[inline(always)]
pub(crate) fn cell_corners(tables: &[f32], cell: &TableCell, function: u32) -> [f32; 4] {
    let at = (cell.at + function * COSINES) as usize;
    let below = at + ROW as usize;
    [tables[at], tables[at + 1], tables[below], tables[below + 1]]
}

/// Interpolates values at the corners of a cell bilinearly. They have the order of [`cell_corners`].
#[inline(always)]
pub(crate) fn interpolated(corners: [f32; 4], cell: &TableCell) -> f32 {
    let upper = corners[0] + (corners[1] - corners[0]) * cell.right;
    let lower = corners[2] + (corners[3] - corners[2]) * cell.right;
    upper + (lower - upper) * cell.down
}

/// Interpolates a hemispherical mean of a table at a roughness. `table` is the table's offset in `tables`; `mean` is
/// its index in the row, 0..MEANS.
#[inline]
pub fn hemispherical(tables: &[f32], table: u32, mean: u32, alpha: f32) -> f32 {
    let (row, down) = table_place(max_f32(alpha, 0.0).sqrt(), ROUGHNESSES);
    let at = (table + row * ROW + 2 * COSINES + mean) as usize;
    tables[at] + (tables[at + ROW as usize] - tables[at]) * down
}

/// Samples a direction with a density proportional to a function of a table times the cosine. Returns the squared
/// cosine; `u` is uniform in [0, 1).
///
/// Squared cosines have a uniform density if the function is constant. A row contains their quantiles, and those of two
/// roughnesses are interpolated.
#[inline]
pub fn sample_directional(tables: &[f32], table: u32, function: u32, alpha: f32, u: f32) -> f32 {
    let (row, down) = table_place(max_f32(alpha, 0.0).sqrt(), ROUGHNESSES);
    let (column, right) = table_place(u, QUANTILES);
    let first = table + row * ROW + 2 * COSINES + MEANS;
    let at = (first + function * QUANTILES + column) as usize;
    let below = at + ROW as usize;
    let upper = tables[at] + (tables[at + 1] - tables[at]) * right;
    let lower = tables[below] + (tables[below + 1] - tables[below]) * right;
    upper + (lower - upper) * down
}

/// Interpolates a function, [`LOST`] or [`GRAZING`], of the table of anisotropic facets.
///
/// `table` is the table's offset in `tables`. `along2` is the squared cosine of the azimuth to the tangent, 0..=1, and
/// `cosine` that to the normal.
#[inline]
pub fn anisotropic_directional(
    tables: &[f32],
    table: u32,
    function: u32,
    (alpha_x, alpha_y): (f32, f32),
    (along2, cosine): (f32, f32),
) -> f32 {
    let (x, x_share) = table_place(max_f32(alpha_x, 0.0).sqrt(), ANISOTROPIC_ROUGHNESSES);
    let (y, y_share) = table_place(max_f32(alpha_y, 0.0).sqrt(), ANISOTROPIC_ROUGHNESSES);
    let (turn, turn_share) = table_place(along2, TURNS);
    let (column, column_share) = table_place(max_f32(cosine, 0.0).sqrt(), ANISOTROPIC_COSINES);
    let mut sum = 0.0;
    for corner in 0..8 {
        let (upper_x, upper_y, upper_turn) = (corner >> 2, (corner >> 1) & 1, corner & 1);
        let pair = (function * ANISOTROPIC_ROUGHNESSES + x + upper_x) * ANISOTROPIC_ROUGHNESSES;
        let row = (pair + y + upper_y) * TURNS + turn + upper_turn;
        let at = (table + row * ANISOTROPIC_COSINES + column) as usize;
        let value = tables[at] + (tables[at + 1] - tables[at]) * column_share;
        let share_x = if upper_x == 1 { x_share } else { 1.0 - x_share };
        let share_y = if upper_y == 1 { y_share } else { 1.0 - y_share };
        let share_turn = if upper_turn == 1 {
            turn_share
        } else {
            1.0 - turn_share
        };
        sum += value * (share_x * share_y * share_turn);
    }
    sum
}

/// Interpolates the hemispherical mean of a function, [`LOST`] or [`GRAZING`], of the table of anisotropic facets.
#[inline]
pub fn anisotropic_mean(
    tables: &[f32],
    table: u32,
    function: u32,
    alpha_x: f32,
    alpha_y: f32,
) -> f32 {
    let (x, x_share) = table_place(max_f32(alpha_x, 0.0).sqrt(), ANISOTROPIC_ROUGHNESSES);
    let (y, y_share) = table_place(max_f32(alpha_y, 0.0).sqrt(), ANISOTROPIC_ROUGHNESSES);
    let pairs = ANISOTROPIC_ROUGHNESSES * ANISOTROPIC_ROUGHNESSES;
    let means = table + (2 * TURNS * ANISOTROPIC_COSINES + function) * pairs;
    let at = (means + x * ANISOTROPIC_ROUGHNESSES + y) as usize;
    let below = at + ANISOTROPIC_ROUGHNESSES as usize;
    let upper = tables[at] + (tables[at + 1] - tables[at]) * y_share;
    let lower = tables[below] + (tables[below + 1] - tables[below]) * y_share;
    upper + (lower - upper) * x_share
}

/// Interpolates the function of the part for coats of a table.
///
/// `table` is the table's offset in `tables`. The roughnesses are those of the facets and of the coat. Of a table of
/// perfect mirrors, the function is the coat's reflectance in the mean over the facets' lobe around `cosine`. That of
/// sheen has the same part, with fibres in place of the coat. Of a table of glass, it is a factor of a direction inside, for the light that facets transmit and the coat reflects back.
#[inline]
pub fn below_coat(tables: &[f32], table: u32, (alpha, coat_alpha): (f32, f32), cosine: f32) -> f32 {
    let (row, down) = table_place(max_f32(alpha, 0.0).sqrt(), COATED_ROUGHNESSES);
    let (coat, coat_share) = table_place(max_f32(coat_alpha, 0.0).sqrt(), COAT_ROUGHNESSES);
    let (column, right) = table_place(max_f32(cosine, 0.0).sqrt(), COAT_COSINES);
    let first = table + ROUGHNESSES * ROW + (row * COAT_ROUGHNESSES + coat) * COAT_ROW + column;
    let mut ends = [0.0; 2];
    for (number, end) in ends.iter_mut().enumerate() {
        let at = first as usize + number * (COAT_ROUGHNESSES * COAT_ROW) as usize;
        let rougher = at + COAT_ROW as usize;
        let near = tables[at] + (tables[at + 1] - tables[at]) * right;
        let far = tables[rougher] + (tables[rougher + 1] - tables[rougher]) * right;
        *end = near + (far - near) * coat_share;
    }
    ends[0] + (ends[1] - ends[0]) * down
}

/// Interpolates a mean of the part for coats of a table, by its number from 0.
///
/// Of a table of perfect mirrors, the means are those of the coat's reflectance times the weights of F0 and of F90 in the
/// albedo of the facets. Of a table of glass, mean 0 is that of the coat's reflectance over the light that several facets
/// scatter to the front.
#[inline]
pub fn mean_below_coat(
    tables: &[f32],
    table: u32,
    mean: u32,
    (alpha, coat_alpha): (f32, f32),
) -> f32 {
    let (row, down) = table_place(max_f32(alpha, 0.0).sqrt(), COATED_ROUGHNESSES);
    let (coat, coat_share) = table_place(max_f32(coat_alpha, 0.0).sqrt(), COAT_ROUGHNESSES);
    let first = table + ROUGHNESSES * ROW + (row * COAT_ROUGHNESSES + coat) * COAT_ROW;
    let at = (first + COAT_COSINES + mean) as usize;
    let rougher = at + COAT_ROW as usize;
    let (below, below_rougher) = (
        at + (COAT_ROUGHNESSES * COAT_ROW) as usize,
        rougher + (COAT_ROUGHNESSES * COAT_ROW) as usize,
    );
    let upper = tables[at] + (tables[rougher] - tables[at]) * coat_share;
    let lower = tables[below] + (tables[below_rougher] - tables[below]) * coat_share;
    upper + (lower - upper) * down
}

/// Kind of facets that an energy table describes.
///
/// `correlated` selects height-correlated masking and shadowing; otherwise they are separable. A `coated` table also
/// has the part for facets below a clear coat, see [`below_coat`].
#[derive(Clone, Copy, Debug, PartialEq)]
enum Facets {
    /// Perfectly reflecting facets.
    Mirrors { correlated: bool, coated: bool },
    /// Facets of a dielectric boundary with this refractive index.
    Glass {
        correlated: bool,
        coated: bool,
        ior: f32,
    },
    /// Cloth fibres.
    Sheen,
    /// Perfectly reflecting facets with one roughness along the tangent and another along the bitangent.
    Anisotropic,
}

/// Maximum number of distinct refractive indices of glass with exact tables. Scenes with more use indices rounded to
/// 1/32 octave, which bounds the number of tables.
const MAX_EXACT: usize = 32;

/// Computes the tables that the materials need, concatenated, and stores each table's offset in its materials.
pub fn tables(materials: &mut [Material]) -> Vec<f32> {
    let mut indices: Vec<f32> = Vec::new();
    let coats = Coats::of(materials);
    let nested = nested_glass::variants(materials);
    for material in materials
        .iter()
        .chain(nested.iter().map(|(_, glass)| glass))
    {
        for glass in needed(material, coats, false).1 {
            if let Some(Facets::Glass { ior, .. }) = glass
                && !indices.contains(&ior)
                && indices.len() <= MAX_EXACT
            {
                indices.push(ior);
            }
        }
    }
    let rounds = indices.len() > MAX_EXACT;
    let mut kinds: Vec<Facets> = Vec::new();
    let mut values: Vec<f32> = Vec::new();
    let mut starts: Vec<u32> = Vec::new();
    let mut place = |facets: Facets| {
        let known = kinds.iter().position(|&kind| kind == facets);
        let number = known.unwrap_or_else(|| {
            kinds.push(facets);
            starts.push(values.len() as u32);
            values.extend(cached_table(facets).iter());
            kinds.len() - 1
        });
        starts[number]
    };
    for material in materials.iter_mut() {
        let (mirrors, glass) = needed(material, coats, rounds);
        if let Some(mirrors) = mirrors {
            material.mirrors = place(mirrors);
            material.table = material.mirrors;
        }
        if let [Some(red), Some(green), Some(blue)] = glass {
            material.table = place(green);
            material.red_table = place(red);
            material.blue_table = place(blue);
        }
        if material.sheen != Vec3::ZERO {
            material.sheen_table = place(Facets::Sheen);
        }
        if material.anisotropy > 0.0 {
            material.anisotropic_table = place(Facets::Anisotropic);
        }
    }
    let listed: Vec<(usize, f32, u32)> = nested
        .iter()
        .filter_map(|(index, glass)| {
            let [table, ..] = needed(glass, coats, rounds).1;
            Some((*index, glass.ior, place(table?)))
        })
        .collect();
    nested_glass::add_lists(materials, &mut values, &listed);
    values
}

/// Materials with clear coats that a scene has. All its tables of a kind have the part for coats, or none has it.
#[derive(Clone, Copy)]
struct Coats {
    /// Whether any material has a coat.
    any: bool,
    /// Whether any refracting glass of the scene has a clear coat.
    on_glass: bool,
}

impl Coats {
    fn of(materials: &[Material]) -> Coats {
        let coated = |material: &&Material| material.clearcoat > 0.0;
        let refracts =
            |material: &Material| material.transmission > 0.0 && material.flags & THIN == 0;
        Coats {
            any: materials.iter().any(|material| coated(&material)),
            on_glass: materials.iter().filter(coated).any(refracts),
        }
    }
}

/// Returns the tables that a material reads: that of mirrors, and those of glass for red, green and blue light. `rounds`
/// rounds refractive indices.
fn needed(
    material: &Material,
    coats: Coats,
    rounds: bool,
) -> (Option<Facets>, [Option<Facets>; 3]) {
    let correlated = material.flags & CORRELATED != 0;
    let compensated = material.flags & COMPENSATED != 0;
    let metal = material.kind == ROUGH_CONDUCTOR && compensated;
    let layered =
        (material.kind == LAYERED || material.kind == EXTENDED) && material.flags & BLEND == 0;
    let glass = material.kind == ROUGH_DIELECTRIC && compensated
        || layered && material.transmission > 0.0 && material.flags & THIN == 0;
    let of_channel = |channel: u32| {
        let mut ior = material.ior;
        if material.dispersion > 0.0 {
            ior = dispersed_ior(material, channel);
        }
        if rounds {
            ior = libm::exp2((libm::log2(ior.into()) * 32.0).round() / 32.0) as f32;
        }
        glass.then_some(Facets::Glass {
            correlated,
            coated: coats.on_glass,
            ior,
        })
    };
    (
        (metal || layered).then_some(Facets::Mirrors {
            correlated,
            coated: coats.any,
        }),
        [0, 1, 2].map(of_channel),
    )
}

/// Number of bisections that find a quantile.
const BISECTIONS: u32 = 40;
/// Number of tables that the process keeps. A table has up to 93 kB.
const MAX_CACHED: usize = 32;

/// Returns a table, computed only if it is not among the [`MAX_CACHED`] last ones of the process: edits of a material
/// and the frames of an animation need the same tables again.
fn cached_table(facets: Facets) -> Arc<[f32]> {
    static CACHE: Mutex<Vec<(Facets, Arc<[f32]>)>> = Mutex::new(Vec::new());
    let lock = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let known = |cache: &[(Facets, Arc<[f32]>)]| {
        let found = cache.iter().find(|(kind, _)| *kind == facets);
        found.map(|(_, table)| table.clone())
    };
    if let Some(table) = known(&lock()) {
        return table;
    }
    // Without the lock, because a thread that waits for rows may begin to load another scene.
    let computed: Arc<[f32]> = table(facets).into();
    let mut cache = lock();
    if known(&cache).is_none() {
        if cache.len() == MAX_CACHED {
            cache.remove(0);
        }
        cache.push((facets, computed.clone()));
    }
    computed
}

/// Computes one table, its rows in parallel.
fn table(facets: Facets) -> Vec<f32> {
    if facets == Facets::Anisotropic {
        return anisotropic_table::table();
    }
    let points = points();
    let rows = (0..ROUGHNESSES).into_par_iter().flat_map_iter(|row| {
        let root = f64::from(row) / f64::from(ROUGHNESSES - 1);
        table_row(facets, root * root, &points)
    });
    let mut table: Vec<f32> = rows.collect();
    match facets {
        Facets::Mirrors {
            correlated,
            coated: true,
        } => table.extend(coat_table::mirrors_below_coat(correlated, &points)),
        Facets::Glass {
            correlated,
            coated: true,
            ior,
        } => table.extend(coat_table::glass_below_coat(
            ior.into(),
            correlated,
            &points,
        )),
        Facets::Sheen => table.extend(coat_table::mirrors_below_sheen(&points)),
        _ => {}
    }
    table
}

/// Computes a table's row for one roughness: both functions, the means, then the quantiles.
fn table_row(facets: Facets, alpha: f64, points: &[Point]) -> Vec<f32> {
    let cosines = (0..COSINES).map(|column| {
        let root = f64::from(column) / f64::from(COSINES - 1);
        // Exactly at the horizon no facet is visible.
        (root * root).max(1e-5)
    });
    let (mut first, mut second): (Vec<f64>, Vec<f64>) = cosines
        .map(|cosine| match facets {
            Facets::Mirrors { correlated, .. } => mirrors(cosine, alpha, correlated, points),
            Facets::Glass {
                correlated, ior, ..
            } => glass(cosine, alpha, ior.into(), correlated, points),
            Facets::Sheen | Facets::Anisotropic => {
                let albedo = sheen_table::albedo(cosine, alpha);
                (albedo, albedo.min(1.0))
            }
        })
        .unzip();
    if alpha == 0.0 && facets != Facets::Sheen {
        // A smooth surface loses nothing; quadrature would give rounding errors.
        first.fill(0.0);
        if matches!(facets, Facets::Glass { .. }) {
            second.fill(0.0);
        }
    }
    let mut means = vec![mean(&first), mean(&second), 0.0, 0.0];
    if let Facets::Glass { ior, .. } = facets {
        means[2] = mean_transmitted(1.0 / f64::from(ior));
        means[3] = mean_transmitted(f64::from(ior));
    }
    let quantiles = [quantiles(&first), quantiles(&second)].concat();
    let numbers = first.into_iter().chain(second).chain(means);
    let numbers = numbers.chain(quantiles);
    numbers.map(|number| number as f32).collect()
}

/// Returns the integral 4 ∫ f(x) x³ dx from `from` to `to`, of the linear function with these values at the ends of a
/// piece. `x` is √cosine, `start` the piece's lower end and `step` its length.
fn piece_integral(ends: &[f64], (start, step): (f64, f64), (from, to): (f64, f64)) -> f64 {
    let slope = (ends[1] - ends[0]) / step;
    let offset = ends[0] - slope * start;
    offset * (to.powi(4) - from.powi(4)) + 0.8 * slope * (to.powi(5) - from.powi(5))
}

/// Returns the cosine-weighted hemispherical mean of a function that is linear in √cosine between the entries.
fn mean(items: &[f64]) -> f64 {
    let step = 1.0 / (items.len() - 1) as f64;
    let pieces = items.windows(2).enumerate().map(|(piece, ends)| {
        let (from, to) = (piece as f64 * step, (piece + 1) as f64 * step);
        piece_integral(ends, (from, step), (from, to))
    });
    pieces.sum()
}

/// Returns evenly spaced quantiles of the squared cosine, if directions have a density proportional to a function times
/// the cosine. The function is that of [`mean`].
fn quantiles(items: &[f64]) -> Vec<f64> {
    let whole = mean(items);
    let step = 1.0 / (items.len() - 1) as f64;
    let (mut piece, mut before) = (0, 0.0);
    let quantile = |number: u32| {
        let share = f64::from(number) / f64::from(QUANTILES - 1);
        if whole <= 0.0 || number == QUANTILES - 1 {
            return share;
        }
        let integral = |piece: usize, to: f64| {
            let from = piece as f64 * step;
            piece_integral(&items[piece..piece + 2], (from, step), (from, to))
        };
        while piece < items.len() - 2 {
            let through = before + integral(piece, (piece + 1) as f64 * step);
            if through > share * whole {
                break;
            }
            (piece, before) = (piece + 1, through);
        }
        let (mut lower, mut upper) = (piece as f64 * step, (piece + 1) as f64 * step);
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (lower + upper);
            if before + integral(piece, middle) < share * whole {
                lower = middle;
            } else {
                upper = middle;
            }
        }
        (0.5 * (lower + upper)).powi(4)
    };
    (0..QUANTILES).map(quantile).collect()
}
