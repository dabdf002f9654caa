//! A list of tests of which some need NVRTC or a GPU. Where there is none they count as ignored, with the reason.

use std::sync::{Arc, Mutex, PoisonError};

use compaction::{
    cuda::{self, Compiler, Nvrtc},
    cudarc::driver::{CudaContext, CudaStream},
};
use libtest_mimic::{Arguments, Trial};

/// Whether tests are to take few items and few calls, each case still of its kind: `COMPACTION_TESTS=short`, for tools
/// that watch every access.
#[allow(dead_code, reason = "not every test program has long tests")]
pub(crate) fn is_short() -> bool {
    std::env::var("COMPACTION_TESTS").is_ok_and(|wish| wish == "short")
}

/// This many times, or in short tests a hundredth of them.
#[allow(dead_code, reason = "not every test program has long tests")]
pub(crate) fn times(calls: usize) -> usize {
    if is_short() {
        calls.div_ceil(100)
    } else {
        calls
    }
}

/// These lengths, or in short tests those of at most 40,000 items.
#[allow(dead_code, reason = "not every test program has long tests")]
pub(crate) fn lengths(of: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let most = if is_short() { 40_000 } else { usize::MAX };
    of.into_iter().filter(|&len| len <= most).collect()
}

/// What a GPU test gets: the first GPU, a stream of its own, and the compiler.
#[allow(dead_code, reason = "not every test program runs kernels")]
pub(crate) struct Gpu {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) compiler: Compiler,
}

/// The tests of a program with `harness = false`.
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

    /// A test that runs everywhere.
    pub(crate) fn test(mut self, name: &str, body: fn()) -> Self {
        self.trials.push(Trial::test(name, move || {
            body();
            Ok(())
        }));
        self
    }

    /// A test that compiles.
    pub(crate) fn nvrtc(self, name: &str, body: fn(&Arc<Nvrtc>)) -> Self {
        let nvrtc = self.nvrtc.clone();
        self.needs("no NVRTC", nvrtc, name, body)
    }

    /// A test that needs what not every machine has.
    pub(crate) fn needs<T: Send + 'static>(
        mut self,
        lacks: &'static str,
        found: Result<T, String>,
        name: &str,
        body: fn(&T),
    ) -> Self {
        match found {
            Ok(tool) => self.trials.push(Trial::test(name, move || {
                body(&tool);
                Ok(())
            })),
            Err(reason) => self.skip(name, lacks, reason),
        }
        self
    }

    /// A test that runs kernels.
    pub(crate) fn gpu(self, name: &str, body: fn(&Gpu)) -> Self {
        self.gpu_with(name, body)
    }

    fn gpu_with(mut self, name: &str, body: impl Fn(&Gpu) + Send + 'static) -> Self {
        match self.gpu.clone() {
            Ok(context) => self.trials.push(Trial::test(name, move || {
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

    /// A test that runs kernels, and takes so much memory that it runs on demand only, `--ignored` and its name, and one
    /// at a time.
    pub(crate) fn huge(mut self, name: &str, body: fn(&Gpu)) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let known = self.trials.len();
        self = self.gpu_with(name, move |gpu| {
            let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
            body(gpu);
        });
        if self.gpu.is_ok() {
            let huge = |trial: Trial| trial.with_kind("huge").with_ignored_flag(true);
            let added = self.trials.split_off(known).into_iter().map(huge);
            self.trials.extend(added);
        }
        self
    }

    /// Runs them, says what is skipped and why, and ends the program.
    pub(crate) fn run(self) -> ! {
        for (_, reason, count) in &self.skipped {
            eprintln!("skipped: {count} tests: {reason}");
        }
        libtest_mimic::run(&Arguments::from_args(), self.trials).exit()
    }

    fn skip(&mut self, name: &str, lacks: &'static str, reason: String) {
        match self.skipped.iter_mut().find(|(known, ..)| *known == lacks) {
            Some((_, _, count)) => *count += 1,
            None => self.skipped.push((lacks, reason.clone(), 1)),
        }
        // Asked for by `--ignored`, it fails and says why.
        let trial = Trial::test(name, move || Err(reason.into()));
        self.trials
            .push(trial.with_kind(lacks).with_ignored_flag(true));
    }
}
