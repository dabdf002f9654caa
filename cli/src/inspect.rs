//! `raysieve inspect`: prints the record of one path, bounce by bounce.

use std::fmt::Display;

use crate::error::Error;
use raysieve::{
    inspect::path_record::{DirectLightSample, Inspector, PathRecord, PathVertex, SurfaceHit},
    render::output,
};
use raysieve_scene::atomic_file;

use crate::{arguments::Inspect, note, print_result, progress::with_progress_line, table::aligned};

/// Runs `raysieve inspect`: traces the path on the CPU and prints its record as a table. With `--json`, writes the
/// record as JSON first.
///
/// # Errors
/// If the scene cannot be loaded, the pixel is outside the image, or the file cannot be written.
pub(crate) fn inspect(arguments: &Inspect) -> Result<(), Error> {
    if let Some(file) = &arguments.json {
        atomic_file::check_place(file)?;
    }
    let scene = arguments.load_scene()?;
    scene.notes.iter().for_each(|line| note(line));
    let what = format!("building the trees of {}", scene.path.display());
    let inspector = with_progress_line(what, || Inspector::new(&scene))?;
    let record = inspector.trace(arguments.pixel, arguments.sample)?;
    if let Some(file) = &arguments.json {
        output::write_json(file, &record)?;
    }
    let ([column, row], (width, height)) = (record.pixel, scene.size);
    print_result(&format!(
        "pixel {column},{row} of {width}x{height}, sample {}, seed {} of {}\n\n{}\n{}",
        record.sample,
        scene.seed,
        scene.path.display(),
        table(&record),
        ending(&record)
    ))
}

/// Column headings of the table of a path record. The table has one row per vertex of the path.
const HEAD: [&str; 6] = [
    "bounce",
    "position",
    "hit",
    "throughput",
    "emission",
    "direct light",
];

/// Returns the table of a path record as text, with the headings and one row per vertex.
fn table(record: &PathRecord) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend((0..).zip(&record.vertices).map(cells));
    aligned(&rows)
}

/// Returns the cells of one vertex, in the order of [`HEAD`]. If the ray leaves the scene, the direction of the ray
/// replaces the position. Bounce 0 is the hit of the camera ray.
fn cells((bounce, vertex): (u32, &PathVertex)) -> [String; 6] {
    let (place, what) = match &vertex.hit {
        Some(hit) => (triple(hit.position.in_file().to_array(), 3), surface(hit)),
        None => (
            format!("towards {}", triple(vertex.direction.to_array(), 3)),
            "nothing".to_owned(),
        ),
    };
    [
        bounce.to_string(),
        place,
        what,
        triple(vertex.throughput.to_array(), 4),
        light(vertex.emission.to_array()),
        vertex
            .light_sample
            .as_ref()
            .map_or("-".to_owned(), direct_light),
    ]
}

/// Returns text about a hit: the side of the surface, the material's name in quotes, and the index of the instance, if
/// any. An example is `front of "white", instance 3`. Without a name of the material, it is `front of a surface`.
fn surface(hit: &SurfaceHit) -> String {
    let material = match hit.material.as_str() {
        "" => "a surface".to_owned(),
        name => format!("{:?}", name),
    };
    let side = if hit.front { "front" } else { "back" };
    let instance = hit
        .instance
        .map_or_else(String::new, |number| format!(", instance {number}"));
    format!("{side} of {material}{instance}")
}

/// Returns text about a sample of direct light: the radiance that it adds to the path unless the shadow ray is blocked,
/// and "blocked" if the ray is.
fn direct_light(sample: &DirectLightSample) -> String {
    let radiance = light(sample.light.to_array());
    if sample.blocked {
        format!("{radiance}, blocked")
    } else {
        radiance
    }
}

/// Returns the two lines below the table: the number of the last bounce, from 0, with the reason why the path ended,
/// and the radiance of the path. If the film rejects that radiance, the second line says so.
fn ending(record: &PathRecord) -> String {
    let rejected = if record.rejected {
        "; rejected by the film: not finite, or too bright"
    } else {
        ""
    };
    format!(
        "ended      after bounce {}: {}\nradiance   {}{rejected}\n",
        record.vertices.len().saturating_sub(1),
        record.end,
        light(record.radiance.to_array()),
    )
}

/// Formats a radiance in linear sRGB with four decimals, or as "-" if all three channels are 0.
fn light(rgb: [f32; 3]) -> String {
    if rgb == [0.0; 3] {
        "-".to_owned()
    } else {
        triple(rgb, 4)
    }
}

/// Formats three numbers in parentheses with `digits` decimals, such as `(0.5, 0.5, 1.0)` with one.
fn triple<N: Display>(numbers: [N; 3], digits: usize) -> String {
    let [a, b, c] = numbers.map(|number| format!("{number:.digits$}"));
    format!("({a}, {b}, {c})")
}
