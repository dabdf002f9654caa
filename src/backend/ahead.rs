//! Opens GPUs while the scene is still being read.

use std::{sync::mpsc, thread};

use compaction::cuda::{devices, open};

use super::BackendChoice;

/// GPUs that stay open until this value is dropped.
///
/// A [`Renderer`](crate::render::renderer::Renderer) that is created in the meantime need not wait for the driver.
///
/// ```no_run
/// use raysieve::{render::renderer::{Ahead, BackendChoice, Renderer, Settings}, scene::Scene};
///
/// let settings = Settings { backend: BackendChoice::AllCuda, ..Settings::default() };
/// let ahead = Ahead::open(&settings.backend);
/// let scene = Scene::load("scenes/mesh.ron".as_ref())?;
/// let renderer = Renderer::new(&scene, &settings)?;
/// drop(ahead);
/// # Ok::<(), raysieve::Error>(())
/// ```
#[derive(Debug)]
pub struct Ahead(#[expect(dead_code, reason = "it is there to be dropped")] mpsc::Sender<()>);

impl Ahead {
    /// Opens the GPUs of a choice on another thread without waiting for it. The renderer reports those that cannot be
    /// opened.
    pub fn open(choice: &BackendChoice) -> Ahead {
        let (sender, dropped) = mpsc::channel();
        if *choice == BackendChoice::Cpu {
            return Ahead(sender);
        }
        let choice = choice.clone();
        // Nothing joins this thread, because a call to the driver may never return from a broken GPU. If it cannot be
        // started, the renderer opens the GPUs itself.
        let _ = thread::Builder::new().spawn(move || {
            let all = || devices().unwrap_or_default().into_iter();
            let all = || all().map(|device| device.ordinal);
            let ordinals: Vec<usize> = match choice {
                BackendChoice::Cpu => Vec::new(),
                BackendChoice::Cuda(ordinal) => vec![ordinal],
                BackendChoice::SomeCuda(ordinals) => ordinals,
                BackendChoice::Auto => all().take(1).collect(),
                BackendChoice::AllCuda => all().collect(),
            };
            let opened: Vec<_> = ordinals.into_iter().map(open).collect();
            // Returns an error once the `Ahead` has been dropped.
            let _ = dropped.recv();
            drop(opened);
        });
        Ahead(sender)
    }
}
