//! The compiler, which turns a source into loaded kernels or finds code that was compiled earlier.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use cudarc::driver::CudaContext;

use super::{
    archive::{Archive, built_in},
    cache::Cache,
    call_register::CallRegister,
    image::{Image, Origin, Target, key},
    kernel::Module,
    nvrtc::Nvrtc,
    source::Source,
};
use crate::error::{Error, Result};

/// The oldest supported compute capability times 10: that of Volta, the first with independent threads in a warp.
const OLDEST_CAPABILITY: u32 = 70;

/// The minimum time that hang detection allows for loading PTX. The driver compiles PTX on the CPU, which may be busy.
const PTX_LOAD_MIN_TIME: Duration = Duration::from_secs(120);

/// Compiles a [`Source`] for a GPU, or finds code compiled earlier.
///
/// The compiler tries four layers in order: machine code for exactly this GPU in the [`Archive`] shipped with the
/// program; the [`Cache`] of this machine; [`Nvrtc`], if installed; any other image in the archive that runs on the
/// GPU. Images are stored under a hash of the expanded text and the options, so no layer returns the image of another
/// source.
///
/// Cloning is cheap. Operations keep a clone to compile kernels for other item types when first needed.
///
/// ```no_run
/// use compaction::{cuda::{self, Compiler}, scan::{Operator, Scan, Strategy}};
///
/// let compiler = Compiler::new();
/// let context = cuda::open(0)?;
/// let sums = Scan::<u32>::new(&compiler, &context, Operator::Sum, Strategy::LookBack)?;
/// let maxima = Scan::<f32>::new(&compiler, &context, Operator::Max, Strategy::LookBack)?;
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Compiler {
    cache: Cache,
    nvrtc: NvrtcChoice,
    /// The archive that the program gave, or the reason why it cannot be read.
    shipped: Option<std::result::Result<Arc<Archive>, String>>,
    watch: CallRegister,
}

/// The choice of NVRTC: search for one when needed, use the given one, or never compile.
#[derive(Clone, Debug)]
enum NvrtcChoice {
    Search,
    Given(Arc<Nvrtc>),
    Disabled,
}

impl Default for Compiler {
    fn default() -> Self {
        Self::new()
    }
}

impl Compiler {
    /// Creates a compiler with the standard cache, the NVRTC found on this machine, and the kernels that the feature
    /// `shipped` of this crate builds in.
    ///
    /// ```
    /// use compaction::cuda::Compiler;
    ///
    /// // NVRTC is searched for only when it is needed.
    /// let compiler = Compiler::new();
    /// ```
    pub fn new() -> Self {
        Self {
            cache: Cache::standard(),
            nvrtc: NvrtcChoice::Search,
            shipped: None,
            watch: CallRegister::default(),
        }
    }

    /// Uses an [`Archive`], given as bytes, as the first layer and, for images that are not machine code for exactly
    /// the GPU, as the last.
    ///
    /// The kernels that the feature `shipped` builds in stay available. Damaged bytes are not an error here. They count
    /// as an empty archive, and [`Error::NoCompiler`] contains the reason if no other layer has the code.
    ///
    /// ```
    /// use compaction::cuda::{Archive, Compiler};
    ///
    /// // In a program: `include_bytes!("shipped.bin")`.
    /// let archive = Archive::default().to_bytes();
    /// let compiler = Compiler::new().shipped(&archive);
    /// ```
    pub fn shipped(mut self, archive: &[u8]) -> Self {
        let opened = Archive::open(archive).map(Arc::new);
        self.shipped = Some(opened.map_err(|error| error.to_string()));
        self
    }

    /// Replaces the cache in which compiled kernels are searched and stored.
    ///
    /// ```
    /// use compaction::cuda::{Cache, Compiler};
    ///
    /// let compiler = Compiler::new().cache(Cache::off());
    /// ```
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = cache;
        self
    }

    /// Uses the given NVRTC instead of searching for one. `None` disables NVRTC, so that no kernel is compiled.
    ///
    /// ```
    /// use compaction::cuda::{Cache, Compiler, Source};
    ///
    /// // No compiler, no cache, no shipped kernels.
    /// let compiler = Compiler::new().nvrtc(None).cache(Cache::off());
    /// let error = compiler.image(&Source::new("nothing.cu", ""), 90).unwrap_err();
    /// assert!(error.to_string().ends_with("pip install nvidia-cuda-nvrtc-cu12"));
    /// ```
    pub fn nvrtc(mut self, nvrtc: Option<Arc<Nvrtc>>) -> Self {
        self.nvrtc = nvrtc.map_or(NvrtcChoice::Disabled, NvrtcChoice::Given);
        self
    }

    /// Registers each driver call that loads kernels with `watch`, so that a [`HangDetector`](super::HangDetector) can
    /// detect a call that hangs.
    ///
    /// ```
    /// use compaction::cuda::{Compiler, CallRegister};
    ///
    /// let watch = CallRegister::default();
    /// let compiler = Compiler::new().watched(&watch);
    /// ```
    pub fn watched(mut self, watch: &CallRegister) -> Self {
        self.watch = watch.clone();
        self
    }

    /// Loads a source's kernels into a GPU.
    ///
    /// If the driver rejects an image, for example because NVRTC is newer than the driver, the next layer is tried.
    ///
    /// ```no_run
    /// use compaction::cuda::{self, Compiler, InOut, Source};
    ///
    /// let source = Source::new(
    ///     "count.cu",
    ///     r#"extern "C" __global__ void count_up(u32 *counter) { atomicAdd(counter, 1); }"#,
    /// )
    /// .kernel::<(InOut<u32>,)>("count_up");
    /// let module = Compiler::new().load(&cuda::open(0)?, &source)?;
    /// let count_up = module.kernel::<(InOut<u32>,)>("count_up")?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OldDevice`] for a GPU of compute capability below 7.0; [`Error::NoHeader`] or
    /// [`Error::Compile`] if the source does not compile; [`Error::NoCompiler`] if no
    /// layer has code for the GPU and NVRTC cannot compile it; and [`Error::Driver`] if the driver rejects every
    /// available image.
    pub fn load(&self, context: &Arc<CudaContext>, source: &Source) -> Result<Module> {
        let (major, minor) = context
            .compute_capability()
            .map_err(Error::driver("ask the device for its compute capability"))?;
        let capability = (10 * major + minor).max(0) as u32;
        self.first_accepted(source, capability, |image, origin| {
            let min_time = match image.target {
                Target::Cubin(_) => Duration::ZERO,
                Target::Ptx(_) => PTX_LOAD_MIN_TIME,
            };
            self.watch.over("load kernels", min_time, || {
                Module::new(context, source, image, origin)
            })
        })
    }

    /// Returns the code of a source for a compute capability (90 for 9.0), and the layer that the code came from. Needs
    /// no GPU.
    ///
    /// ```
    /// use compaction::{Error, cuda::{Compiler, Source}};
    ///
    /// let source = Source::new("nothing.cu", r#"extern "C" __global__ void nothing() {}"#);
    /// match Compiler::new().image(&source, 90) {
    ///     Ok((image, origin)) => println!("{} bytes for {}, {origin}", image.bytes.len(), image.target),
    ///     Err(Error::NoCompiler { reason, .. }) => println!("{reason}"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`load`](Self::load) except those of the driver.
    pub fn image(&self, source: &Source, capability: u32) -> Result<(Image, Origin)> {
        self.first_accepted(source, capability, |image, origin| {
            Ok((image.clone(), origin))
        })
    }

    /// Passes the image of each layer to `accept`, in order, until one is accepted, and returns that result. A newly
    /// compiled image that is accepted is stored in the cache.
    ///
    /// If all are rejected, returns the first error of `accept`, ignoring those for cached images.
    fn first_accepted<T>(
        &self,
        source: &Source,
        capability: u32,
        accept: impl Fn(&Image, Origin) -> Result<T>,
    ) -> Result<T> {
        if capability < OLDEST_CAPABILITY {
            return Err(Error::OldDevice {
                major: capability / 10,
                minor: capability % 10,
            });
        }
        let text = source.text()?;
        let target = Target::Cubin(capability);
        // The driver's error for the first image that it rejected.
        let mut refused = None;
        let given = self
            .shipped
            .as_ref()
            .and_then(|given| given.as_deref().ok());
        let archives = given.into_iter().chain(built_in());
        let mut shipped = archives
            .flat_map(|archive| archive.images(&text, capability))
            .peekable();
        if let Some(image) = shipped.next_if(|image| image.target == target) {
            match accept(&image, Origin::Shipped) {
                Ok(accepted) => return Ok(accepted),
                Err(error) => _ = refused.get_or_insert(error),
            }
        }
        let key = key(&text, target);
        if let Some(accepted) = self
            .cache
            .read(key)
            .and_then(|image| accept(&image, Origin::Cache).ok())
        {
            return Ok(accepted);
        }
        let compiling = self.find_nvrtc(capability).and_then(|nvrtc| {
            let target = nvrtc.target(capability);
            target
                .map(|target| (nvrtc, target))
                .ok_or_else(|| nvrtc.ignorance(capability).unwrap_or_default())
        });
        let mut missing = String::new();
        match compiling {
            Err(reason) => missing = reason,
            Ok((nvrtc, target)) => {
                let image = nvrtc.compile_text(source.path(), &text, target)?.image;
                match accept(&image, Origin::Nvrtc) {
                    Ok(accepted) => {
                        self.cache.write(key, &image);
                        return Ok(accepted);
                    }
                    Err(error) => _ = refused.get_or_insert(error),
                }
            }
        }
        for image in shipped {
            match accept(&image, Origin::Shipped) {
                Ok(accepted) => return Ok(accepted),
                Err(error) => _ = refused.get_or_insert(error),
            }
        }
        Err(refused.unwrap_or_else(|| Error::NoCompiler {
            kernel: source.path().to_owned(),
            reason: match &self.shipped {
                None if built_in().is_none() => {
                    format!("no compiled kernels ship, and {missing}")
                }
                None | Some(Ok(_)) => format!(
                    "it is not among those that ship with the program for this GPU, and {missing}"
                ),
                Some(Err(absent)) => format!("{absent}, and {missing}"),
            },
        }))
    }

    /// Returns the NVRTC to use for a compute capability, or the reason why there is none. The search runs once per
    /// process and capability.
    fn find_nvrtc(&self, capability: u32) -> std::result::Result<&Nvrtc, String> {
        match &self.nvrtc {
            NvrtcChoice::Search => found_nvrtc(capability),
            NvrtcChoice::Given(nvrtc) => Ok(nvrtc),
            NvrtcChoice::Disabled => Err("NVRTC is switched off".to_owned()),
        }
    }
}

/// Returns the NVRTC of this machine for a compute capability. It stays loaded until the process ends.
fn found_nvrtc(capability: u32) -> std::result::Result<&'static Nvrtc, String> {
    type Found = std::result::Result<&'static Nvrtc, String>;
    static FOUND: Mutex<BTreeMap<u32, Found>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let find = || Nvrtc::find_for(capability).map(|nvrtc| &*Box::leak(Box::new(nvrtc)));
    found.entry(capability).or_insert_with(find).clone()
}
