//! CUB's calls, compiled by `nvcc` into libraries of functions of one form; see `docs/peers/cub/peer.cuh`.

use std::{ffi::c_void, fs, path::Path, process::Command, sync::Arc};

use compaction::{
    cuda,
    cudarc::driver::{CudaSlice, CudaStream, DevicePtr, sys::CUstream},
};
use libloading::Library;

use crate::Result;

/// The form of all functions of a peer: scratch memory, its size, the addresses of the buffers, number of items, stream.
type Function = unsafe extern "C" fn(*mut c_void, &mut usize, *const u64, u64, CUstream) -> i32;

/// A library of CUB's calls.
pub(crate) struct Peer {
    library: Library,
}

impl Peer {
    /// Opens the library of `<sources>/<name>.cu`, compiling it first if its source is newer. Returns `None` if CUB has
    /// no calls of this name.
    pub(crate) fn open(name: &str, sources: &Path, compiled: &Path) -> Result<Option<Self>> {
        if !sources.exists() {
            return Err(format!(
                "there is no {}: run from the repository's root",
                sources.display()
            )
            .into());
        }
        let source = sources.join(name).with_extension("cu");
        if !source.exists() {
            return Ok(None);
        }
        let library = compiled.join(name).with_extension("so");
        let modified = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        if modified(&library)
            .is_none_or(|time| modified(&source).is_some_and(|source| source > time))
        {
            compile(&source, &library)?;
        }
        let path = fs::canonicalize(&library)?;
        // SAFETY: the library was compiled from the functions of this repository, and runs nothing when it is loaded.
        let library = unsafe { Library::new(path)? };
        Ok(Some(Self { library }))
    }

    /// Prepares calls of a function over `count` items; `buffers` has one list of addresses per set of buffers.
    pub(crate) fn call(
        &self,
        function: &str,
        stream: &Arc<CudaStream>,
        buffers: Vec<Vec<u64>>,
        count: u64,
    ) -> Result<PeerCall> {
        // SAFETY: all functions of the libraries have this form.
        let function = unsafe { *self.library.get::<Function>(function.as_bytes())? };
        let mut bytes = 0;
        // SAFETY: without scratch memory, the function only writes the size that it needs.
        let status = unsafe {
            function(
                std::ptr::null_mut(),
                &mut bytes,
                buffers[0].as_ptr(),
                count,
                stream.cu_stream(),
            )
        };
        check(status)?;
        Ok(PeerCall {
            function,
            scratch: cuda::zeroed(stream, bytes.max(1))?,
            stream: stream.clone(),
            buffers,
            count,
        })
    }
}

/// A call of CUB on sets of buffers. Its library is loaded as long as the bench lives.
pub(crate) struct PeerCall {
    function: Function,
    scratch: CudaSlice<u8>,
    stream: Arc<CudaStream>,
    buffers: Vec<Vec<u64>>,
    count: u64,
}

impl PeerCall {
    /// Enqueues the call on a set of buffers.
    pub(crate) fn enqueue(&self, set: usize) -> Result<()> {
        let (scratch, _guard) = self.scratch.device_ptr(&self.stream);
        let mut bytes = self.scratch.len();
        // SAFETY: the addresses are those of the row's buffers, which live as long as the call and have the sizes and
        // types that the function expects; the scratch memory has the size that it asked for.
        let status = unsafe {
            (self.function)(
                scratch as *mut c_void,
                &mut bytes,
                self.buffers[set].as_ptr(),
                self.count,
                self.stream.cu_stream(),
            )
        };
        check(status)
    }
}

fn check(status: i32) -> Result<()> {
    match status {
        0 => Ok(()),
        code => Err(format!("CUB: error {code} of the CUDA runtime").into()),
    }
}

fn compile(source: &Path, library: &Path) -> Result<()> {
    if let Some(folder) = library.parent() {
        fs::create_dir_all(folder)?;
    }
    let output = Command::new("nvcc")
        .args([
            "-O3",
            "-std=c++17",
            "-arch=native",
            "-shared",
            "-Xcompiler",
            "-fPIC",
            "-o",
        ])
        .args([library, source])
        .output()
        .map_err(|error| format!("nvcc does not run: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text
            .lines()
            .find(|line| line.contains("error"))
            .unwrap_or("it failed");
        return Err(format!("nvcc does not compile {}: {line}", source.display()).into());
    }
    Ok(())
}
