//! Tests of the web page of `--serve`: its protocol, access control and end, and the page itself in a browser. Tests
//! that need a browser are ignored, with the reason, if there is none.

mod access;
mod animation;
mod browser;
mod chromium;
mod compare;
mod ending;
mod figures;
mod gpus;
mod layout;
mod live;
mod messages;
#[path = "../../../tests/common/gltf.rs"]
mod gltf;
#[path = "../common/denoiser.rs"]
mod denoiser;
#[path = "../../../tests/common/program.rs"]
mod program;
#[path = "../common/scene.rs"]
mod scene;
mod server;
mod session;
mod tools;
mod viewer;
mod watch;

use libtest_mimic::Arguments;

fn main() {
    let mut trials = Vec::new();
    access::add(&mut trials);
    live::add(&mut trials);
    messages::add(&mut trials);
    tools::add(&mut trials);
    animation::add(&mut trials);
    compare::add(&mut trials);
    watch::add(&mut trials);
    ending::add(&mut trials);
    browser::add(&mut trials);
    layout::add(&mut trials);
    figures::add(&mut trials);
    session::add(&mut trials);
    gpus::add(&mut trials);

    let mut arguments = Arguments::from_args();
    // Half of the time a test waits for the page.
    arguments.test_threads.get_or_insert(4);
    libtest_mimic::run(&arguments, trials).exit()
}
