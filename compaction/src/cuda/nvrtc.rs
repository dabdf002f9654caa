//! Bindings to NVRTC, CUDA's run-time compiler, loaded from the library found on this machine.

use std::{
    env,
    ffi::{CStr, CString, c_char, c_int, c_void},
    path::{Path, PathBuf},
    ptr,
};

use libloading::Library;

use super::{
    device,
    image::{Image, OPTIONS, Target},
    search,
    source::Source,
};
use crate::error::{Error, Result};

type Status = c_int;
type Program = *mut c_void;

/// A loaded NVRTC library, version 11.2 or newer.
///
/// ```
/// use compaction::cuda::Nvrtc;
///
/// match Nvrtc::find() {
///     Ok(nvrtc) => println!("{nvrtc:?}"), // NVRTC 12.2 (/usr/local/cuda/lib64/libnvrtc.so.12)
///     Err(reason) => println!("{reason}"),
/// }
/// ```
pub struct Nvrtc {
    path: PathBuf,
    version: (i32, i32),
    /// Compute capabilities times 10 (90 for 9.0) for which this NVRTC makes machine code, ascending.
    capabilities: Vec<u32>,
    functions: Functions,
    // Declared last, so that the library is unloaded after the pointers into it.
    _library: Library,
}

macro_rules! functions {
    ($($(#[$meta:meta])* $field:ident = $symbol:ident($($argument:ty),*) $(-> $result:ty)?;)+) => {
        /// Pointers to the NVRTC functions in use, loaded from the library by name, with the signatures of `nvrtc.h`.
        struct Functions { $($(#[$meta])* $field: unsafe extern "C" fn($($argument),*) -> functions!(@ $($result)?)),+ }

        impl Functions {
            fn of(library: &Library) -> std::result::Result<Self, libloading::Error> {
                // SAFETY: the names and types are those of `nvrtc.h`, unchanged since version 11.2.
                unsafe { Ok(Self { $($field: *library.get(concat!(stringify!($symbol), "\0"))?),+ }) }
            }
        }
    };
    (@ $result:ty) => { $result };
    (@) => { Status };
}

functions! {
    version = nvrtcVersion(*mut c_int, *mut c_int);
    capability_count = nvrtcGetNumSupportedArchs(*mut c_int);
    capabilities = nvrtcGetSupportedArchs(*mut c_int);
    create = nvrtcCreateProgram(*mut Program, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char);
    destroy = nvrtcDestroyProgram(*mut Program);
    compile = nvrtcCompileProgram(Program, c_int, *const *const c_char);
    log_size = nvrtcGetProgramLogSize(Program, *mut usize);
    log = nvrtcGetProgramLog(Program, *mut c_char);
    ptx_size = nvrtcGetPTXSize(Program, *mut usize);
    ptx = nvrtcGetPTX(Program, *mut c_char);
    cubin_size = nvrtcGetCUBINSize(Program, *mut usize);
    cubin = nvrtcGetCUBIN(Program, *mut c_char);
    meaning = nvrtcGetErrorString(Status) -> *const c_char;
}

/// The result of compiling a source with NVRTC.
///
/// ```
/// use compaction::cuda::{Nvrtc, Source, Target};
///
/// let source = Source::new("nothing.cu", r#"extern "C" __global__ void nothing() {}"#);
/// if let Ok(nvrtc) = Nvrtc::find() {
///     let compiled = nvrtc.compile(&source, Target::Ptx(75))?;
///     assert_eq!(compiled.image.target, Target::Ptx(75));
/// }
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The compiled code, with the target it was compiled for.
    pub image: Image,
    /// Warnings and, for a [`Target::Cubin`], the assembler's report of registers and spills.
    pub log: String,
}

/// Resources that a kernel uses per thread, as reported by the assembler.
///
/// ```
/// use compaction::cuda::{Nvrtc, Source, Target};
///
/// let source = Source::new("nothing.cu", r#"extern "C" __global__ void nothing() {}"#);
/// if let Ok(nvrtc) = Nvrtc::find() {
///     for usage in nvrtc.compile(&source, Target::Cubin(75))?.usage() {
///         assert_eq!((usage.kernel.as_str(), usage.spill_store_bytes), ("nothing", 0));
///     }
/// }
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Name of the kernel, as declared in the source.
    pub kernel: String,
    /// 32-bit registers per thread.
    pub registers: u32,
    /// Stack frame in bytes per thread: local memory for arrays and calls.
    pub stack_bytes: u32,
    /// Bytes per thread stored to local memory because registers ran out.
    pub spill_store_bytes: u32,
    /// Bytes per thread loaded from local memory because registers ran out.
    pub spill_load_bytes: u32,
}

impl Nvrtc {
    /// Finds and loads the NVRTC of this machine.
    ///
    /// Searches in this order: the file that `COMPACTION_NVRTC` names; the paths of the system's loader; `CUDA_HOME`
    /// and `CUDA_PATH`; the packages `nvidia-cuda-nvrtc*` of the active Python environment (`VIRTUAL_ENV`,
    /// `CONDA_PREFIX`) and of the user; `/usr/local/cuda*` and `/opt/cuda`; the packages of the system and of the
    /// `python3` on `PATH`. A library of a newer major version than the driver's is used only if there is no other,
    /// because the driver may reject its code. On Windows, the libraries are `nvrtc64_*.dll`, and the toolkits those of
    /// `Program Files`.
    ///
    /// ```
    /// use compaction::cuda::Nvrtc;
    ///
    /// if let Err(reason) = Nvrtc::find() {
    ///     println!("{reason}"); // NVRTC was not found
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns one line that says why no NVRTC can be used. `COMPACTION_NVRTC=off` is such a reason.
    pub fn find() -> std::result::Result<Self, String> {
        find(None)
    }

    /// Finds and loads an NVRTC that compiles for a compute capability (70 for 7.0). Searches like
    /// [`find`](Self::find), but goes on if a library does not know the GPU: CUDA 13, for example, compiles for 7.5 and
    /// newer only.
    ///
    /// ```
    /// use compaction::cuda::Nvrtc;
    ///
    /// if let Ok(nvrtc) = Nvrtc::find_for(75) {
    ///     assert!(nvrtc.target(75).is_some());
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns one line that says why no NVRTC can be used.
    pub fn find_for(capability: u32) -> std::result::Result<Self, String> {
        let found = find(Some(capability))?;
        found.ignorance(capability).map_or(Ok(found), Err)
    }

    /// Returns the reason why this NVRTC cannot compile for a compute capability, or `None` if it can.
    pub(super) fn ignorance(&self, capability: u32) -> Option<String> {
        let (major, minor) = (capability / 10, capability % 10);
        self.target(capability)
            .is_none()
            .then(|| format!("{self:?} does not know compute capability {major}.{minor}"))
    }

    /// Loads NVRTC from the file at `path`. A bare file name is searched for in the paths of the system's loader.
    ///
    /// ```
    /// use compaction::cuda::Nvrtc;
    ///
    /// let reason = Nvrtc::open("/nowhere/libnvrtc.so").unwrap_err();
    /// assert!(reason.starts_with("/nowhere/libnvrtc.so: "));
    /// ```
    ///
    /// # Errors
    ///
    /// Returns one line that begins with the path and says why the library cannot be used.
    pub fn open(path: impl AsRef<Path>) -> std::result::Result<Self, String> {
        let path = path.as_ref();
        let unusable = |cause: &dyn std::fmt::Display| format!("{}: {cause}", path.display());
        // SAFETY: NVRTC's initialisers only set up its own state.
        let library = unsafe { Library::new(path) }.map_err(|error| unusable(&error))?;
        let functions = Functions::of(&library)
            .map_err(|error| unusable(&format!("too old an NVRTC, or none: {error}")))?;
        let (version, capabilities) = functions
            .version_and_capabilities()
            .map_err(|status| unusable(&functions.meaning(status)))?;
        Ok(Self {
            path: path.to_owned(),
            version,
            capabilities,
            functions,
            _library: library,
        })
    }

    /// Returns the path or file name from which the library was loaded.
    ///
    /// ```
    /// # use compaction::cuda::Nvrtc;
    /// if let Ok(nvrtc) = Nvrtc::find() {
    ///     println!("{}", nvrtc.path().display());
    /// }
    /// ```
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the NVRTC version as (major, minor), such as (12, 2).
    ///
    /// ```
    /// # use compaction::cuda::Nvrtc;
    /// if let Ok(nvrtc) = Nvrtc::find() {
    ///     assert!(nvrtc.version() >= (11, 2));
    /// }
    /// ```
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Returns a line that says how to install CUDA's headers beside this NVRTC.
    fn package_of_headers(&self) -> &'static str {
        match self.version.0 {
            ..13 => "CUDA's headers: pip install nvidia-cuda-runtime-cu12",
            _ => "CUDA's headers: pip install nvidia-cuda-runtime nvidia-cuda-cccl",
        }
    }

    /// Returns the best target of this NVRTC for a compute capability (90 for 9.0).
    ///
    /// The target is machine code if NVRTC supports exactly this capability, and otherwise PTX for the newest supported
    /// capability below it. Returns `None` if NVRTC supports only newer capabilities.
    ///
    /// ```
    /// use compaction::cuda::{Nvrtc, Target};
    ///
    /// if let Ok(nvrtc) = Nvrtc::find() {
    ///     assert_eq!(nvrtc.target(80), Some(Target::Cubin(80)));
    ///     assert_eq!(nvrtc.target(10), None);
    /// }
    /// ```
    pub fn target(&self, capability: u32) -> Option<Target> {
        let newest = self
            .capabilities
            .iter()
            .copied()
            .filter(|&known| known <= capability)
            .max()?;
        Some(if newest == capability {
            Target::Cubin(capability)
        } else {
            Target::Ptx(newest)
        })
    }

    /// Compiles a source for a target. Does not use a [`Cache`](super::Cache).
    ///
    /// `#include <cuda_fp16.h>` and other headers of CUDA are found beside NVRTC: in its toolkit or environment, and in
    /// the Python packages `nvidia-cuda-runtime*`.
    ///
    /// ```
    /// use compaction::cuda::{Nvrtc, Source, Target};
    ///
    /// let wrong = Source::new("wrong.cu", r#"extern "C" __global__ void wrong() { none(); }"#);
    /// if let Ok(nvrtc) = Nvrtc::find() {
    ///     let error = nvrtc.compile(&wrong, Target::Ptx(75)).unwrap_err().to_string();
    ///     assert!(error.contains("wrong.cu(1): error: identifier \"none\" is undefined"), "{error}");
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoHeader`] for an unknown include, and [`Error::Compile`] with the complete log if NVRTC
    /// rejects the source or the target.
    pub fn compile(&self, source: &Source, target: Target) -> Result<Compiled> {
        self.compile_text(source.path(), &source.text()?, target)
    }

    /// Compiles an expanded source text. `path` names the file in errors.
    pub(super) fn compile_text(&self, path: &str, text: &str, target: Target) -> Result<Compiled> {
        let failed = |log: String| Error::Compile {
            kernel: path.to_owned(),
            log,
        };
        let c_string = |text: String| {
            CString::new(text).map_err(|_| failed("a NUL byte in the source".to_owned()))
        };
        let mut options = vec![c_string(format!("--gpu-architecture={target}"))?];
        for &option in OPTIONS {
            options.push(c_string(option.to_owned())?);
        }
        if matches!(target, Target::Cubin(_)) {
            // Reports registers and spills in the log and changes nothing else.
            options.push(c_string("--ptxas-options=-v".to_owned())?);
        }
        if text.lines().any(includes_header_of_cuda) {
            for folder in search::header_folders(&self.path) {
                options.push(c_string(format!("--include-path={}", folder.display()))?);
            }
        }
        if self.version >= (12, 9) {
            // Since 12.9 NVRTC caches compiled code, and a cached result comes without warnings and report.
            options.push(c_string("--no-cache".to_owned())?);
        }
        let run = Run::new(
            &self.functions,
            &c_string(text.to_owned())?,
            &c_string(path.to_owned())?,
        )
        .map_err(failed)?;
        let status = run.compile(&options);
        let log = run.log();
        if status != 0 {
            return Err(failed(match log {
                log if log.is_empty() => self.functions.meaning(status),
                log if log.contains("open source file") => {
                    format!("{log}\n{}", self.package_of_headers())
                }
                log => log,
            }));
        }
        let bytes = run.code(target).map_err(failed)?;
        Ok(Compiled {
            image: Image { target, bytes },
            log,
        })
    }
}

/// Finds and loads the NVRTC of this machine, as documented at [`Nvrtc::find`], or returns the reason why there is
/// none. With a compute capability, it must compile for such a GPU.
fn find(capability: Option<u32>) -> std::result::Result<Nvrtc, String> {
    match env::var_os("COMPACTION_NVRTC") {
        Some(choice) if choice == "off" => return Err("COMPACTION_NVRTC=off".to_owned()),
        Some(file) => {
            return Nvrtc::open(file).map_err(|cause| format!("COMPACTION_NVRTC: {cause}"));
        }
        None => {}
    }
    let driver = device::driver_version();
    let (mut newer, mut unsuited, mut broken) = (None, None, None);
    for candidate in search::candidates() {
        match Nvrtc::open(&candidate) {
            Ok(nvrtc) => match capability.and_then(|capability| nvrtc.ignorance(capability)) {
                Some(reason) => unsuited = unsuited.or(Some(reason)),
                None if driver.is_some_and(|(major, _)| nvrtc.version().0 > major) => {
                    newer = newer.or(Some(nvrtc));
                }
                None => return Ok(nvrtc),
            },
            // A name that the loader does not find is expected; a file that it rejects is worth reporting.
            Err(cause) if candidate.is_absolute() => broken = broken.or(Some(cause)),
            Err(_) => {}
        }
    }
    newer.ok_or_else(|| {
        unsuited
            .or(broken)
            .unwrap_or_else(|| "NVRTC was not found".to_owned())
    })
}

/// Returns whether a line of CUDA C++ includes a header in angle brackets.
fn includes_header_of_cuda(line: &str) -> bool {
    let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
    directive
        .and_then(|directive| directive.strip_prefix("include"))
        .is_some_and(|name| name.trim_start().starts_with('<'))
}

impl std::fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "NVRTC {}.{} ({})",
            self.version.0,
            self.version.1,
            self.path.display()
        )
    }
}

impl Functions {
    /// Returns the NVRTC version and the supported compute capabilities times 10, ascending.
    fn version_and_capabilities(&self) -> std::result::Result<((i32, i32), Vec<u32>), Status> {
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // SAFETY: the pointers are to live integers.
        done(unsafe { (self.version)(&mut major, &mut minor) })?;
        // SAFETY: as above.
        done(unsafe { (self.capability_count)(&mut count) })?;
        let mut known = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: there is room for the count that NVRTC gave.
        done(unsafe { (self.capabilities)(known.as_mut_ptr()) })?;
        let mut known: Vec<u32> = known
            .into_iter()
            .filter_map(|each| each.try_into().ok())
            .collect();
        known.sort_unstable();
        Ok(((major, minor), known))
    }

    /// Returns NVRTC's description of a status code.
    fn meaning(&self, status: Status) -> String {
        // SAFETY: NVRTC answers any status with a static string.
        unsafe { CStr::from_ptr((self.meaning)(status)) }
            .to_string_lossy()
            .into_owned()
    }
}

/// Converts a status code to a result. 0 means success.
fn done(status: Status) -> std::result::Result<(), Status> {
    if status == 0 { Ok(()) } else { Err(status) }
}

/// A compilation: a program object of NVRTC, which is destroyed when dropped.
struct Run<'a> {
    functions: &'a Functions,
    program: Program,
}

impl<'a> Run<'a> {
    fn new(
        functions: &'a Functions,
        text: &CStr,
        name: &CStr,
    ) -> std::result::Result<Self, String> {
        let mut program = ptr::null_mut();
        // SAFETY: two C strings that NVRTC copies, and no headers.
        let status = unsafe {
            (functions.create)(
                &mut program,
                text.as_ptr(),
                name.as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        done(status).map_err(|status| functions.meaning(status))?;
        Ok(Self { functions, program })
    }

    fn compile(&self, options: &[CString]) -> Status {
        let options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program lives, and there are as many C strings as said.
        unsafe { (self.functions.compile)(self.program, options.len() as c_int, options.as_ptr()) }
    }

    fn log(&self) -> String {
        let log = self
            .read(self.functions.log_size, self.functions.log)
            .unwrap_or_default();
        String::from_utf8_lossy(&log)
            .trim_matches(|end: char| end == '\0' || end.is_whitespace())
            .to_owned()
    }

    /// Returns the compiled PTX text or machine code, or NVRTC's description of the error.
    fn code(&self, target: Target) -> std::result::Result<Vec<u8>, String> {
        let code = match target {
            Target::Ptx(_) => {
                self.read(self.functions.ptx_size, self.functions.ptx)
                    .map(|mut ptx| {
                        // NVRTC includes the terminating NUL, which is not part of the text.
                        while ptx.last() == Some(&0) {
                            ptx.pop();
                        }
                        ptx
                    })
            }
            Target::Cubin(_) => self.read(self.functions.cubin_size, self.functions.cubin),
        };
        code.map_err(|status| self.functions.meaning(status))
    }

    fn read(
        &self,
        size: unsafe extern "C" fn(Program, *mut usize) -> Status,
        content: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    ) -> std::result::Result<Vec<u8>, Status> {
        let mut bytes = 0;
        // SAFETY: the program lives, and the pointer is to a live integer.
        done(unsafe { size(self.program, &mut bytes) })?;
        let mut buffer = vec![0; bytes];
        // SAFETY: the buffer has the size that NVRTC gave for the same content.
        done(unsafe { content(self.program, buffer.as_mut_ptr().cast()) })?;
        Ok(buffer)
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        // SAFETY: the program was created by the same library and is not used again. A failure leaves nothing to do.
        unsafe { (self.functions.destroy)(&mut self.program) };
    }
}

impl Compiled {
    /// Returns the resource usage of each kernel, parsed from the report of a [`Target::Cubin`]. Empty for PTX.
    ///
    /// ```
    /// use compaction::cuda::{Compiled, Image, Target};
    ///
    /// let compiled = Compiled {
    ///     image: Image { target: Target::Cubin(90), bytes: Vec::new() },
    ///     log: "ptxas info    : Compiling entry function 'shade' for 'sm_90'
    ///           ptxas info    : Used 40 registers, used 1 barriers"
    ///         .to_owned(),
    /// };
    /// assert_eq!((compiled.usage()[0].kernel.as_str(), compiled.usage()[0].registers), ("shade", 40));
    /// ```
    pub fn usage(&self) -> Vec<Usage> {
        let mut kernels = Vec::<Usage>::new();
        for line in self.log.lines() {
            if let Some(kernel) = line
                .split("Compiling entry function '")
                .nth(1)
                .and_then(|rest| rest.split('\'').next())
            {
                kernels.push(Usage {
                    kernel: kernel.to_owned(),
                    ..Usage::default()
                });
            } else if let Some(usage) = kernels.last_mut() {
                let read = |words: &str, value: &mut u32| {
                    let number = line
                        .split(words)
                        .next()
                        .filter(|before| before.len() < line.len());
                    let number = number
                        .and_then(|before| before.rsplit(|c: char| !c.is_ascii_digit()).next());
                    if let Some(number) = number.and_then(|number| number.parse().ok()) {
                        // Functions that a kernel calls have lines of their own.
                        *value = (*value).max(number);
                    }
                };
                read(" registers", &mut usage.registers);
                read(" bytes stack frame", &mut usage.stack_bytes);
                read(" bytes spill stores", &mut usage.spill_store_bytes);
                read(" bytes spill loads", &mut usage.spill_load_bytes);
            }
        }
        kernels
    }
}
