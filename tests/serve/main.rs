//! The page of `--serve`: what it answers, what viewers see and may do, how it ends; and the page itself in a browser.
//! Where there is no browser, those tests count as ignored, with the reason.

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

/// Makes tests of functions, each under its own name.
macro_rules! add_tests {
    ($trials:expr, $($test:ident),+ $(,)?) => {
        $($trials.push(libtest_mimic::Trial::test(stringify!($test), || { $test(); Ok(()) }));)+
    };
}
use add_tests;

/// A test that counts as ignored where the machine lacks what it needs.
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
