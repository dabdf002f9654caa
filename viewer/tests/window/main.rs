//! Tests of the window on a virtual display, controlled by keys and mouse. They are ignored, with the reason, if the
//! required tools are missing.

mod animation;
mod camera;
mod compare;
mod desktop;
mod display;
mod drop;
mod editing;
mod lifecycle;
mod messages;
#[path = "../../../tests/common/gltf.rs"]
mod gltf;
#[path = "../common/denoiser.rs"]
mod denoiser;
#[path = "../../../tests/common/program.rs"]
mod program;
mod saving;
#[path = "../common/scene.rs"]
mod scene;
mod unsaved;

use std::{num::NonZeroUsize, thread};

use libtest_mimic::Arguments;

fn main() {
    let possible = desktop::has_tools();
    let mut trials = Vec::new();
    lifecycle::add(&mut trials, &possible);
    display::add(&mut trials, &possible);
    messages::add(&mut trials, &possible);
    camera::add(&mut trials, &possible);
    animation::add(&mut trials, &possible);
    editing::add(&mut trials, &possible);
    compare::add(&mut trials, &possible);
    saving::add(&mut trials, &possible);
    unsaved::add(&mut trials, &possible);
    let mut arguments = Arguments::from_args();
    // Most of the time a test waits for the window.
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    arguments.test_threads.get_or_insert(8.min(4 * cores));
    libtest_mimic::run(&arguments, trials).exit()
}
