//! Exactness of renders of a region: its pixels have the film of the whole image, and others none. To a noise, so do the
//! other pixels of its tiles.

use compaction::select::Strategy;
use raysieve::{
    render::{
        part::{Packing, Part, PartFile, Portion, Samples},
        region::Region,
        renderer::{BackendChoice, Renderer, Settings},
    },
    scene::Scene,
};

use crate::{
    adaptive::{step, to_noise},
    common::{load, on_cpu, sized, start},
    gpus::on,
    harness::Gpu,
};

/// Width and height of the image, neither of which is a multiple of a tile.
const SIZE: (u32, u32) = (21, 17);

/// Regions with and without edges of the image, of one pixel, of a few rows, and of all pixels.
const REGIONS: [Region; 4] = [
    region(3, 5, 7, 4),
    region(20, 16, 1, 1),
    region(0, 9, 21, 2),
    region(0, 0, 21, 17),
];

const fn region(x: u32, y: u32, width: u32, height: u32) -> Region {
    Region {
        x,
        y,
        width,
        height,
    }
}

fn rendered(mut renderer: Renderer) -> Part {
    while renderer.advance().unwrap() {}
    renderer.into_part().unwrap()
}

/// Returns the smallest region of whole tiles that contains this one.
fn in_tiles(inner: Region) -> Region {
    const TILE: u32 = 8;
    let (left, top) = (inner.x / TILE * TILE, inner.y / TILE * TILE);
    let right = (inner.x + inner.width).next_multiple_of(TILE).min(SIZE.0);
    let bottom = (inner.y + inner.height).next_multiple_of(TILE).min(SIZE.1);
    region(left, top, right - left, bottom - top)
}

/// Asserts that the part has the film of the whole image in the region, and no light elsewhere.
#[track_caller]
fn assert_region(part: &Part, whole: &Part, region: Region, case: &str) {
    let sums = |part: &Part, pixel: usize| part.film.sums[3 * pixel..3 * pixel + 3].to_vec();
    for pixel in 0..(SIZE.0 * SIZE.1) as usize {
        let (x, y) = (pixel as u32 % SIZE.0, pixel as u32 / SIZE.0);
        let columns = region.x..region.x + region.width;
        let rows = region.y..region.y + region.height;
        let expected = if columns.contains(&x) && rows.contains(&y) {
            sums(whole, pixel)
        } else {
            vec![0; 3]
        };
        assert_eq!(
            sums(part, pixel),
            expected,
            "{region}, pixel {x},{y}, {case}"
        );
    }
}

/// Asserts that all regions have the CPU's film with these settings, with all samples and to a noise.
fn agrees(settings: &Settings) {
    let scene = sized(load("scenes/cornell.ron"), SIZE.0, SIZE.1, 40);
    let whole = rendered(start(&scene, &on_cpu()));
    let to_goal = rendered(to_noise(&scene, &on_cpu()));
    for (number, region) in REGIONS.into_iter().enumerate() {
        let settings = Settings {
            strategy: Strategy::ALL[number % Strategy::ALL.len()],
            wave_size: [None, Some(50)][number % 2],
            ..settings.clone()
        };
        let case = format!("{settings:?}");
        let mut renderer = start(&scene, &settings);
        renderer.set_region(Some(region)).unwrap();
        let part = rendered(renderer);
        assert_region(&part, &whole, region, &case);
        assert_eq!(
            part.header.stats.paths,
            u64::from(region.width * region.height * 40)
        );
        assert!(part.header.stats.noise.is_none());
        let mut renderer = to_noise(&scene, &settings);
        renderer.set_region(Some(region)).unwrap();
        assert_region(&rendered(renderer), &to_goal, in_tiles(region), &case);
    }
    // A render that gets more samples later continues, in a region or not, with all samples and to a noise.
    let fewer = sized(scene.clone(), SIZE.0, SIZE.1, 17);
    let itself: fn(Region) -> Region = |region| region;
    for (begun, expected, covered) in [
        (start(&fewer, settings), &whole, itself),
        (to_noise(&fewer, settings), &to_goal, in_tiles),
    ] {
        let mut renderer = begun;
        for region in [Some(REGIONS[0]), None] {
            renderer
                .set_samples(&Samples::first(17, SIZE.0 * SIZE.1))
                .unwrap();
            renderer.set_region(region).unwrap();
            while renderer.advance().unwrap() {}
            let paths = renderer.stats().paths;
            renderer.extend_to(33).unwrap();
            assert_eq!(renderer.stats().paths, paths);
            assert!(renderer.progress() < 1.0);
            renderer.advance().unwrap();
            renderer.extend_to(40).unwrap();
            while renderer.advance().unwrap() {}
            let part = renderer.part().unwrap();
            let region = region.unwrap_or(REGIONS[3]);
            assert_region(&part, expected, covered(region), "with more samples later");
            assert!(renderer.extend_to(39).is_err());
        }
    }
    // The renderer can return to the whole image.
    let mut renderer = start(&scene, settings);
    renderer.set_region(Some(REGIONS[0])).unwrap();
    renderer.advance().unwrap();
    assert!(renderer.set_region(Some(region(15, 0, 7, 1))).is_err());
    renderer.set_region(None).unwrap();
    assert!(rendered(renderer).film == whole.film);
}

/// Asserts that a region that is rendered in steps, each by a renderer that reads the file of the one before, has the
/// film of the whole image, with all samples and to a noise.
fn continues(settings: &Settings) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.exr");
    let scene = sized(load("scenes/cornell.ron"), SIZE.0, SIZE.1, 40);
    let begin: [fn(&Scene, &Settings) -> Renderer; 2] = [start, to_noise];
    for (begin, covered) in begin.into_iter().zip([REGIONS[0], in_tiles(REGIONS[0])]) {
        let whole = rendered(begin(&scene, &on_cpu()));
        let mut files = 0;
        let part = loop {
            // A wave is no whole number of samples of the region.
            let settings = Settings {
                wave_size: Some(301),
                threads: Some(1),
                ..settings.clone()
            };
            let mut renderer = begin(&scene, &settings);
            renderer.set_region(Some(REGIONS[0])).unwrap();
            if files > 0 {
                let read = Part::read(&path).unwrap();
                assert_eq!(read.header.identity.crop, Some(REGIONS[0]));
                renderer.resume(&read).unwrap();
            }
            let goes_on = step(&mut renderer);
            let part = renderer.part().unwrap();
            if !goes_on {
                break part;
            }
            part.write(&path, Packing::Fast).unwrap();
            files += 1;
        };
        assert!(files > 1, "{files} files");
        assert_region(&part, &whole, covered, "in steps");
        // It is a part of no other render.
        let mut other = part.clone();
        let refused = other.add(&part).unwrap_err();
        assert!(refused.contains("cannot be merged"), "{refused}");
        for region in [None, Some(REGIONS[2])] {
            let mut renderer = begin(&scene, settings);
            renderer.set_region(region).unwrap();
            let refused = renderer.resume(&part).unwrap_err().to_string();
            assert!(refused.contains("crop 3,5,7x4"), "{refused}");
        }
        let mut renderer = begin(&scene, settings);
        let file = PartFile::read(&path).unwrap();
        let refused = file.verify(&mut renderer, Portion::Whole, |_| ());
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("only crop 3,5,7x4"), "{refused}");
    }
}

pub(crate) fn a_region_has_the_film_of_the_whole_image() {
    agrees(&on_cpu());
}

pub(crate) fn a_region_continues_from_its_checkpoint() {
    continues(&on_cpu());
}

pub(crate) fn a_region_continues_from_its_checkpoint_on_cuda(_: &Gpu) {
    continues(&Settings {
        backend: BackendChoice::Cuda(0),
        ..Settings::default()
    });
}

pub(crate) fn a_region_continues_from_its_checkpoint_on_several_gpus(&count: &usize) {
    continues(&on(&(0..count).collect::<Vec<_>>(), None));
}

pub(crate) fn a_region_has_the_cpus_film_on_cuda(_: &Gpu) {
    agrees(&Settings {
        backend: BackendChoice::Cuda(0),
        ..Settings::default()
    });
}

pub(crate) fn a_region_has_the_cpus_film_on_several_gpus(&count: &usize) {
    let all: Vec<usize> = (0..count).collect();
    agrees(&on(&all, None));
}
