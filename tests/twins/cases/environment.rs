//! Cases of environment maps.

use glam::Vec3;
use raysieve::lights::environment::{
    Environment, EnvironmentRow, EnvironmentTexel, environment_at, environment_guide,
    fraction_between, guide_length, guide_shift, row_at, sample_environment, texel_at, texel_of,
};

use super::{Case, twin};
use crate::inputs::Inputs;

/// An environment map of 4×2 texels, some of them black, with its tables.
type Picture = (Environment, [EnvironmentRow; 2], [EnvironmentTexel; 8]);

/// The search guide of a map of 4×2 texels: 3 words for the rows, and 5 for the texels of each row.
pub(super) type Guide = [u32; 13];

/// Returns the search guide of a map.
pub(super) fn guide(rows: &[EnvironmentRow; 2], texels: &[EnvironmentTexel; 8]) -> Guide {
    environment_guide(rows, texels).try_into().unwrap()
}

pub(super) fn picture(inputs: &mut Inputs) -> Picture {
    let whole = inputs.draw::<u32>();
    let mut sums = |count: usize| {
        let mut sums: [u32; 4] = std::array::from_fn(|_| inputs.draw());
        sums[count - 1] = sums[count - 1].max(1);
        sums[..count].sort_unstable();
        sums
    };
    let (upper, lower, rows) = (sums(4), sums(4), sums(2));
    let cumulative = [upper, lower].concat();
    let texels = std::array::from_fn(|texel| EnvironmentTexel {
        radiance: inputs.draw(),
        cumulative: cumulative[texel],
    });
    let edges = inputs.one_of(&[[1.0, 0.0, -1.0], [1.0, 0.999_999, 0.5]]);
    let rows = std::array::from_fn(|row| EnvironmentRow {
        cumulative: rows[row],
        density: inputs.draw(),
        top: edges[row],
        bottom: edges[row + 1],
    });
    let environment = Environment {
        width: 4,
        height: 2,
        turns: inputs.one_of(&[0.0, 0.25, 0.999_999_94, whole as f32 / 4_294_967_808.0]),
        chance: inputs.draw(),
    };
    (environment, rows, texels)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            ("environment", "texel_of", "texel_of"),
            |inputs| (inputs.draw(), 1 + inputs.below(1 << 17) as u32),
            |coordinate: f32, count: u32| texel_of(coordinate, count)
        ),
        twin!(
            ("environment", "guide_shift", "guide_shift"),
            |inputs| (1 + (inputs.draw::<u32>() >> inputs.below(32)) / 2,),
            |count: u32| guide_shift(count)
        ),
        twin!(
            ("environment", "guide_length", "guide_length"),
            |inputs| (1 + (inputs.draw::<u32>() >> inputs.below(32)) / 2,),
            |count: u32| guide_length(count)
        ),
        twin!(
            (
                "environment",
                "row_at",
                "+[](calls::Several<EnvironmentRow, 2> rows, u32 first, u32 last, u32 target) {
                    return row_at(rows.items, first, last, target);
                }"
            ),
            |inputs| {
                let (_, rows, _) = picture(inputs);
                let target = inputs.draw::<u32>() % rows[1].cumulative;
                let first = inputs.below(2) as u32;
                (rows, first, inputs.one_of(&[first, 1]), target)
            },
            |rows: [EnvironmentRow; 2], first: u32, last: u32, target: u32| row_at(
                &rows, first, last, target
            )
        ),
        twin!(
            (
                "environment",
                "texel_at",
                "+[](calls::Several<EnvironmentTexel, 8> texels, u32 start, u32 first, u32 last, u32 target) {
                    return texel_at(texels.items, start, first, last, target);
                }"
            ),
            |inputs| {
                let (_, _, texels) = picture(inputs);
                let start = inputs.one_of(&[0, 4]);
                let first = inputs.below(4) as u32;
                let last = first + inputs.below(4 - first as usize) as u32;
                let target = inputs.draw::<u32>() % texels[start as usize + 3].cumulative;
                (texels, start, first, last, target)
            },
            |texels: [EnvironmentTexel; 8], start: u32, first: u32, last: u32, target: u32| {
                texel_at(&texels, start, first, last, target)
            }
        ),
        twin!(
            ("environment", "fraction_between", "fraction_between"),
            |inputs| {
                let mut places: [u32; 3] = std::array::from_fn(|_| inputs.draw());
                places.sort_unstable();
                let place = u64::from(places[1]) << 32 | u64::from(inputs.draw::<u32>());
                (place, places[0], places[2])
            },
            |place: u64, before: u32, after: u32| fraction_between(place, before, after)
        ),
        twin!(
            (
                "environment",
                "sample_environment",
                "+[](Environment environment, calls::Several<EnvironmentRow, 2> rows,
                     calls::Several<EnvironmentTexel, 8> texels, calls::Several<u32, 13> guide, u32 u, u32 v) {
                    return sample_environment(environment, rows.items, texels.items, guide.items, u, v);
                }"
            ),
            |inputs| {
                let (environment, rows, texels) = picture(inputs);
                let guide = guide(&rows, &texels);
                (
                    environment,
                    rows,
                    texels,
                    guide,
                    inputs.draw(),
                    inputs.draw(),
                )
            },
            |environment: Environment,
             rows: [EnvironmentRow; 2],
             texels: [EnvironmentTexel; 8],
             guide: Guide,
             u: u32,
             v: u32| sample_environment(&environment, &rows, &texels, &guide, u, v)
        ),
        twin!(
            (
                "environment",
                "environment_at",
                "+[](Environment environment, calls::Several<EnvironmentRow, 2> rows,
                     calls::Several<EnvironmentTexel, 8> texels, Vec3 direction) {
                    return environment_at(environment, rows.items, texels.items, direction);
                }"
            ),
            |inputs| {
                let (environment, rows, texels) = picture(inputs);
                (environment, rows, texels, inputs.draw())
            },
            |environment: Environment,
             rows: [EnvironmentRow; 2],
             texels: [EnvironmentTexel; 8],
             direction: Vec3| environment_at(&environment, &rows, &texels, direction)
        ),
    ]
}
