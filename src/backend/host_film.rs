//! The film in host memory, which all waves on the CPU share. It is changed and taken without a copy.

use std::{mem, sync::Arc};

use super::{Backend, Engine, Waves, lock};
use crate::{
    Error,
    film::{Film, FilmSums},
    stages::wave::Wave,
};

impl Backend {
    /// Returns the film, without a copy if it is in host memory. The backend must not be used after this.
    ///
    /// # Errors
    /// Errors of a GPU, or [`Error::FilmInUse`].
    pub(crate) fn take_film_sums(&mut self) -> Result<FilmSums, Error> {
        if let Engine::Waves(waves) = &mut *self.engine
            && let Some(film) = waves.take_film()?
        {
            return Ok(film.into_sums());
        }
        self.film_sums()
    }
}

impl Waves {
    /// Returns width and height of the film in pixels.
    pub(super) fn size(&self) -> (u32, u32) {
        match &*lock(&self.waves[0]) {
            Wave::Cpu(cpu) => cpu.camera.size(),
            Wave::Cuda(cuda) => cuda.camera.host.size(),
        }
    }

    /// Waits for all running waves, discards their counts, changes the film in host memory by `change`, and sets it on
    /// each wave by `set`. On a GPU, whose film is in its own memory, the film in host memory has no pixels.
    ///
    /// # Errors
    /// The error of `change` or [`Error::FilmInUse`], after which the waves keep their film. Also errors of the waves
    /// and of `set`.
    pub(super) fn begin_again(
        &mut self,
        change: impl FnOnce(&mut Film) -> Result<(), Error>,
        set: impl Fn(&mut Wave, &Arc<Film>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.finish_waves()?;
        self.finished.clear();
        let Some(mut film) = self.take_film()? else {
            return self.each(|wave| set(wave, &Arc::default()));
        };
        let changed = change(&mut film);
        let film = Arc::new(film);
        match changed {
            Ok(()) => self.each(|wave| set(wave, &film)),
            Err(error) => {
                self.return_film(&film);
                Err(error)
            }
        }
    }

    /// Takes the film from all waves on the CPU and leaves them one without pixels. `None` on a GPU.
    ///
    /// # Errors
    /// [`Error::FilmInUse`] if something besides the waves holds the film. The waves then keep it.
    fn take_film(&mut self) -> Result<Option<Film>, Error> {
        let waves = self.waves.iter().map(lock);
        let films = waves.filter_map(|mut wave| match &mut *wave {
            Wave::Cpu(cpu) => Some(mem::take(&mut cpu.film)),
            Wave::Cuda(_) => None,
        });
        let Some(film) = films.last() else {
            return Ok(None);
        };
        Arc::try_unwrap(film).map(Some).map_err(|film| {
            self.return_film(&film);
            Error::FilmInUse
        })
    }

    /// Gives a film that was taken back to all waves on the CPU.
    fn return_film(&mut self, film: &Arc<Film>) {
        for wave in &self.waves {
            if let Wave::Cpu(cpu) = &mut *lock(wave) {
                cpu.film = film.clone();
            }
        }
    }
}
