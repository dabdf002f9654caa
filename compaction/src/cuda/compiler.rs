//! From source to kernels, by four layers.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use cudarc::driver::CudaContext;

use super::{
    archive::Archive,
    cache::Cache,
    image::{Image, Origin, Target, key},
    kernel::Module,
    nvrtc::Nvrtc,
    source::Source,
    watch::Watch,
};
use crate::error::{Error, Result};

/// What PTX takes to load at the most: the driver compiles it, on the processor, which may have much else to do.
const PTX: Duration = Duration::from_secs(120);

/// Finds or makes the code of a [`Source`] for a GPU.
///
/// Four layers are asked in turn: the machine code for the very GPU in the [`Archive`] that ships with the program; the
/// [`Cache`] of what this machine compiled before; [`Nvrtc`], which compiles for the very GPU, if this machine has it; what
/// else of the archive runs there. The key of an image is the whole expanded text, the options and the target, so no layer
/// gives an image of another source.
///
/// A clone shares nothing that changes; operations keep one, to compile for other item types when they are first needed.
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
    nvrtc: Choice,
    shipped: std::result::Result<Arc<Archive>, String>,
    watch: Watch,
}

#[derive(Clone, Debug)]
enum Choice {
    Found,
    Given(Arc<Nvrtc>),
    Never,
}

impl Default for Compiler {
    fn default() -> Self {
        Self::new()
    }
}

impl Compiler {
    /// The standard cache, the NVRTC of this machine, nothing shipped.
    ///
    /// ```
    /// use compaction::cuda::Compiler;
    ///
    /// // NVRTC is not looked for before it is needed.
    /// let compiler = Compiler::new();
    /// ```
    pub fn new() -> Self {
        Self {
            cache: Cache::standard(),
            nvrtc: Choice::Found,
            shipped: Err("no compiled kernels ship".to_owned()),
            watch: Watch::default(),
        }
    }

    /// Uses the bytes of an [`Archive`] as the first layer and the last. Bytes that are none are said to be so when they are
    /// needed.
    ///
    /// ```
    /// use compaction::cuda::{Archive, Compiler};
    ///
    /// // In a program: `include_bytes!("shipped.bin")`.
    /// let archive = Archive::default().to_bytes();
    /// let compiler = Compiler::new().shipped(&archive);
    /// ```
    pub fn shipped(mut self, archive: &[u8]) -> Self {
        self.shipped = Archive::open(archive)
            .map(Arc::new)
            .map_err(|error| error.to_string());
        self
    }

    /// Uses another cache.
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

    /// Uses this NVRTC, or none at all.
    ///
    /// ```
    /// use compaction::cuda::{Cache, Compiler, Source};
    ///
    /// // Nothing to compile with, nothing compiled before, nothing shipped.
    /// let compiler = Compiler::new().nvrtc(None).cache(Cache::off());
    /// let error = compiler.image(&Source::new("nothing.cu", ""), 90).unwrap_err();
    /// assert!(error.to_string().ends_with("pip install nvidia-cuda-nvrtc-cu12"));
    /// ```
    pub fn nvrtc(mut self, nvrtc: Option<Arc<Nvrtc>>) -> Self {
        self.nvrtc = nvrtc.map_or(Choice::Never, Choice::Given);
        self
    }

    /// Lets this know of the calls by which the driver loads kernels.
    ///
    /// ```
    /// use compaction::cuda::{Compiler, Watch};
    ///
    /// let watch = Watch::default();
    /// let compiler = Compiler::new().watched(&watch);
    /// ```
    pub fn watched(mut self, watch: &Watch) -> Self {
        self.watch = watch.clone();
        self
    }

    /// Loads a source's kernels into a GPU.
    ///
    /// An image that the driver refuses, such as one by an NVRTC that is newer than the driver, is passed over for the
    /// next layer's.
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
    /// [`Error::NoHeader`] and [`Error::Compile`] for a source that does not compile; [`Error::NoCompiler`] where it
    /// would have to be compiled here and cannot be; [`Error::Driver`] if the driver refuses what there is.
    pub fn load(&self, context: &Arc<CudaContext>, source: &Source) -> Result<Module> {
        let (major, minor) = context
            .compute_capability()
            .map_err(Error::driver("ask the device for its compute capability"))?;
        let capability = (10 * major + minor).max(0) as u32;
        self.first(source, capability, |image, origin| {
            let least = match image.target {
                Target::Cubin(_) => Duration::ZERO,
                Target::Ptx(_) => PTX,
            };
            self.watch.over("load kernels", least, || {
                Module::new(context, source, image, origin)
            })
        })
    }

    /// The code of a source for a GPU of this compute capability, 90 for 9.0. Needs no GPU.
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
    /// As [`load`](Self::load), without the driver's.
    pub fn image(&self, source: &Source, capability: u32) -> Result<(Image, Origin)> {
        self.first(source, capability, |image, origin| {
            Ok((image.clone(), origin))
        })
    }

    /// The first image that `accept` takes.
    fn first<T>(
        &self,
        source: &Source,
        capability: u32,
        accept: impl Fn(&Image, Origin) -> Result<T>,
    ) -> Result<T> {
        let text = source.text()?;
        let target = Target::Cubin(capability);
        // Why the driver does not take the best that there is.
        let mut refused = None;
        let mut shipped = self
            .shipped
            .iter()
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
        let compiling = self
            .found()
            .and_then(|nvrtc| match nvrtc.target(capability) {
                Some(target) => Ok((nvrtc, target)),
                None => Err(format!(
                    "{nvrtc:?} no longer knows compute capability {capability}"
                )),
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
                Ok(_) => format!(
                    "it is not among those that ship with the program for this GPU, and {missing}"
                ),
                Err(absent) => format!("{absent}, and {missing}"),
            },
        }))
    }

    fn found(&self) -> std::result::Result<&Nvrtc, String> {
        static FOUND: OnceLock<std::result::Result<Nvrtc, String>> = OnceLock::new();
        match &self.nvrtc {
            Choice::Found => FOUND
                .get_or_init(Nvrtc::find)
                .as_ref()
                .map_err(Clone::clone),
            Choice::Given(nvrtc) => Ok(nvrtc),
            Choice::Never => Err("NVRTC is switched off".to_owned()),
        }
    }
}
