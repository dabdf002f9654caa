//! The settings of a render that do not change its film: backend, strategy, wave size and timeouts.

use std::{
    fmt::{self, Display, Formatter},
    str::FromStr,
    time::Duration,
};

use super::CPU_WAVE;
use crate::stages::wave::{CpuWave, SortHits, timeout};
use compaction::select::Strategy;

/// The devices to render on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The first GPU of the machine, or the CPU if that GPU cannot be used. Other GPUs are not tried.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU with this device number.
    Cuda(usize),
    /// Several GPUs, by their device numbers, at the same time.
    SomeCuda(Vec<usize>),
    /// All GPUs of the machine at the same time. Those that cannot be opened are left out.
    AllCuda,
}

impl BackendChoice {
    /// Checks that at least one GPU is named, and none twice.
    pub(super) fn check(&self) -> Result<(), String> {
        let BackendChoice::SomeCuda(numbers) = self else {
            return Ok(());
        };
        let twice = |place: &usize| numbers[..*place].contains(&numbers[*place]);
        match (0..numbers.len()).find(twice) {
            _ if numbers.is_empty() => Err("no GPU is named; name one, such as cuda:0".to_owned()),
            Some(place) => Err(format!(
                "GPU {} is named twice; name each once",
                numbers[place]
            )),
            None => Ok(()),
        }
    }
}

impl FromStr for BackendChoice {
    type Err = String;

    /// Parses `auto`, `cpu`, `cuda`, `cuda:1`, `cuda:0,2` or `cuda:all`.
    fn from_str(text: &str) -> Result<BackendChoice, String> {
        let choice = match text.split_once(':') {
            None if text == "auto" => BackendChoice::Auto,
            None if text == "cpu" => BackendChoice::Cpu,
            None if text == "cuda" => BackendChoice::Cuda(0),
            Some(("cuda", "all")) => BackendChoice::AllCuda,
            Some(("cuda", numbers)) => {
                let numbers: Result<Vec<usize>, _> = numbers.split(',').map(str::parse).collect();
                match numbers.as_deref() {
                    Ok([number]) => BackendChoice::Cuda(*number),
                    Ok(numbers) => BackendChoice::SomeCuda(numbers.to_vec()),
                    Err(_) => {
                        return Err(
                            "numbers of GPUs, or all, are expected after \"cuda:\", such as \
                             cuda:0, cuda:0,2 or cuda:all"
                                .to_owned(),
                        );
                    }
                }
            }
            _ => return Err("known are auto, cpu, cuda, cuda:N, cuda:N,N and cuda:all".to_owned()),
        };
        choice.check().map(|()| choice)
    }
}

impl Display for BackendChoice {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            BackendChoice::Auto => formatter.write_str("auto"),
            BackendChoice::Cpu => formatter.write_str("cpu"),
            BackendChoice::Cuda(number) => write!(formatter, "cuda:{number}"),
            BackendChoice::SomeCuda(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
                write!(formatter, "cuda:{}", numbers.join(","))
            }
            BackendChoice::AllCuda => formatter.write_str("cuda:all"),
        }
    }
}

/// Backend, strategy and limits of a render. No setting changes the film.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The devices to render on.
    pub backend: BackendChoice,
    /// The strategy of stream compaction.
    pub strategy: Strategy,
    /// Whether hits are sorted by material kind before they are shaded.
    pub sort_hits: SortHits,
    /// Number of paths in flight: per thread on the CPU, in total on a GPU. `None` chooses it by memory and measured
    /// time.
    pub wave_size: Option<u32>,
    /// Number of CPU threads. `None` takes as many as rayon's pool has, by default those that the machine runs at once.
    pub threads: Option<usize>,
    /// Minimum time between two copies of the film from GPUs to host memory. A render continues from the last copy if
    /// all GPUs fail. If one of several fails, the others repeat at most the pairs assigned since that copy.
    ///
    /// `None` is two seconds on several GPUs and ten on one, or longer if a copy takes long. A render of a region on a
    /// single GPU is not copied.
    pub keep_every: Option<Duration>,
    /// Minimum time that a GPU gets for a wave, or for a step in which it is opened, before it counts as hung. A wave
    /// gets a multiple of what such waves took if that is more. `None` is 30 seconds.
    pub timeout: Option<Duration>,
}

impl Settings {
    /// Returns the number of threads that render on the CPU.
    pub fn cpu_threads(&self) -> usize {
        let threads = self.threads.filter(|&threads| threads > 0);
        threads.unwrap_or_else(rayon::current_num_threads)
    }

    /// Returns the memory in bytes of the paths of each thread that renders on the CPU.
    pub fn bytes_per_cpu_thread(&self) -> u64 {
        u64::from(self.wave_size.unwrap_or(CPU_WAVE)) * CpuWave::BYTES_PER_PATH as u64
    }

    /// Returns the minimum timeout of a wave, and the timeout of a step in which a GPU is opened.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(timeout::MIN)
    }
}
