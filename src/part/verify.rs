//! Whether a picture's bits are those that a render of its samples gives.

use rayon::prelude::*;

use super::{Found, Part, bits};
use crate::{
    Error, backend::Pixels, film::Exposed, history::History, ledger::Ledger, renderer::Renderer,
    stages::gather,
};

/// How much of a picture is rendered again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portion {
    /// Every pixel.
    Whole,
    /// Some pixels, by chance: one out of each of as many stretches of the rows, at least one.
    Some {
        /// How many; no more than there are.
        pixels: u32,
        /// Another number, other pixels.
        pick: u32,
    },
}

/// Pixels that are not what they should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// How many.
    pub count: usize,
    /// Column of the first, from the left.
    pub x: u32,
    /// Its row, from the top.
    pub y: u32,
    /// What it should be: red, green and blue as shown, or on the film where they show the same.
    pub expected: String,
    /// What it is.
    pub found: String,
}

impl Found {
    /// Renders the picture's samples again, and compares; `None` if no pixel differs. Tells the part that is done, 0..=1.
    ///
    /// # Errors
    /// [`Error::Setting`] if the renderer has another scene or other settings than the picture.
    pub fn verify(
        &self,
        renderer: &mut Renderer,
        portion: Portion,
        mut progress: impl FnMut(f64),
    ) -> Result<Option<Difference>, Error> {
        let identity = &self.claim.identity;
        let refused = |problem: String| Error::Setting {
            setting: "verify".to_owned(),
            problem,
        };
        // Another version is no reason not to try, and what is good enough the picture says.
        let own = super::Identity {
            software: identity.software.clone(),
            goal: identity.goal,
            ..renderer.identity()
        };
        if let Some(difference) = own.difference(identity) {
            return Err(refused(format!("the renderer {difference} as the picture")));
        }
        let all = identity.pixel_count();
        let pixels = match portion {
            Portion::Whole => Pixels::all(identity.size),
            Portion::Some { pixels, pick } => {
                let count = pixels.clamp(1, all);
                Pixels {
                    count,
                    skipped: all - count,
                    pick,
                }
            }
        };
        let mut exposed = Exposed {
            sums: vec![0; 3 * all as usize],
            rejected: 0,
        };
        let pixels_again: Vec<u32> = pixels.list().collect();
        if let Some(ledger) = &self.ledger {
            renderer.set_rounds(&self.claim, ledger, pixels)?;
            while renderer.advance()? {
                progress(renderer.progress());
            }
            let expected = Part {
                claim: self.claim.clone(),
                exposed: renderer.exposed()?,
                ledger: renderer.ledger()?,
            };
            return Ok(self.difference(&expected, &pixels_again));
        }
        let (total, mut before) = (self.claim.samples.len() as f64, 0.0);
        for stretch in self.claim.samples.each() {
            renderer.set_pixels(&stretch, pixels)?;
            let share = stretch.len() as f64 / total;
            while renderer.advance()? {
                progress(before + share * renderer.progress());
            }
            before += share;
            let more = renderer.exposed()?;
            gather(&mut exposed, &more);
        }
        let expected = Part {
            claim: self.claim.clone(),
            exposed,
            ledger: None,
        };
        Ok(self.difference(&expected, &pixels_again))
    }

    fn difference(&self, expected: &Part, pixels: &[u32]) -> Option<Difference> {
        let sums = |exposed: &Exposed, pixel: u32| exposed.sums.as_chunks::<3>().0[pixel as usize];
        let shown = |pixel: u32| self.picture.pixels[pixel as usize].to_array();
        // Of a pixel that gets samples until it is good: how many, and why.
        let known = |ledger: &Option<Ledger>, pixel: u32| {
            let ledger = ledger.as_ref()?;
            let pixel = pixel as usize;
            Some((ledger.taken[pixel], ledger.histories[pixel]))
        };
        let looks_right = |pixel: u32| bits(shown(pixel)) == bits(expected.pixel(pixel));
        let differs = |pixel: &&u32| {
            let pixel = **pixel;
            sums(&self.exposed, pixel) != sums(&expected.exposed, pixel)
                || known(&self.ledger, pixel) != known(&expected.ledger, pixel)
                || !looks_right(pixel)
        };
        let &first = pixels.par_iter().find_first(differs)?;
        let (should_know, knows) = (known(&expected.ledger, first), known(&self.ledger, first));
        let (expected, found) = if let (Some(should_know), Some(knows)) = (should_know, knows)
            && should_know != knows
        {
            let text = |(taken, history): (u32, History)| {
                format!(
                    "{taken} samples, of an estimated error of {}",
                    history.error
                )
            };
            (text(should_know), text(knows))
        } else if looks_right(first) {
            let text = |[red, green, blue]: [u64; 3]| format!("{red} {green} {blue} on the film");
            (
                text(sums(&expected.exposed, first)),
                text(sums(&self.exposed, first)),
            )
        } else {
            let text = |[red, green, blue]: [f32; 3]| format!("{red} {green} {blue}");
            (text(expected.pixel(first)), text(shown(first)))
        };
        let width = self.claim.identity.size.0;
        Some(Difference {
            count: pixels.par_iter().filter(differs).count(),
            x: first % width,
            y: first / width,
            expected,
            found,
        })
    }
}
