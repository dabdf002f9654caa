//! Tests of the statistics overlay.

use raysieve::{
    inspect::debug_view::{DebugView, Legend},
    render::{
        output::DisplayImage,
        stats::{BounceStats, StageTimes, Stats},
    },
};
use raysieve_viewer::overlay;

/// Value of each channel of the picture below the overlay.
const GRAY: u8 = 120;

/// Returns statistics in which half of the rays of every bounce survive, 3/8 end and 1/8 leave the scene.
fn stats(bounces: u32) -> Stats {
    let bounce = |bounce: u32| {
        let rays = 1_u64 << (40 - bounce.min(40));
        let (survivors, misses) = (rays / 2, rays / 8);
        let hits = rays - misses;
        let milliseconds = rays as f64 / 1e9;
        BounceStats {
            bounce,
            rays,
            hits,
            scattered: 0,
            misses,
            ended: hits - survivors,
            survivors,
            shadow_rays: hits,
            lanes: rays,
            times: StageTimes::from_fn(|_| milliseconds / 2.0),
        }
    };
    Stats {
        scene: "a/scene with a long name.ron".to_owned(),
        backend: "cpu".to_owned(),
        device: "A processor of some length".to_owned(),
        compaction: "look-back".to_owned(),
        size: [1 << 20, 1 << 20],
        paths: 1 << 40,
        bounces: (0..bounces).map(bounce).collect(),
        ..Stats::default()
    }
}

/// Draws the overlay onto a gray picture.
fn drawn(width: u32, height: u32, stats: &Stats) -> Vec<[u8; 4]> {
    let mut rgba = [GRAY, GRAY, GRAY, 255].repeat((width * height) as usize);
    overlay::draw(&mut rgba, width, height, stats);
    rgba.as_chunks().0.to_vec()
}

#[test]
fn names_in_any_script_are_legible() {
    let named = |name: &str| {
        let scene = Stats {
            scene: format!("{name}.ron"),
            ..stats(2)
        };
        drawn(640, 400, &scene)
    };
    // Unknown characters would look alike.
    for (one, other) in [("Ста", "Сту"), ("łąc", "łąć"), ("αβγ", "αβδ")] {
        assert!(named(one) != named(other), "{one}");
    }
    if named("木") == named("水") {
        eprintln!("skipped: no font of the system has Chinese characters");
    } else {
        // A Chinese character takes the place of two others.
        assert!(named("木木") != named("木水"));
    }
}

#[test]
fn the_overlay_is_drawn_on_opaque_pictures_of_any_size() {
    let sizes = [0, 1, 2, 7, 31, 64, 65, 100, 333, 512, 1000, 2200];
    for (width, height) in sizes
        .iter()
        .flat_map(|&width| sizes.map(|height| (width, height)))
    {
        for bounces in [0, 1, 9, 4097] {
            let pixels = drawn(width, height, &stats(bounces));
            assert!(pixels.iter().all(|pixel| pixel[3] == 255));
            let untouched = pixels.iter().all(|&pixel| pixel == [GRAY, GRAY, GRAY, 255]);
            assert!(
                !untouched || width < 64 || height < 64,
                "{width} × {height} is empty"
            );
        }
    }
}

#[test]
fn a_buffer_that_is_too_small_causes_no_panic() {
    let mut rgba = vec![0; 1234];
    overlay::draw(&mut rgba, 512, 512, &stats(9));
    overlay::draw(&mut [], 512, 512, &stats(9));
}

#[test]
fn bars_show_the_fractions_of_the_rays() {
    let (width, height) = (512, 512);
    let pixels = drawn(width, height, &stats(6));
    let bars = bars(&pixels, width as usize);
    assert_eq!(bars.len(), 6, "{bars:?}");
    let full = bars[0].iter().sum::<usize>() as f64;
    assert!(full > 450.0, "the first bar has only {full} pixels");
    for (bounce, bar) in bars.iter().enumerate() {
        let rays = full / f64::from(1 << bounce);
        for (pixels, part) in bar.iter().zip([0.5, 0.375, 0.125]) {
            assert!(
                (*pixels as f64 - part * rays).abs() <= 1.5,
                "bounce {bounce}: {bar:?} of {rays}"
            );
        }
    }
}

/// Returns the bars at the left edge, from the top: the lengths in pixels of their three colors.
fn bars(pixels: &[[u8; 4]], width: usize) -> Vec<[usize; 3]> {
    let left = 18;
    let mut bars = Vec::new();
    let mut before = None;
    for row in pixels.chunks_exact(width) {
        let runs: Vec<usize> = row[left..]
            .chunk_by(|one, next| one == next)
            .map(<[_]>::len)
            .take(3)
            .collect();
        let bar = (runs.iter().sum::<usize>() > 8 && runs[0] > 4 && is_colorful(row[left]))
            .then(|| [runs[0], runs[1], runs[2]]);
        if let Some(bar) = bar
            && before != Some(bar)
        {
            bars.push(bar);
        }
        before = bar;
    }
    bars
}

fn is_colorful([red, green, blue, _]: [u8; 4]) -> bool {
    red.max(green).max(blue) - red.min(green).min(blue) > 60
}

#[test]
fn the_number_of_omitted_bounces_is_shown() {
    assert_eq!(drawn(512, 200, &stats(20)), drawn(512, 200, &stats(20)));
    assert_ne!(drawn(512, 200, &stats(20)), drawn(512, 200, &stats(21)));
}

/// Draws a legend onto a gray image of this size. Returns the share of the image that it covers, and whether it reaches
/// the right edge.
fn legend_share((width, height): (u32, u32), bar: &[[u8; 3]]) -> (f64, bool) {
    let gray = [GRAY, GRAY, GRAY, 255];
    let mut image = DisplayImage {
        size: (width, height),
        rgba: gray.repeat((width * height) as usize),
        debug_view: DebugView::Light,
    };
    let legend = Legend {
        title: "FLIP, difference from an image with a long name.exr".to_owned(),
        bar: bar.to_vec(),
        ticks: vec![
            (0.0, "0".to_owned()),
            (0.5, "0.5".to_owned()),
            (1.0, "1".to_owned()),
        ],
        note: "mean 0.0995, 95 % below 0.2137, at 64 samples".to_owned(),
    };
    overlay::draw_legend(&mut image, &legend);
    let pixels: &[[u8; 4]] = image.rgba.as_chunks().0;
    let covered = pixels.iter().filter(|&&pixel| pixel != gray).count();
    let mut rows = pixels.chunks_exact(width as usize);
    (
        covered as f64 / f64::from(width * height),
        rows.any(|row| row[row.len() - 1] != gray),
    )
}

#[test]
fn legends_leave_most_of_an_image_visible() {
    let bars: [&[[u8; 3]]; 2] = [&[[0, 0, 40], [255, 255, 160]], &[]];
    for bar in bars {
        for size in [1, 16, 64, 100, 128, 200, 256, 320, 480, 640, 1000, 2160] {
            for size in [(size, size), (size, size / 2 + 1)] {
                let (share, is_cut) = legend_share(size, bar);
                assert!(share <= 1.0 / 6.0, "{size:?}: {share}");
                assert!(!is_cut, "{size:?}");
                assert!(
                    share > 0.0 || size.1 < 200 || bar.is_empty(),
                    "{size:?} has no legend"
                );
            }
        }
    }
}
