//! Tests of the renderer as a library: scenes that programs build and change.

#[path = "../common/mod.rs"]
mod common;
mod building;
mod wrong_scenes;
