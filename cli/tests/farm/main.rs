//! Tests of `raysieve farm`: with a real Slurm on this machine, with the shell alone, and of the Kubernetes manifest.

mod cluster;
mod faults;
mod kubernetes;
mod options;
#[path = "../../../tests/common/program.rs"]
mod program;
mod scripts;
mod slurm;
mod submission;

use libtest_mimic::Arguments;
use program::{
    add_tests, assert_done, assert_refused, disk, folder, mounting, names, program, raysieve, run,
    scene, signal, stderr, stdout,
};

fn main() {
    let mut trials = Vec::new();
    slurm::add(&mut trials);
    scripts::add(&mut trials);
    options::add(&mut trials);
    kubernetes::add(&mut trials);
    faults::add(&mut trials);
    submission::add(&mut trials);
    let mut arguments = Arguments::from_args();
    // Most of the time a test waits for a program.
    arguments.test_threads.get_or_insert(4);
    libtest_mimic::run(&arguments, trials).exit()
}
