//! The GPUs that were asked to render, and which of them have failed.

/// A GPU that was asked to render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// The CUDA device number, as `--backend cuda:N` takes it.
    pub ordinal: usize,
    /// The name in the statistics, such as `NVIDIA H200 (cuda:1)`.
    pub name: String,
    /// Why the GPU no longer renders, in one line; `None` while it works.
    pub failure: Option<String>,
}

impl Gpu {
    /// Returns a working GPU with this device number and this driver name, such as `NVIDIA H200`.
    pub(super) fn new(ordinal: usize, driver_name: &str) -> Gpu {
        Gpu {
            ordinal,
            name: format!("{driver_name} (cuda:{ordinal})"),
            failure: None,
        }
    }

    /// Returns whether the GPU has not failed.
    pub fn works(&self) -> bool {
        self.failure.is_none()
    }
}
