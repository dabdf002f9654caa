//! A render from start to end: the renderer, its statistics, parts of a film on disk, checkpoints and output files.
//!
//! Imports everything below it; nothing else in this crate imports it.

pub mod checkpoint;
pub mod memory_use;
pub mod oidn;
pub mod output;
pub mod part;
pub mod region;
pub mod renderer;
pub mod stats;
