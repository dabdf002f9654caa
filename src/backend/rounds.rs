//! Pixels that get samples until they are good.

use std::sync::Arc;

use super::{Backend, Engine, Waves, lock};
use crate::{
    Error,
    history::Round,
    ledger::Ledger,
    rounds::Rounds,
    stages::{Verdict, judge},
    wave::Wave,
};

impl Backend {
    /// Gives samples to the pixels on this list until they are good, on the film as it is, from where `rounds` are; `ledger`
    /// is what is known of all pixels, nothing if it is not given.
    pub(crate) fn begin_rounds(
        &mut self,
        rounds: &Rounds,
        list: &[u32],
        ledger: Option<&Ledger>,
    ) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.begin_rounds(list, ledger),
            Engine::Gpus(gpus) => gpus.begin_rounds(rounds, list, ledger),
        }
    }

    /// Gives all samples to every pixel again.
    pub(crate) fn end_rounds(&mut self) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.each(Wave::end_rounds),
            Engine::Gpus(gpus) => gpus.end_rounds(),
        }
    }

    /// Judges the first `listed` pixels of the list, which had this round, and keeps those on it that need more.
    pub(crate) fn judge(&mut self, round: &Round, listed: u32) -> Result<Verdict, Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.judge(round, listed),
            Engine::Gpus(gpus) => gpus.judge(round),
        }
    }

    /// How many samples each pixel has, if they get samples until they are good.
    pub(crate) fn taken(&mut self) -> Result<Vec<u32>, Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => lock(&waves.waves[0]).taken(),
            Engine::Gpus(gpus) => Ok(gpus.taken().unwrap_or_default()),
        }
    }

    /// What is known of all pixels, if they get samples until they are good.
    pub(crate) fn ledger(&mut self) -> Result<Option<Ledger>, Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => lock(&waves.waves[0]).ledger(),
            Engine::Gpus(gpus) => Ok(gpus.ledger()),
        }
    }
}

impl Waves {
    fn begin_rounds(&mut self, list: &[u32], ledger: Option<&Ledger>) -> Result<(), Error> {
        let list: Arc<[u32]> = list.into();
        lock(&self.waves[0]).begin_rounds(&list, ledger)?;
        self.share_list(&list);
        Ok(())
    }

    /// The first wave judges, for all of them.
    fn judge(&mut self, round: &Round, listed: u32) -> Result<Verdict, Error> {
        let judged = self
            .pool
            .install(|| judge(&mut lock(&self.waves[0]), round, listed))?;
        let list = match &*lock(&self.waves[0]) {
            Wave::Cpu(cpu) => cpu.list.clone(),
            Wave::Cuda(_) => return Ok(judged),
        };
        self.share_list(&list);
        Ok(judged)
    }

    /// With the waves that do not judge.
    fn share_list(&self, list: &Arc<[u32]>) {
        for wave in &self.waves[1..] {
            if let Wave::Cpu(cpu) = &mut *lock(wave) {
                cpu.list = list.clone();
            }
        }
    }
}
