//! Renders in parts on many machines: by a real Slurm on this one, by the shell alone, and as Kubernetes is told.

mod cluster;
mod faults;
mod kubernetes;
#[path = "../common/program.rs"]
mod program;
mod scripts;
mod slurm;
mod submission;

use libtest_mimic::Arguments;
use program::{
    add_if, add_tests, assert_done, assert_refused, disk, folder, mounting, names, program,
    raysieve, run, scene, stderr, stdout,
};

fn main() {
    let mut trials = Vec::new();
    slurm::add(&mut trials);
    scripts::add(&mut trials);
    kubernetes::add(&mut trials);
    faults::add(&mut trials);
    submission::add(&mut trials);
    libtest_mimic::run(&Arguments::from_args(), trials).exit()
}
