//! Observers of the one loop: the record of one path, debug views in false colors, and AOVs.
//!
//! They run the stages of the loop again, on the CPU, for the samples that they observe; the film is not changed.
//! Imports `stages`, `wave` and what these import, but neither `backend` nor `render`.

pub mod aovs;
pub mod debug_view;
pub(crate) mod empty_view;
pub mod path_record;
pub mod surface_map;
