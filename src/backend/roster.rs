//! Which GPUs there are, which of them are left out, and why: because they have failed, or on suspicion.
//!
//! A kernel that crashes takes all GPUs of its process along, and the driver does not tell which of them it was: its manual
//! says of such errors that "any further CUDA work will return the same error", and driver 580 answers
//! `CUDA_ERROR_LAUNCH_FAILED` on every GPU, within milliseconds, in any order. (What tells is the system's log, and NVML's
//! events of critical errors, where a process may read them.) So of those that fell together the first to say so is a
//! suspect, and no more. It is left out, and the others go on; if they fall as well, so is the next one. Only the last, which
//! fell alone, has failed beyond doubt. Then whoever was suspected may well be innocent, and is taken back.
//!
//! So a render comes to its end if any of its GPUs can bring it there, whoever says what first; and it begins again no more
//! than n (n + 1) / 2 times on n GPUs, each time with other ones: until one is known for certain to have failed they only get
//! fewer, and that one is never taken back.

use serde::{Deserialize, Serialize};

/// A GPU that renders, or did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// As statistics name it: `NVIDIA H200 (cuda:1)`.
    pub name: String,
    /// What it is known by in any process: see [`DeviceInfo::uuid`](compaction::cuda::DeviceInfo::uuid).
    pub uuid: String,
    /// Why it is left out, if it is: what it said.
    pub failure: Option<String>,
    /// Whether it is left out on suspicion alone, since it fell with others.
    pub is_suspect: bool,
}

impl Gpu {
    /// The number in its name, by which `--backend` asks for it.
    pub fn number(&self) -> &str {
        let number = self.name.rsplit_once(NUMBER_BEGINS);
        number.map_or("", |(_, number)| number.trim_end_matches(NUMBER_ENDS))
    }

    /// Leaves out the one of this name, which has failed by itself, and takes back those that were only suspected.
    pub fn leave_out(gpus: &mut [Gpu], name: &str, problem: &str) {
        for suspect in gpus.iter_mut().filter(|gpu| gpu.is_suspect) {
            (suspect.is_suspect, suspect.failure) = (false, None);
        }
        Gpu::lose(gpus, name, problem);
    }

    /// Leaves out the one of this name, without which the others go on.
    pub(crate) fn lose(gpus: &mut [Gpu], name: &str, problem: &str) {
        if let Some(failed) = gpus.iter_mut().find(|gpu| gpu.name == name) {
            failed.failure = Some(problem.to_owned());
        }
    }

    /// Leaves out one of those that fell together, by their names and with what each said, the first to say it first.
    pub(crate) fn fall(gpus: &mut [Gpu], fallen: &[(&str, String)]) {
        let [(first, problem), others @ ..] = fallen else {
            return;
        };
        if others.is_empty() {
            return Gpu::leave_out(gpus, first, problem);
        }
        for gpu in gpus {
            if gpu.name == *first {
                (gpu.is_suspect, gpu.failure) = (true, Some(problem.clone()));
            } else if others.iter().any(|(other, _)| gpu.name == *other) {
                gpu.failure = None;
            }
        }
    }

    /// The name of the device of this kind and number.
    pub(super) fn name(kind: &str, ordinal: usize) -> String {
        format!("{kind}{NUMBER_BEGINS}{ordinal}{NUMBER_ENDS}")
    }
}

const NUMBER_BEGINS: &str = " (cuda:";
const NUMBER_ENDS: char = ')';
