//! Where and how a scene is rendered.

use std::{
    fmt::{self, Display, Formatter},
    str::FromStr,
    time::Duration,
};

use super::roster::Gpu;
use crate::wave::{Partition, patience};
use compaction::select::Strategy;

/// Where a scene is rendered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The first usable GPU, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU of this number.
    Cuda(usize),
    /// The GPUs of these numbers, side by side.
    SomeCuda(Vec<usize>),
    /// All GPUs, side by side.
    AllCuda,
}

impl BackendChoice {
    /// Whether each GPU that it names is named once, and any at all.
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

    /// `auto`, `cpu`, `cuda`, `cuda:1`, `cuda:0,2`, `cuda:all`.
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

/// How a scene is rendered; none of it changes the picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Where.
    pub backend: BackendChoice,
    /// How the queue is sieved.
    pub strategy: Strategy,
    /// Whether hits are ordered by the kind of material before they are shaded.
    pub partition: Partition,
    /// Paths in flight: per thread on the CPU, in all on a GPU. By memory and time if not given.
    pub wave_size: Option<u32>,
    /// Threads on the CPU. As many as it runs at once if not given.
    pub threads: Option<usize>,
    /// How often several GPUs bring what they have to safety: so much is lost at most when one fails, and rendered again by
    /// the others. Every two seconds if not given, less often where a film takes long to cross.
    pub keep_every: Option<Duration>,
    /// How long a GPU may take for a wave at the least before it counts as hung; it gets many times what waves of its size
    /// took if that is more. It also gets so much for each step in which it is opened. 30 seconds if not given.
    pub patience: Option<Duration>,
    /// What an earlier process of the same render knew of its GPUs: [`Renderer::gpus`](crate::renderer::Renderer::gpus).
    /// Those that failed there are left out, and the others keep their names, whatever their numbers are now. Empty for a
    /// render that begins.
    pub gpus: Vec<Gpu>,
}

impl Settings {
    /// What any wave of a GPU gets.
    pub(super) fn patience(&self) -> Duration {
        self.patience.unwrap_or(patience::LEAST)
    }
}
