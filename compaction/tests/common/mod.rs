//! A test harness for tests that need NVRTC or a GPU. On machines without them, they are reported as ignored with the
//! reason.

use std::{
    fmt::{Debug, Display},
    process::{Child, Command, Stdio},
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
};

use compaction::{
    Error, UnknownName,
    cuda::{self, Compiler, Nvrtc},
    cudarc::driver::{CudaContext, CudaStream},
};
use libtest_mimic::{Arguments, Trial};

/// Adds tests under the names of their functions, with a prefix: `add_tests!(tests; gpu "cuda_" cuda { replays })` adds
/// the GPU test `cuda_replays`, which runs `cuda::replays`.
#[allow(
    unused_macros,
    reason = "not every test program has tests of several kinds"
)]
macro_rules! add_tests {
    ($tests:expr; $($kind:ident $prefix:literal $module:ident { $($name:ident),+ $(,)? })+) => {
        $tests$($(.$kind(concat!($prefix, stringify!($name)), $module::$name))+)+
    };
}
#[allow(
    unused_imports,
    reason = "not every test program has tests of several kinds"
)]
pub(crate) use add_tests;

/// Returns whether tests should use few items and calls (`COMPACTION_TESTS=short`), for slow checkers and emulators.
#[allow(dead_code, reason = "not every test program has long tests")]
pub(crate) fn is_short() -> bool {
    std::env::var("COMPACTION_TESTS").is_ok_and(|value| value == "short")
}

/// Returns a number of repetitions: `calls`, or a hundredth of it in short tests.
#[allow(dead_code, reason = "not every test program has long tests")]
pub(crate) fn times(calls: usize) -> usize {
    if is_short() {
        calls.div_ceil(100)
    } else {
        calls
    }
}

/// Returns the lengths to test: all of them, or those of at most 40,000 items in short tests.
#[allow(dead_code, reason = "not every test program has long tests")]
pub(crate) fn lengths(of: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let max_len = if is_short() { 40_000 } else { usize::MAX };
    of.into_iter().filter(|&len| len <= max_len).collect()
}

/// Asserts that a call returns an error of one line that contains `words`.
#[track_caller]
#[allow(dead_code, reason = "not every test program tests errors")]
pub(crate) fn assert_error<T>(result: Result<T, Error>, words: &str) {
    let Err(error) = result else {
        panic!("no error: {words}");
    };
    let text = error.to_string();
    assert!(
        text.contains(words) && !text.contains('\n'),
        "\"{text}\" does not contain \"{words}\""
    );
}

/// Asserts that every value is parsed from its name, and that the error for an unknown name lists all names.
#[allow(dead_code, reason = "not every test program has strategies")]
pub(crate) fn assert_names_are_parsed<T>(values: &[T])
where
    T: Debug + Display + FromStr<Err = UnknownName> + PartialEq,
{
    let error = "unknown".parse::<T>().unwrap_err().to_string();
    assert!(error.contains("\"unknown\""), "{error}");
    for value in values {
        let name = value.to_string();
        assert_eq!(name.parse().as_ref(), Ok(value));
        assert!(error.contains(&name), "{error}");
    }
}

/// The environment of a GPU test: the context of the first GPU, a separate stream, and a compiler.
#[allow(dead_code, reason = "not every test program runs kernels")]
pub(crate) struct Gpu {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) compiler: Compiler,
}

/// The reason given for tests that are skipped because NVRTC is missing.
#[allow(dead_code, reason = "not every test program compiles kernels")]
const NO_NVRTC: &str = "no NVRTC";

/// The share of a process in a test of [`Tests::nvrtc_shared`].
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "not every test program compiles kernels")]
pub(crate) struct Share {
    /// Number of this process, from 0.
    index: usize,
    processes: usize,
}

#[allow(dead_code, reason = "not every test program compiles kernels")]
impl Share {
    /// Environment variable with the number of a process that [`Share::start`] started.
    const INDEX: &str = "COMPACTION_TESTS_SHARE";

    fn of_this_process() -> Self {
        let index = std::env::var(Self::INDEX).ok();
        Self {
            index: index.map_or(0, |index| index.parse().unwrap()),
            processes: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Runs a test of this program in a process of its own, for the share with this index.
    fn start(self, index: usize, test: &str) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(Self::INDEX, index.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Returns the items that this process works on: every n-th, where n is the number of processes.
    pub(crate) fn of<T>(self, items: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        items.into_iter().skip(self.index).step_by(self.processes)
    }
}

/// The list of tests of a test program with `harness = false`.
pub(crate) struct Tests {
    trials: Vec<Trial>,
    nvrtc: Result<Arc<Nvrtc>, String>,
    gpu: Result<Arc<CudaContext>, String>,
    skipped: Vec<(&'static str, String, usize)>,
}

#[allow(dead_code, reason = "not every test program has tests of each kind")]
impl Tests {
    pub(crate) fn new() -> Self {
        Self {
            trials: Vec::new(),
            nvrtc: Nvrtc::find().map(Arc::new),
            gpu: cuda::open(0).map_err(|error| error.to_string()),
            skipped: Vec::new(),
        }
    }

    /// Adds a test that runs on every machine.
    pub(crate) fn test(mut self, name: &str, body: fn()) -> Self {
        self.trials.push(Trial::test(name, move || {
            body();
            Ok(())
        }));
        self
    }

    /// Adds a test that needs NVRTC.
    pub(crate) fn nvrtc(self, name: &str, body: fn(&Arc<Nvrtc>)) -> Self {
        let nvrtc = self.nvrtc.clone();
        self.needs(NO_NVRTC, nvrtc, name, body)
    }

    /// Adds a test that needs NVRTC and works in several processes, each on its [`Share`].
    ///
    /// NVRTC compiles one kernel at a time in a process, and would leave the other processors idle.
    pub(crate) fn nvrtc_shared(self, name: &str, body: fn(&Arc<Nvrtc>, Share)) -> Self {
        let (nvrtc, test) = (self.nvrtc.clone(), name.to_owned());
        self.needs(NO_NVRTC, nvrtc, name, move |nvrtc| {
            let own = Share::of_this_process();
            let others = match own.index {
                0 => 1..own.processes,
                _ => 0..0,
            };
            let others: Vec<Child> = others.map(|index| own.start(index, &test)).collect();
            body(nvrtc, own);
            for other in others {
                let output = other.wait_with_output().unwrap();
                let text = String::from_utf8_lossy(&output.stdout);
                assert!(output.status.success(), "in another process: {text}");
            }
        })
    }

    /// Adds a test that needs `found`. If that is `Err`, the test is reported as ignored, with `lacks` and the reason.
    pub(crate) fn needs<T: Send + 'static>(
        mut self,
        lacks: &'static str,
        found: Result<T, String>,
        name: &str,
        body: impl Fn(&T) + Send + 'static,
    ) -> Self {
        match found {
            Ok(tool) => self.trials.push(Trial::test(name, move || {
                body(&tool);
                Ok(())
            })),
            // CI installs NVRTC, so its absence there is a failure.
            Err(reason)
                if lacks == NO_NVRTC && std::env::var("CI").is_ok_and(|ci| ci == "true") =>
            {
                self.trials
                    .push(Trial::test(name, move || Err(reason.into())));
            }
            Err(reason) => self.skip(name, lacks, reason),
        }
        self
    }

    /// Adds a test that runs kernels.
    pub(crate) fn gpu(mut self, name: &str, body: impl Fn(&Gpu) + Send + 'static) -> Self {
        match self.gpu.clone() {
            // cudarc keeps an error that a function cannot return for the next call with the same handle of the context.
            // With a handle per test, a test that causes errors disturbs no other one.
            Ok(kept) => self.trials.push(Trial::test(name, move || {
                let _kept = kept;
                let context = cuda::open(0).map_err(|error| error.to_string())?;
                let stream = context.new_stream().map_err(|error| error.to_string())?;
                body(&Gpu {
                    context,
                    stream,
                    compiler: Compiler::new(),
                });
                Ok(())
            })),
            Err(reason) => self.skip(name, "no GPU", reason),
        }
        self
    }

    /// Adds a test that runs kernels and needs so much memory that it runs only on demand (`--ignored` and its name),
    /// one at a time.
    pub(crate) fn huge(mut self, name: &str, body: fn(&Gpu)) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let first_new = self.trials.len();
        self = self.gpu(name, move |gpu: &Gpu| {
            let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
            body(gpu);
        });
        if self.gpu.is_ok() {
            let huge = |trial: Trial| trial.with_kind("huge").with_ignored_flag(true);
            let added = self.trials.split_off(first_new).into_iter().map(huge);
            self.trials.extend(added);
        }
        self
    }

    /// Runs the tests, prints how many are skipped and why, and exits.
    pub(crate) fn run(self) -> ! {
        for (_, reason, count) in &self.skipped {
            eprintln!("skipped: {count} tests: {reason}");
        }
        libtest_mimic::run(&Arguments::from_args(), self.trials).exit()
    }

    fn skip(&mut self, name: &str, lacks: &'static str, reason: String) {
        match self.skipped.iter_mut().find(|(group, ..)| *group == lacks) {
            Some((_, _, count)) => *count += 1,
            None => self.skipped.push((lacks, reason.clone(), 1)),
        }
        // With `--ignored`, a skipped test fails and prints the reason.
        let trial = Trial::test(name, move || Err(reason.into()));
        self.trials
            .push(trial.with_kind(lacks).with_ignored_flag(true));
    }
}
