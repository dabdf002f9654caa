//! Tests of sets of samples: their text form, sizes, sums and differences.

use raysieve::render::part::Samples;

/// Number of pixels of the image.
const PIXELS: u32 = 10;

fn samples(text: &str) -> Samples {
    Samples::parse(text, PIXELS).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn text_form_round_trips() {
    for text in [
        "",
        "0..64",
        "0..37+9",
        "3+1..3+2",
        "0..16, 32..64",
        "0..1, 2..3+4, 3+5..4294967296",
    ] {
        assert_eq!(samples(text).to_string(), text);
    }
    for wrong in [
        "1",
        "2..1",
        "0..1, 0..1",
        "0..1+10",
        "0..4294967297",
        "0..4294967296+1",
        "-1..2",
        "+1..2",
        "0..99999999999999999999",
        "0..1,2..3",
    ] {
        assert_eq!(Samples::parse(wrong, PIXELS), None, "{wrong}");
    }
}

#[test]
fn sample_counts_equal_the_pairs_in_the_set() {
    for text in [
        "0..5",
        "2+3..5+3",
        "2+3..5+1",
        "0..1+7, 2+1..2+8, 4+2..4+3",
        "0+8..2, 3..3+2",
    ] {
        let samples = samples(text);
        let mut counts = [0; PIXELS as usize];
        for pair in samples.ranges().iter().flat_map(Clone::clone) {
            counts[(pair % u64::from(PIXELS)) as usize] += 1;
        }
        for (pixel, &count) in (0..).zip(&counts) {
            assert_eq!(samples.of_pixel(pixel), count, "{text}, pixel {pixel}");
        }
        let (min, max) = (counts.iter().min(), counts.iter().max());
        assert_eq!(Some(&samples.min_samples()), min, "{text}");
        assert_eq!(Some(&samples.max_samples()), max, "{text}");
        assert_eq!(samples.len(), u64::from(counts.iter().sum::<u32>()));
    }
}

#[test]
fn difference_removes_the_other_set() {
    for (own, other, left) in [
        ("0..8", "", "0..8"),
        ("0..8", "0..8", ""),
        ("0..8", "2..3, 4+5..6", "0..2, 3..4+5, 6..8"),
        ("2..4, 6..8", "0..3, 7..9", "3..4, 6..7"),
        ("2..4, 6..8", "3..7", "2..3, 7..8"),
        ("2..4", "0..1, 5..6", "2..4"),
        ("", "0..1", ""),
    ] {
        let left_over = samples(own).without(&samples(other));
        assert_eq!(left_over.to_string(), left, "{own} without {other}");
    }
}

#[test]
fn sets_add_up_unless_they_overlap() {
    let mut sum = samples("4..8");
    assert_eq!(sum.add(&samples("0..2")), Ok(()));
    assert_eq!(sum.to_string(), "0..2, 4..8");
    assert_eq!(sum.gaps().to_string(), "2..4");
    assert_eq!(
        sum.add(&samples("1+5..3, 7..9"))
            .map_err(|both| both.to_string()),
        Err("1+5..2, 7..8".to_owned())
    );
    assert_eq!(sum.add(&samples("2..3+1, 3+1..4")), Ok(()));
    assert_eq!(sum, samples("0..8"));
    assert!(sum.gaps().is_empty());
}
