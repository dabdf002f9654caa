//! Tests of the web page of `--serve`: its protocol, access control and end, and the page itself in a browser. Tests
//! that need a browser are ignored, with the reason, if there is none.

mod access;
mod browser;
mod chromium;
mod ending;
mod gpus;
mod live;
mod program;
mod viewer;
mod watch;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let mut trials = Vec::new();
    access::add(&mut trials);
    live::add(&mut trials);
    watch::add(&mut trials);
    ending::add(&mut trials);
    browser::add(&mut trials);
    gpus::add(&mut trials);

    libtest_mimic::run(&Arguments::from_args(), trials).exit()
}

/// Creates tests from functions, named after them.
macro_rules! add_tests {
    ($trials:expr, $($test:ident),+ $(,)?) => {
        $($trials.push(libtest_mimic::Trial::test(stringify!($test), || { $test(); Ok(()) }));)+
    };
}
use add_tests;

/// Creates a test that is ignored if something is missing on this machine.
fn add_if(trials: &mut Vec<Trial>, missing: Option<String>, name: &str, test: fn()) {
    let ignored = missing.is_some();
    let body = move || {
        if let Some(missing) = missing {
            return Err(missing.into());
        }
        test();
        Ok(())
    };
    trials.push(Trial::test(name, body).with_ignored_flag(ignored));
}
