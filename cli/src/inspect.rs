//! `raysieve inspect`: prints the record of one path, bounce by bounce.

use crate::error::Error;
use raysieve::{
    inspect::path_record::{DirectLightSample, Inspector, PathRecord, SurfaceHit, Vertex},
    render::output,
};
use raysieve_scene::atomic_file;

use crate::{arguments::Inspect, headless::with_progress_line, note, print_result, table::aligned};

/// Runs the command: traces the path on the CPU, prints its record as a table, and writes the record as JSON with
/// `--json`.
pub(crate) fn inspect(arguments: &Inspect) -> Result<(), Error> {
    if let Some(file) = &arguments.json {
        atomic_file::check_place(file)?;
    }
    let scene = arguments.load_scene()?;
    scene.notes.iter().for_each(|line| note(line));
    let what = format!("building the BVH of {}", scene.path.display());
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

/// Headings of the columns of the table that the command prints. The table has one row per vertex of the path.
const HEAD: [&str; 6] = [
    "bounce",
    "position",
    "hit",
    "throughput",
    "emission",
    "direct light",
];

/// Returns the table of a path record, with a heading and one row per vertex.
fn table(record: &PathRecord) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend((0..).zip(&record.vertices).map(cells));
    aligned(&rows)
}

/// Returns the cells of the row of one vertex. A ray that leaves the scene has a direction instead of a position.
fn cells((bounce, vertex): (u32, &Vertex)) -> [String; 6] {
    let (place, what) = match &vertex.hit {
        Some(hit) => (triple(hit.position.to_array(), 3), surface(hit)),
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

/// Returns text about a hit: the side of the surface, the material's name in quotes, and the number of the instance, if
/// any.
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

/// Returns text about a light sample: its radiance, and whether the shadow ray was blocked.
fn direct_light(sample: &DirectLightSample) -> String {
    let radiance = light(sample.light.to_array());
    if sample.blocked {
        format!("{radiance}, blocked")
    } else {
        radiance
    }
}

/// Returns the lines below the table: where and why the path ended, and the radiance of the path.
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

/// Formats an RGB radiance with four decimals, or as "-" if it is zero.
fn light(rgb: [f32; 3]) -> String {
    if rgb == [0.0; 3] {
        "-".to_owned()
    } else {
        triple(rgb, 4)
    }
}

/// Formats three numbers with `digits` decimals, such as `(0.5, 0.5, 1.0)`.
fn triple(numbers: [f32; 3], digits: usize) -> String {
    let [a, b, c] = numbers.map(|number| format!("{number:.digits$}"));
    format!("({a}, {b}, {c})")
}
