//! Loaded kernels and their launches.

use std::{any::TypeId, ffi::CString, marker::PhantomData, ptr, sync::Arc};

use cudarc::{
    driver::{
        CudaContext, CudaFunction, CudaModule, CudaStream, DriverError, LaunchConfig,
        sys::{self, CUdevice_attribute, CUfunction_attribute},
    },
    nvrtc::Ptx,
};

use super::{
    image::{Image, Origin, Target},
    params::Params,
    source::{Declared, Source},
};
use crate::error::{Error, Result};

/// The kernels of a [`Source`], loaded into a GPU. Made by [`Compiler::load`](super::Compiler::load).
///
/// ```no_run
/// use compaction::cuda::{self, Compiler, InOut, Launch, Source};
/// # let context = cuda::open(0)?;
/// # let stream = context.default_stream();
/// # let text = r#"extern "C" __global__ void count_up(u32 *counter) { atomicAdd(counter, 1); }"#;
/// # let source = Source::new("count.cu", text).kernel::<(InOut<u32>,)>("count_up");
/// let module = Compiler::new().load(&context, &source)?;
/// let count_up = module.kernel::<(InOut<u32>,)>("count_up")?;
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Module {
    path: String,
    module: Arc<CudaModule>,
    context: Arc<CudaContext>,
    kernels: Vec<Declared>,
    origin: Origin,
}

impl Module {
    pub(super) fn new(
        context: &Arc<CudaContext>,
        source: &Source,
        image: &Image,
        origin: Origin,
    ) -> Result<Self> {
        let refused = |error: DriverError, log: String| {
            Error::driver(format!("load {} for {}{log}", source.path(), image.target))(error)
        };
        let module = match image.target {
            Target::Cubin(_) => context
                .load_module(Ptx::from_binary(image.bytes.clone()))
                .map_err(|error| refused(error, String::new()))?,
            Target::Ptx(_) => {
                let ptx = String::from_utf8_lossy(&image.bytes).replace('\0', "");
                context
                    .load_module(Ptx::from_src(ptx.as_str()))
                    .map_err(|error| refused(error, why_refused(context, ptx)))?
            }
        };
        Ok(Self {
            path: source.path().to_owned(),
            module,
            context: context.clone(),
            kernels: source.kernels().to_vec(),
            origin,
        })
    }

    /// Which layer its code came from.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Compiler, InOut, Launch, Source};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let text = r#"extern "C" __global__ void count_up(u32 *counter) { atomicAdd(counter, 1); }"#;
    /// # let source = Source::new("count.cu", text).kernel::<(InOut<u32>,)>("count_up");
    /// # let module = Compiler::new().load(&context, &source)?;
    /// println!("count.cu was {}", module.origin()); // compiled by NVRTC
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// A kernel, as the source declares it.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Compiler, InOut, Launch, Source};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let text = r#"extern "C" __global__ void count_up(u32 *counter) { atomicAdd(counter, 1); }"#;
    /// # let source = Source::new("count.cu", text).kernel::<(InOut<u32>,)>("count_up");
    /// # let module = Compiler::new().load(&context, &source)?;
    /// let count_up = module.kernel::<(InOut<u32>,)>("count_up")?;
    /// let error = module.kernel::<(InOut<u64>,)>("count_up").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "count.cu declares no kernel count_up(u64 *); it declares count_up(u32 *)"
    /// );
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoKernel`] if the source does not declare `name`, or not with `P`.
    pub fn kernel<P: Params>(&self, name: &'static str) -> Result<Kernel<P>> {
        if !self
            .kernels
            .iter()
            .any(|declared| declared.name == name && declared.params == TypeId::of::<P>())
        {
            let declared: Vec<_> = self
                .kernels
                .iter()
                .map(|declared| format!("{}{}", declared.name, declared.signature))
                .collect();
            return Err(Error::NoKernel {
                file: self.path.clone(),
                kernel: format!("{name}{}", P::signature()),
                declared: if declared.is_empty() {
                    "none".to_owned()
                } else {
                    declared.join(", ")
                },
            });
        }
        let function = self
            .module
            .load_function(name)
            .map_err(Error::driver(format!(
                "find kernel \"{name}\" in {}",
                self.path
            )))?;
        Ok(Kernel {
            name,
            function,
            context: self.context.clone(),
            params: PhantomData,
        })
    }
}

/// What the driver's own compiler says of PTX that it refused, as ": …".
fn why_refused(context: &Arc<CudaContext>, ptx: String) -> String {
    let mut log = vec![0_u8; 8 << 10];
    let mut options = [
        sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values = [
        log.as_mut_ptr().cast(),
        ptr::without_provenance_mut(log.len()),
    ];
    let Ok(ptx) = CString::new(ptx) else {
        return String::new();
    };
    if context.bind_to_thread().is_err() {
        return String::new();
    }
    let mut module = ptr::null_mut();
    // SAFETY: a C string of PTX, and two options whose values are a live buffer and its size. If the driver takes the
    // text this time, nobody else has the module.
    unsafe {
        let status = sys::cuModuleLoadDataEx(
            &mut module,
            ptx.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        );
        if status == sys::CUresult::CUDA_SUCCESS {
            sys::cuModuleUnload(module);
        }
    }
    let log = String::from_utf8_lossy(log.split(|&byte| byte == 0).next().unwrap_or_default())
        .trim()
        .replace('\n', "; ");
    if log.is_empty() {
        log
    } else {
        format!(": {log}")
    }
}

/// How many threads a launch has.
///
/// ```
/// use compaction::cuda::Launch;
///
/// // Three blocks of 256 for 600 items; the last one has threads without an item.
/// assert_ne!(Launch::covering(600, 256), Launch::blocks(2, 256));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    grid: (u32, u32, u32),
    block: (u32, u32, u32),
    shared_bytes: u32,
    /// For messages.
    items: Option<u32>,
}

impl Launch {
    /// Blocks of `block_threads` threads, as many as give every item a thread.
    ///
    /// ```
    /// use compaction::cuda::Launch;
    ///
    /// let launch = Launch::covering(1_000_000, 256); // 3,907 blocks
    /// ```
    pub fn covering(items: u32, block_threads: u32) -> Self {
        Self {
            items: Some(items),
            ..Self::blocks(items.div_ceil(block_threads.max(1)), block_threads)
        }
    }

    /// This many blocks of `block_threads` threads.
    ///
    /// ```
    /// use compaction::cuda::Launch;
    ///
    /// assert_eq!(Launch::blocks(132, 256), Launch::grid((132, 1, 1), (256, 1, 1)));
    /// ```
    pub fn blocks(blocks: u32, block_threads: u32) -> Self {
        Self::grid((blocks, 1, 1), (block_threads, 1, 1))
    }

    /// A grid of blocks of threads, each as (x, y, z).
    ///
    /// ```
    /// use compaction::cuda::Launch;
    ///
    /// // A picture of 1920 by 1080 pixels in squares of 16.
    /// let launch = Launch::grid((120, 68, 1), (16, 16, 1));
    /// ```
    pub fn grid(grid: (u32, u32, u32), block: (u32, u32, u32)) -> Self {
        Self {
            grid,
            block,
            shared_bytes: 0,
            items: None,
        }
    }

    /// Gives every block this much dynamic shared memory as well. More than 48 KB have to be
    /// [allowed](Kernel::allow_shared_bytes) first.
    ///
    /// ```
    /// use compaction::cuda::Launch;
    ///
    /// // In the kernel: `extern __shared__ u32 table[];`
    /// let launch = Launch::blocks(132, 256).shared_bytes(16 << 10);
    /// ```
    pub fn shared_bytes(self, shared_bytes: u32) -> Self {
        Self {
            shared_bytes,
            ..self
        }
    }

    fn is_empty(&self) -> bool {
        self.grid.0 == 0 || self.grid.1 == 0 || self.grid.2 == 0
    }

    /// What a message says of it: `launch "shade" over 1048576 items`.
    fn doing(&self, name: &str) -> String {
        match self.items {
            Some(items) => format!("launch \"{name}\" over {items} items"),
            None => format!(
                "launch \"{name}\" with {:?} blocks of {:?} threads",
                self.grid, self.block
            ),
        }
    }
}

/// A loaded kernel that takes `P`.
///
/// ```no_run
/// use compaction::cuda::{self, Compiler, In, InOut, Kernel, Launch, Source};
///
/// type Double = (In<u32>, InOut<u32>, u32);
/// let text = r#"extern "C" __global__ void twice(const u32 *items, u32 *out, u32 item_count)
/// {
///     u32 item = blockIdx.x * blockDim.x + threadIdx.x;
///     if (item >= item_count) return;
///     out[item] = 2 * items[item];
/// }"#;
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let source = Source::new("twice.cu", text).kernel::<Double>("twice");
/// let twice: Kernel<Double> = Compiler::new().load(&context, &source)?.kernel("twice")?;
///
/// let items = cuda::upload(&stream, &[1_u32, 2, 3])?;
/// let mut out = cuda::zeroed::<u32>(&stream, 3)?;
/// twice.launch(&stream, Launch::covering(3, 256), (items.as_view(), out.as_view_mut(), 3))?;
/// assert_eq!(cuda::download(&stream, &out)?, [2, 4, 6]);
/// # Ok::<(), compaction::Error>(())
/// ```
pub struct Kernel<P> {
    name: &'static str,
    function: CudaFunction,
    context: Arc<CudaContext>,
    params: PhantomData<fn(P)>,
}

impl<P> Clone for Kernel<P> {
    fn clone(&self) -> Self {
        Self {
            name: self.name,
            function: self.function.clone(),
            context: self.context.clone(),
            params: PhantomData,
        }
    }
}

impl<P> std::fmt::Debug for Kernel<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Kernel").field(&self.name).finish()
    }
}

impl<P: Params> Kernel<P> {
    /// Its name in the source, which is its label everywhere.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Compiler, InOut, Launch, Source};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let text = r#"extern "C" __global__ void count_up(u32 *counter) { atomicAdd(counter, 1); }"#;
    /// # let source = Source::new("count.cu", text).kernel::<(InOut<u32>,)>("count_up");
    /// # let module = Compiler::new().load(&context, &source)?;
    /// # let count_up = module.kernel::<(InOut<u32>,)>("count_up")?;
    /// assert_eq!(count_up.name(), "count_up");
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Puts the kernel onto a stream and returns at once. A launch of no blocks does nothing.
    ///
    /// It allocates no device memory and waits for nothing, so that it can be captured into a graph. What goes wrong
    /// while the kernel runs is reported by a later call on the stream.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Compiler, InOut, Launch, Source};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let text = r#"extern "C" __global__ void count_up(u32 *counter) { atomicAdd(counter, 1); }"#;
    /// # let source = Source::new("count.cu", text).kernel::<(InOut<u32>,)>("count_up");
    /// # let module = Compiler::new().load(&context, &source)?;
    /// # let count_up = module.kernel::<(InOut<u32>,)>("count_up")?;
    /// let mut counter = cuda::zeroed::<u32>(&stream, 1)?;
    /// count_up.launch(&stream, Launch::blocks(10, 32), (counter.as_view_mut(),))?;
    /// assert_eq!(cuda::download(&stream, &counter)?, [320]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # What is checked, and what is not
    ///
    /// The number, order, types and layouts of the arguments are `P`'s, which the compiler of the kernel has checked.
    /// A buffer that is only read is lent as a view, one that is written as a view that nobody shares. Buffers belong
    /// to the stream's context, and to the stream itself where the context does not track their use.
    ///
    /// The kernel's author keeps the rest: a kernel stays inside the buffers that it is given, for every launch that the
    /// Rust function in front of it can make, and writes through no `const` pointer. Begin with
    /// `if (item >= item_count) return;`.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignContext`], [`Error::ForeignStream`], or [`Error::Driver`] with the kernel's name.
    pub fn launch(
        &self,
        stream: &Arc<CudaStream>,
        launch: Launch,
        mut args: P::Args<'_>,
    ) -> Result<()> {
        self.check_streams(stream, &args)?;
        if launch.is_empty() {
            return Ok(());
        }
        let mut builder = stream.launch_builder(&self.function);
        P::push(&mut args, &mut builder);
        let config = LaunchConfig {
            grid_dim: launch.grid,
            block_dim: launch.block,
            shared_mem_bytes: launch.shared_bytes,
        };
        // SAFETY: cudarc asks for three things. Types and order of the arguments: the image was compiled from a text
        // that asserts the kernel's type to be `P`'s and the layout of every struct in it. Mutability: `InOut` takes a
        // `CudaViewMut`, `In` a `CudaView` for a `const` pointer. Bounds: the kernel's own, see above.
        let launched = unsafe { builder.launch(config) };
        launched
            .map(drop)
            .map_err(|error| Error::driver(launch.doing(self.name))(error))
    }

    /// Allows launches that give every block up to this much dynamic shared memory, once for all launches. Up to 48 KB
    /// need no allowance.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Compiler, InOut, Launch, Source};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let text = r#"extern "C" __global__ void count_up(u32 *counter) { atomicAdd(counter, 1); }"#;
    /// # let source = Source::new("count.cu", text).kernel::<(InOut<u32>,)>("count_up");
    /// # let module = Compiler::new().load(&context, &source)?;
    /// # let count_up = module.kernel::<(InOut<u32>,)>("count_up")?;
    /// let mut counter = cuda::zeroed::<u32>(&stream, 1)?;
    /// count_up.allow_shared_bytes(64 << 10)?;
    /// count_up.launch(&stream, Launch::blocks(1, 32).shared_bytes(64 << 10), (counter.as_view_mut(),))?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SharedMemory`] if a block can have less on this GPU; [`Error::Driver`].
    pub fn allow_shared_bytes(&self, shared_bytes: u32) -> Result<()> {
        let doing = || {
            format!(
                "allow \"{}\" {shared_bytes} bytes of shared memory",
                self.name
            )
        };
        let most = self
            .context
            .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
            .map_err(Error::driver(doing()))?;
        let fixed = self
            .function
            .shared_size_bytes()
            .map_err(Error::driver(doing()))?;
        let most = most.saturating_sub(fixed).max(0) as u32;
        if shared_bytes > most {
            return Err(Error::SharedMemory {
                kernel: self.name,
                asked: shared_bytes,
                max: most,
            });
        }
        self.function
            .set_attribute(
                CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                shared_bytes as i32,
            )
            .map_err(Error::driver(doing()))
    }

    /// 32-bit registers per thread.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Compiler, InOut, Launch, Source};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let text = r#"extern "C" __global__ void count_up(u32 *counter) { atomicAdd(counter, 1); }"#;
    /// # let source = Source::new("count.cu", text).kernel::<(InOut<u32>,)>("count_up");
    /// # let module = Compiler::new().load(&context, &source)?;
    /// # let count_up = module.kernel::<(InOut<u32>,)>("count_up")?;
    /// assert!(count_up.registers()? < 32);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn registers(&self) -> Result<u32> {
        let registers = self.function.num_regs().map_err(Error::driver(format!(
            "ask \"{}\" for its registers",
            self.name
        )))?;
        Ok(registers.max(0) as u32)
    }

    /// Blocks of this size that one multiprocessor can run at once.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Compiler, InOut, Launch, Source};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let text = r#"extern "C" __global__ void count_up(u32 *counter) { atomicAdd(counter, 1); }"#;
    /// # let source = Source::new("count.cu", text).kernel::<(InOut<u32>,)>("count_up");
    /// # let module = Compiler::new().load(&context, &source)?;
    /// # let count_up = module.kernel::<(InOut<u32>,)>("count_up")?;
    /// println!("{} threads at once", 256 * count_up.occupancy(256, 0)?);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn occupancy(&self, block_threads: u32, shared_bytes: u32) -> Result<u32> {
        let doing = || format!("ask \"{}\" for its occupancy", self.name);
        self.context
            .bind_to_thread()
            .map_err(Error::driver(doing()))?;
        self.function
            .occupancy_max_active_blocks_per_multiprocessor(
                block_threads,
                shared_bytes as usize,
                None,
            )
            .map_err(Error::driver(doing()))
    }

    fn check_streams(&self, stream: &Arc<CudaStream>, args: &P::Args<'_>) -> Result<()> {
        if self.context != *stream.context() {
            return Err(Error::ForeignContext {
                what: format!("kernel \"{}\"", self.name),
            });
        }
        for (position, home) in P::streams(args) {
            check_stream(stream, home, || {
                format!("argument {position} of kernel \"{}\"", self.name)
            })?;
        }
        Ok(())
    }
}

/// Refuses a buffer that `stream` may not use: `home` is the stream that it was allocated on.
pub(super) fn check_stream(
    stream: &CudaStream,
    home: &CudaStream,
    what: impl Fn() -> String,
) -> Result<()> {
    if home.context() != stream.context() {
        Err(Error::ForeignContext { what: what() })
    } else if home != stream && !stream.context().is_event_tracking() {
        Err(Error::ForeignStream { what: what() })
    } else {
        Ok(())
    }
}
