//! Path records: the recorded paths are those that the render traced.

use raysieve::{
    film::{rounded_sample, rounding_bits},
    inspect::path_record::{End, Inspector, PathRecord},
    render::stats::BounceStats,
};

use crate::common::{on_cpu, scenes, sized, start};

const SIZE: (u32, u32) = (20, 12);
const SPP: u32 = 2;

#[test]
fn path_records_add_up_to_the_film_and_its_counts() {
    for scene in scenes() {
        let scene = sized(scene, SIZE.0, SIZE.1, SPP);
        let name = scene.path.display();
        let mut renderer = start(&scene, &on_cpu());
        while renderer.advance().expect("it renders") {}
        let part = renderer.part().expect("there is a film");
        let inspector = Inspector::new(&scene).expect("the trees are built");

        let mut sums = vec![0u64; part.film.sums.len()];
        let mut rows = vec![BounceStats::default(); scene.max_bounces as usize + 1];
        for pixel in 0..SIZE.0 * SIZE.1 {
            for sample in 0..SPP {
                let place = (pixel % SIZE.0, pixel / SIZE.0);
                let record = inspector.trace(place, sample).expect("there is a pixel");
                assert_eq!(record.pixel, [place.0, place.1], "{name}");
                assert_eq!(record.sample, sample, "{name}");
                assert!(!record.rejected, "{name}: {record:?}");
                let channels = &mut sums[3 * pixel as usize..][..3];
                let bits = rounding_bits(pixel, sample);
                for (sum, value) in channels.iter_mut().zip(record.radiance.to_array()) {
                    *sum += rounded_sample(value, bits);
                }
                count(&mut rows, &record);
                // The last vertex of a path that scatters `n` times has the index `n` - 1.
                let scatterings = record.vertices.len() as u32;
                let may_end = record.end != End::Roulette || scatterings >= scene.roulette;
                assert!(may_end, "{name}: {record:?}");
            }
        }
        assert!(sums == part.film.sums, "{name}: the film differs");
        let counted: Vec<[u64; 5]> = rows.iter().map(counts).collect();
        let rendered: Vec<[u64; 5]> = part.header.stats.bounces.iter().map(counts).collect();
        assert_eq!(counted, rendered, "{name}");
    }
}

/// Returns the counts that path records determine.
fn counts(row: &BounceStats) -> [u64; 5] {
    [
        row.rays,
        row.scattered,
        row.misses,
        row.ended,
        row.shadow_rays,
    ]
}

/// Adds a path record to the counts of its bounces.
fn count(rows: &mut [BounceStats], record: &PathRecord) {
    let last = record.vertices.len() - 1;
    for (bounce, vertex) in record.vertices.iter().enumerate() {
        rows[bounce].rays += 1;
        rows[bounce].shadow_rays += u64::from(vertex.light_sample.is_some());
        rows[bounce].scattered += u64::from(vertex.scattering.is_some());
        let missed = vertex.hit.is_none() && vertex.scattering.is_none();
        assert_eq!(missed, bounce == last && record.end == End::Missed);
    }
    match record.end {
        End::Missed => rows[last].misses += 1,
        End::LastBounce => {
            assert_eq!(last + 1, rows.len());
            rows[last].ended += 1;
        }
        End::Roulette | End::Absorbed => rows[last].ended += 1,
    }
}

/// Checks that each segment begins at the hit of the previous one.
#[test]
fn a_path_record_is_connected() {
    for scene in scenes() {
        let scene = sized(scene, SIZE.0, SIZE.1, SPP);
        let name = scene.path.display().to_string();
        let inspector = Inspector::new(&scene).expect("the trees are built");
        let extent = |point: glam::Vec3| point.abs().max_element().max(1.0);
        for column in 0..SIZE.0 {
            let record = inspector.trace((column, SIZE.1 / 2), 0).expect("a pixel");
            for pair in record.vertices.windows(2) {
                let [here, next] = pair else { unreachable!() };
                if let Some(scattering) = &here.scattering {
                    assert_eq!(
                        scattering.relative, next.origin.relative,
                        "{name}: {pair:?}"
                    );
                    continue;
                }
                let hit = here.hit.as_ref().expect("a path goes on from a hit");
                let distance = (hit.position.relative - next.origin.relative).length();
                // Rays leave smooth meshes from the curved surface that the normals describe.
                assert!(
                    distance < 5e-2 * extent(hit.position.relative),
                    "{name}: {pair:?}"
                );
                assert!((hit.normal.length() - 1.0).abs() < 1e-3, "{name}: {hit:?}");
                assert!(
                    !hit.material.is_empty() || name.ends_with("gltf_model.ron"),
                    "{name}: {hit:?}"
                );
            }
        }
    }
}

#[test]
fn a_pixel_outside_of_the_image_is_refused() {
    let scene = sized(scenes().swap_remove(0), 8, 4, 1);
    let inspector = Inspector::new(&scene).expect("the trees are built");
    for pixel in [(8, 0), (0, 4), (u32::MAX, u32::MAX)] {
        let error = inspector.trace(pixel, 0).expect_err("no such pixel");
        let message = error.to_string();
        assert!(
            message.contains("columns 0 to 7 and rows 0 to 3"),
            "{message}"
        );
    }
    // The largest sample number is valid.
    inspector.trace((7, 3), u32::MAX).expect("a path");
}
