//! The extension module `raysieve._raysieve`, which the package `python/raysieve` wraps: scenes and renderers.
//!
//! Arrays cross the boundary as `bytes` and `bytearray` of native `f32`, `i32`, `u32` and `u8`. The package turns them
//! into NumPy arrays, so that this module needs neither NumPy nor its C interface. Numbers are checked here, however
//! they arrive: a value out of range is a `ValueError`, and no panic leaves the module.

mod editing;
mod film;
mod renderer;
mod scene;

use std::str::FromStr;

use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
    types::PyByteArray,
};
use raysieve::{film::picture::tone::Tone, scene::Error as SceneError};

/// Scenes and renderers of Raysieve.
#[pymodule]
mod _raysieve {
    #[pymodule_export]
    use crate::{RaysieveError, devices, film::Film, renderer::Renderer, scene::Scene, version};
}

pyo3::create_exception!(
    raysieve,
    RaysieveError,
    PyRuntimeError,
    "An error of loading, rendering or writing. Its text is one line: the object, the cause and the remedy."
);

/// Returns the version of the module.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Returns a description of the CPU and of each GPU, as the program lists them.
#[pyfunction]
fn devices(py: Python<'_>) -> Vec<String> {
    let list = py.detach(raysieve::devices::list);
    list.lines().map(str::to_owned).collect()
}

/// Converts an error of the renderer into a `ValueError` for a wrong value in memory, and into a `RaysieveError`
/// otherwise. The text is one line.
fn exception(error: impl Into<raysieve::Error>) -> PyErr {
    let error = error.into();
    let text = raysieve::scene::escaped(&error.to_string());
    match error {
        raysieve::Error::Scene(SceneError::Invalid { .. } | SceneError::Setting { .. })
        | raysieve::Error::Setting { .. } => PyValueError::new_err(text),
        _ => RaysieveError::new_err(text),
    }
}

/// Runs work of the renderer without the interpreter's lock, so that other Python threads continue.
fn without_lock<T: Send, E: Into<raysieve::Error> + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    py.detach(work).map_err(exception)
}

/// Parses the value of an argument. Fails with a `ValueError` that names the argument and the value.
fn parse<T: FromStr<Err: ToString>>(argument: &str, value: &str) -> PyResult<T> {
    let wrong = |error: T::Err| {
        PyValueError::new_err(format!("{argument} {value:?}: {}", error.to_string()))
    };
    value.parse().map_err(wrong)
}

/// Returns the tone curve with this name. Fails with a `ValueError` that lists all names if there is none.
fn tone_named(name: &str) -> PyResult<Tone> {
    let named = Tone::ALL.into_iter().find(|tone| tone.name() == name);
    named.ok_or_else(|| {
        let names = Tone::ALL.map(Tone::name).join(", ");
        PyValueError::new_err(format!("tone {name:?}: expected one of {names}"))
    })
}

/// Returns the bytes of numbers, each in the byte order of the machine.
fn floats<'py>(py: Python<'py>, values: impl Iterator<Item = f32>) -> Bound<'py, PyByteArray> {
    let bytes: Vec<u8> = values.flat_map(f32::to_ne_bytes).collect();
    PyByteArray::new(py, &bytes)
}

/// Returns the numbers of an array in groups of `N`. Bytes after the last complete group are ignored.
fn groups<T: Copy, const N: usize>(bytes: &[u8], number: fn([u8; 4]) -> T) -> Vec<[T; N]> {
    let numbers: Vec<T> = bytes
        .as_chunks()
        .0
        .iter()
        .map(|&bytes| number(bytes))
        .collect();
    numbers.as_chunks().0.to_vec()
}
