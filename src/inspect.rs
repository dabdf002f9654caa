//! `raysieve inspect`: one path, bounce by bounce.

use raysieve::{
    Error, output,
    track::{Inspector, Met, Probe, Track, Vertex},
};

use crate::{cli::Inspect, headless::telling, note, say, table::aligned};

/// Traces the path again and tells of it.
pub(crate) fn inspect(arguments: &Inspect) -> Result<(), Error> {
    if let Some(file) = &arguments.json {
        output::check_place(file)?;
    }
    let scene = arguments.load_scene()?;
    scene.notes.iter().for_each(|line| note(line));
    let what = format!("building the trees of {}", scene.path.display());
    let inspector = telling(what, || Inspector::new(&scene))?;
    let track = inspector.track(arguments.pixel, arguments.sample)?;
    if let Some(file) = &arguments.json {
        output::write_json(file, &track)?;
    }
    let ([column, row], (width, height)) = (track.pixel, scene.size);
    say(&format!(
        "pixel {column},{row} of {width}x{height}, sample {}, seed {} of {}\n\n{}\n{}",
        track.sample,
        scene.seed,
        scene.path.display(),
        table(&track),
        ending(&track)
    ))
}

const HEAD: [&str; 6] = [
    "bounce",
    "where",
    "what",
    "passed on until here",
    "light found",
    "light sample",
];

fn table(track: &Track) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend((0..).zip(&track.vertices).map(cells));
    aligned(&rows)
}

fn cells((bounce, vertex): (u32, &Vertex)) -> [String; 6] {
    let (place, what) = match &vertex.met {
        Some(met) => (triple(met.position.to_array(), 3), surface(met)),
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
        light(vertex.found.to_array()),
        vertex.light_sample.as_ref().map_or("-".to_owned(), probe),
    ]
}

fn surface(met: &Met) -> String {
    let material = match met.material.as_str() {
        "" => "a surface".to_owned(),
        name => format!("{:?}", name),
    };
    let side = if met.front { "front" } else { "back" };
    let instance = met
        .instance
        .map_or_else(String::new, |number| format!(", instance {number}"));
    format!("{side} of {material}{instance}")
}

fn probe(probe: &Probe) -> String {
    let brought = light(probe.light.to_array());
    if probe.blocked {
        format!("{brought}, blocked")
    } else {
        brought
    }
}

fn ending(track: &Track) -> String {
    let rejected = if track.rejected {
        "; no sample for the film: not finite, or too bright"
    } else {
        ""
    };
    format!(
        "sieved     after bounce {}: {}\nradiance   {}{rejected}\n",
        track.vertices.len().saturating_sub(1),
        track.end,
        light(track.radiance.to_array()),
    )
}

/// Nothing where there is none.
fn light(rgb: [f32; 3]) -> String {
    if rgb == [0.0; 3] {
        "-".to_owned()
    } else {
        triple(rgb, 4)
    }
}

fn triple(numbers: [f32; 3], digits: usize) -> String {
    let [a, b, c] = numbers.map(|number| format!("{number:.digits$}"));
    format!("({a}, {b}, {c})")
}
