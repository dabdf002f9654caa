//! Tests of the window on a virtual display, drawn by a software Vulkan driver and controlled by keys and mouse. They
//! are ignored, with the reason, if the required tools are missing.

mod camera;
mod desktop;
mod display;
mod drop;
mod lifecycle;
#[path = "../../../tests/common/program.rs"]
mod program;

use libtest_mimic::Arguments;

fn main() {
    let arguments = Arguments {
        test_threads: Some(1),
        ..Arguments::from_args()
    };
    let possible = desktop::has_tools();
    let mut trials = Vec::new();
    lifecycle::add(&mut trials, &possible);
    display::add(&mut trials, &possible);
    camera::add(&mut trials, &possible);
    libtest_mimic::run(&arguments, trials).exit()
}
