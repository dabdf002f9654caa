//! The extension module `raysieve._raysieve`, which the package `python/raysieve` wraps: scenes and renderers.
//!
//! Arrays cross the boundary as `bytes` and `bytearray` of native `f32`, `u32` and `u8`. The package turns them
//! into NumPy arrays, so that this module needs neither NumPy nor its C interface.

mod renderer;
mod scene;

use pyo3::{exceptions::PyRuntimeError, prelude::*};

/// Scenes and renderers of Raysieve.
#[pymodule]
mod _raysieve {
    #[pymodule_export]
    use crate::{RaysieveError, renderer::Renderer, scene::Scene};
}

pyo3::create_exception!(
    raysieve,
    RaysieveError,
    PyRuntimeError,
    "An error of loading, rendering or writing. Its text is one line: the object, the cause and the remedy."
);

/// Converts an error of the renderer into a `RaysieveError` whose text is one line.
fn exception(error: impl Into<raysieve::Error>) -> PyErr {
    RaysieveError::new_err(raysieve::scene::escaped(&error.into().to_string()))
}

/// Runs work of the renderer without the interpreter's lock, so that other Python threads continue. An error becomes a
/// `RaysieveError`.
fn without_lock<T: Send, E: Into<raysieve::Error> + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    py.detach(work).map_err(exception)
}
