//! Quantiles of measured values, and their confidence intervals.

/// Returns quantiles of the finite values, each given with its weight. `parts` are in 0..=1 and do not decrease; 0.5 is
/// the median: the mean of the two values in the middle if both halves have equal weight. The quantiles do not decrease
/// either. Returns zeros without values.
pub(super) fn weighted_quantiles<const N: usize>(
    values: impl Iterator<Item = (f64, f64)>,
    parts: [f64; N],
) -> [f64; N] {
    let mut sorted: Vec<(f64, f64)> = values
        .filter(|(value, weight)| value.is_finite() && *weight > 0.0)
        .collect();
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
    let whole: f64 = sorted.iter().map(|(_, weight)| weight).sum();
    parts.map(|part| {
        let wanted = part * whole;
        let mut sum = 0.0;
        for (place, &(value, weight)) in sorted.iter().enumerate() {
            sum += weight;
            let is_between = (sum - wanted).abs() <= 1e-9 * wanted;
            match sorted.get(place + 1) {
                Some(&(next, _)) if is_between => return f64::midpoint(value, next),
                Some(_) if sum < wanted => {}
                _ => return value,
            }
        }
        0.0
    })
}

/// Returns the median of the finite values, each given with its weight; 0 if there are none.
pub(super) fn weighted_median(values: impl Iterator<Item = (f64, f64)>) -> f64 {
    let [median] = weighted_quantiles(values, [0.5]);
    median
}

/// Returns the median of the finite values; 0 if there are none.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    weighted_median(values.map(|value| (value, 1.0)))
}

/// Returns the ends of a confidence interval of the median, given the probability `error` that the median is outside.
///
/// The ends are two of the values, chosen by the binomial distribution, so that no distribution of the values is assumed
/// and a few outliers do not matter. Returns `None` if there are too few values.
pub(super) fn median_interval(values: &[f64], error: f64) -> Option<[f64; 2]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let mut outside = 0.0;
    let mut term = 0.5_f64.powi(i32::try_from(count).ok()?);
    let mut cut = None;
    for place in 0..count.div_ceil(2) {
        outside += 2.0 * term;
        if outside > error {
            break;
        }
        cut = Some(place);
        term *= (count - place) as f64 / (place + 1) as f64;
    }
    cut.map(|cut| [sorted[cut], sorted[count - 1 - cut]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_follow_the_weights() {
        let values = [(3.0, 1.0), (1.0, 1.0), (2.0, 1.0), (100.0, 1.0)];
        assert_eq!(
            weighted_quantiles(values.into_iter(), [0.0, 0.5, 0.75]),
            [1.0, 2.5, 51.5]
        );
        let heavy = [(25.0, 1.0), (0.5, 30.0), (0.6, 30.0)];
        assert_eq!(weighted_median(heavy.into_iter()), 0.6);
        assert_eq!(weighted_median([].into_iter()), 0.0);
        assert_eq!(median([f64::NAN, 4.0].into_iter()), 4.0);
    }

    #[test]
    fn intervals_of_medians_have_the_promised_confidence() {
        let values: Vec<f64> = (1..=16).map(f64::from).collect();
        // Of 16 values, 0 or 1 on one side have a probability of 0.05 %, and up to 2 one of 0.42 %.
        assert_eq!(median_interval(&values, 0.001), Some([2.0, 15.0]));
        assert_eq!(median_interval(&values, 0.005), Some([3.0, 14.0]));
        assert_eq!(median_interval(&values[..5], 0.05), None);
        assert_eq!(median_interval(&values[..6], 0.05), Some([1.0, 6.0]));
        assert_eq!(median_interval(&[], 0.05), None);
    }
}
