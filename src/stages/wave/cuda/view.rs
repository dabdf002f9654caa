//! What a wave on a GPU shows: its camera, the lights that the camera sees, and its film.

use compaction::cuda::{clear, overwrite, upload, zeroed};

use super::CudaWave;
use crate::{Error, camera::Camera, device::render_scene::RenderScene, film::FilmSums};

impl CudaWave {
    /// Drops the copies of the film that previews estimate noise from.
    fn drop_film_snapshots(&mut self) {
        if let Some(denoiser) = &mut self.denoiser {
            denoiser.forget();
        }
    }

    /// Sets the camera, and clears the film, which gets the camera's size. Allows a new measurement of whether sorting
    /// hits pays, if the camera has changed.
    pub fn set_camera(&mut self, camera: Camera) -> Result<(), Error> {
        self.drop_film_snapshots();
        let channels = 3 * camera.pixel_count() as usize;
        if self.film.sums.len() != channels {
            self.film.sums = zeroed(&self.stream, channels)?;
            self.drop_graphs();
        }
        let schedule = &mut self.schedule;
        if let Some(size) = &mut schedule.size {
            size.begin_film(camera.pixel_count(), schedule.pace);
        }
        if camera != self.camera.host {
            schedule.sort_tuner.reset();
        }
        self.camera.host = camera;
        overwrite(&self.stream, &[camera], &mut self.camera.device)?;
        self.clear_film()
    }

    /// Sets the probabilities of lights to those of `scene`, which must otherwise be the scene of the wave. Drops the
    /// CUDA graphs if that changes any.
    pub(crate) fn set_lights(&mut self, scene: &RenderScene) -> Result<(), Error> {
        if self.scene.set_lights(&self.stream, scene)? {
            self.drop_graphs();
        }
        Ok(())
    }

    /// Replaces the film by a copy of `film`, and drops the CUDA graphs.
    pub(crate) fn set_film(&mut self, film: &FilmSums) -> Result<(), Error> {
        self.drop_film_snapshots();
        self.film.sums = upload(&self.stream, &film.sums)?;
        self.film.rejected = upload(&self.stream, &[film.rejected])?;
        self.drop_graphs();
        Ok(())
    }

    /// Sets the sums and the number of rejected samples of the film to 0. The sample counts of pixels stay.
    pub(crate) fn clear_film(&mut self) -> Result<(), Error> {
        clear(&self.stream, &mut self.film.sums)?;
        clear(&self.stream, &mut self.film.rejected)?;
        Ok(())
    }
}
