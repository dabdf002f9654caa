//! Tests that run the program as users do. Unless they are about GPUs, it sees no GPU and no display.

mod bench;
mod bench_reference;
mod checkpoint;
mod compare;
mod crop;
mod denoise;
mod figures;
mod files;
#[path = "../../../tests/common/gltf.rs"]
mod gltf;
mod gpus;
mod inspect;
mod interrupt;
mod lighting;
mod long_texts;
mod memory;
mod models;
mod noise;
mod noise_on_gpus;
mod oidn;
mod opening;
mod parts;
#[path = "../../../tests/common/program.rs"]
mod program;
mod progress;
mod tev;
mod turntable;
mod usage;

use libtest_mimic::Arguments;
use program::{
    add_tests, assert_done, assert_refused, disk, folder, mounting, names, processor_time, program,
    raysieve, run, scene, signal, small_render, stderr, stdout, without_gpu_and_display,
};

fn main() {
    let mut trials = Vec::new();
    usage::add(&mut trials);
    files::add(&mut trials);
    figures::add(&mut trials);
    interrupt::add(&mut trials);
    parts::add(&mut trials);
    progress::add(&mut trials);
    noise::add(&mut trials);
    checkpoint::add(&mut trials);
    bench::add(&mut trials);
    bench_reference::add(&mut trials);
    denoise::add(&mut trials);
    oidn::add(&mut trials);
    inspect::add(&mut trials);
    memory::add(&mut trials);
    models::add(&mut trials);
    turntable::add(&mut trials);
    compare::add(&mut trials);
    crop::add(&mut trials);
    tev::add(&mut trials);
    lighting::add(&mut trials);
    long_texts::add(&mut trials);
    gpus::add(&mut trials);
    noise_on_gpus::add(&mut trials);
    let mut arguments = Arguments::from_args();
    // Most of the time a test waits for a program.
    arguments.test_threads.get_or_insert(4);
    libtest_mimic::run(&arguments, trials).exit()
}
