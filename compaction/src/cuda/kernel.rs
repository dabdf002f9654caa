//! Loaded kernels and their launches.

use std::{any::TypeId, borrow::Cow, ffi::CString, marker::PhantomData, ptr, sync::Arc};

use cudarc::{
    driver::{
        CudaContext, CudaFunction, CudaModule, CudaStream, DriverError, LaunchArgs, LaunchConfig,
        sys::{self, CUdevice_attribute, CUfunction_attribute},
    },
    nvrtc::Ptx,
};

use super::{
    image::{Image, Origin, Target},
    params::Params,
    recording::{self, Place},
    source::{Declared, Source, parameter_name},
    stream_order::{Uses, check_context},
};
use crate::error::{Error, Result};

/// The kernels of a [`Source`], loaded into a GPU by [`Compiler::load`](super::Compiler::load).
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
    text: Arc<Cow<'static, str>>,
    module: Arc<CudaModule>,
    context: Arc<CudaContext>,
    kernels: Vec<Declared>,
    block_threads: Option<u32>,
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
            text: Arc::new(source.file_text().clone()),
            module,
            context: context.clone(),
            kernels: source.kernels().to_vec(),
            block_threads: source.block_threads(),
            origin,
        })
    }

    /// Returns the layer that the module's code came from: the archive, the cache or NVRTC.
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

    /// Returns the kernel that the source declares under `name` with the parameter tuple `P`.
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
    /// Returns [`Error::NoKernel`] if the source does not declare `name`, or declares it with other parameters.
    pub fn kernel<P: Params>(&self, name: &'static str) -> Result<Kernel<P>> {
        Ok(Kernel {
            name,
            function: self.function(name, TypeId::of::<P>(), P::signature)?,
            context: self.context.clone(),
            text: self.text.clone(),
            block_threads: self.block_threads,
            params: PhantomData,
        })
    }

    /// Returns the function of the kernel `name` that was declared with the parameter type `params`. `signature`
    /// returns the parameter list for the error.
    fn function(
        &self,
        name: &'static str,
        params: TypeId,
        signature: fn() -> String,
    ) -> Result<CudaFunction> {
        let is_asked = |each: &Declared| each.name == name && each.params == params;
        if !self.kernels.iter().any(is_asked) {
            let declared: Vec<_> = self
                .kernels
                .iter()
                .map(|declared| format!("{}{}", declared.name, declared.signature))
                .collect();
            return Err(Error::NoKernel {
                file: self.path.clone(),
                kernel: format!("{name}{}", signature()),
                declared: if declared.is_empty() {
                    "none".to_owned()
                } else {
                    declared.join(", ")
                },
            });
        }
        self.module
            .load_function(name)
            .map_err(Error::driver(format!(
                "find kernel \"{name}\" in {}",
                self.path
            )))
    }
}

/// Returns the driver's error log for a PTX text that it rejected, as `: …`. Loads the text again for this. The result
/// is empty if there is no log.
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
    // SAFETY: a C string of PTX, and two options whose values are a live buffer and its size. If the driver accepts the
    // text this time, nothing else has the module.
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

/// The grid, block size and dynamic shared memory of a kernel launch.
///
/// ```
/// use compaction::cuda::Launch;
///
/// // 600 items need three blocks of 256 threads; some threads of the last block have no item.
/// assert_ne!(Launch::covering(600, 256), Launch::blocks(2, 256));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    grid: (u32, u32, u32),
    block: (u32, u32, u32),
    shared_bytes: u32,
    /// The number of items that was passed to `covering`, for error messages. `None` if another function made the
    /// launch.
    items: Option<u32>,
}

impl Launch {
    /// Returns a launch with at least one thread for each item, in blocks of `block_threads` threads. The last block
    /// may have threads without an item. For 0 items there are no blocks, and the launch does nothing.
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

    /// Returns a one-dimensional launch of `blocks` blocks of `block_threads` threads.
    ///
    /// ```
    /// use compaction::cuda::Launch;
    ///
    /// assert_eq!(Launch::blocks(132, 256), Launch::grid((132, 1, 1), (256, 1, 1)));
    /// ```
    pub fn blocks(blocks: u32, block_threads: u32) -> Self {
        Self::grid((blocks, 1, 1), (block_threads, 1, 1))
    }

    /// Returns a launch of `grid` blocks of `block` threads each, both as (x, y, z).
    ///
    /// ```
    /// use compaction::cuda::Launch;
    ///
    /// // A picture of 1920 by 1080 pixels in squares of 16 by 16.
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

    /// Sets the dynamic shared memory per block in bytes. The default is 0. More than 48 KB must first be
    /// [allowed](Kernel::allow_shared_bytes).
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

    /// Returns whether the grid has no blocks.
    fn is_empty(&self) -> bool {
        self.grid.0 == 0 || self.grid.1 == 0 || self.grid.2 == 0
    }

    /// Describes the launch of the kernel `name` for errors: `launch "shade" over 1048576 items`.
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

/// A loaded kernel whose parameters are the tuple `P` of [`Param`](super::Param)s.
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
    /// The text of the kernel file, which names the parameters for errors.
    text: Arc<Cow<'static, str>>,
    /// The number of threads that each block must have, if that is fixed.
    block_threads: Option<u32>,
    params: PhantomData<fn(P)>,
}

impl<P> Clone for Kernel<P> {
    fn clone(&self) -> Self {
        Self {
            name: self.name,
            function: self.function.clone(),
            context: self.context.clone(),
            text: self.text.clone(),
            block_threads: self.block_threads,
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
    /// Returns the kernel's name in the source, which also labels it in errors and statistics.
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

    /// Returns the context that the kernel was loaded in.
    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Describes the buffer at a place of the arguments for errors, by the names of the kernel's text.
    fn describe(&self, place: Place) -> String {
        let position = place.argument;
        let named = || parameter_name(&self.text, self.name, position);
        let parameter = match place.parameter.or_else(named) {
            Some(name) => format!("argument \"{name}\""),
            None => format!("argument {position}"),
        };
        match place.field {
            Some(field) => format!(
                "field \"{field}\" of {parameter} of kernel \"{}\"",
                self.name
            ),
            None => format!("{parameter} of kernel \"{}\"", self.name),
        }
    }

    /// Enqueues the kernel on a stream and returns at once. A launch of zero blocks does nothing.
    ///
    /// It allocates no device memory and does not wait, so it can be captured into a graph. Errors that occur while the
    /// kernel runs are reported by a later call on the stream.
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
    /// The number, order, types and layouts of the arguments are those of `P`, which was checked when the kernel was
    /// compiled. Read-only buffers are shared views, written buffers are exclusive views. Buffers must belong to the
    /// stream's context. The launch of a buffer of another stream is ordered: this stream waits for the work that was
    /// enqueued on the other one, and later work there waits for the launch.
    ///
    /// The kernel's author must ensure the rest: in every launch that its Rust wrapper can make, the kernel stays
    /// inside its buffers, and it never writes through a `const` pointer. Kernels therefore begin with a line such as
    /// `if (item >= item_count) return;`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::ForeignContext`] if the kernel or a buffer belongs to another context; [`Error::ForeignStream`]
    /// for a buffer of another stream while either stream is captured into a graph; [`Error::BlockSize`] if the kernel
    /// needs other blocks; and [`Error::Driver`] with the kernel's name if the driver rejects the launch.
    pub fn launch(
        &self,
        stream: &Arc<CudaStream>,
        launch: Launch,
        mut args: P::Args<'_>,
    ) -> Result<()> {
        check_context(stream, &self.context, || {
            format!("kernel \"{}\"", self.name)
        })?;
        if launch.is_empty() {
            return Ok(());
        }
        if let Some(threads) = self.block_threads
            && launch.block != (threads, 1, 1)
        {
            return Err(Error::BlockSize {
                kernel: self.name,
                expected: threads,
                got: launch.block,
            });
        }
        // Orders later uses of the buffers after the launch when it is dropped.
        let mut uses = Uses::new(stream);
        let raw = P::raw(&mut args, &mut uses);
        uses.check(|place| self.describe(place), || launch.doing(self.name))?;
        let mut builder = stream.launch_builder(&self.function);
        P::push(&raw, &mut builder);
        // SAFETY: cudarc requires three things. Argument types and order: the image was compiled from a text that
        // asserts that the kernel's type is `P`'s and checks the layout of every struct in it. Mutability: `InOut`
        // takes a `CudaViewMut`, `In` a `CudaView` for a `const` pointer. Bounds: the kernel's own duty, see above.
        unsafe { enqueue(builder, launch, self.name) }?;
        if let Some(ranges) = uses.take_ranges() {
            recording::record_launch(&self.function, ranges, |place| self.describe(place));
        }
        Ok(())
    }

    /// Allows all later launches of this kernel to use up to `shared_bytes` bytes of dynamic shared memory per block.
    /// Up to 48 KB are always allowed.
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
    /// Returns [`Error::SharedMemory`] if the GPU offers less per block, and [`Error::Driver`] if the driver reports an
    /// error.
    pub fn allow_shared_bytes(&self, shared_bytes: u32) -> Result<()> {
        let doing = || {
            format!(
                "allow \"{}\" {shared_bytes} bytes of shared memory",
                self.name
            )
        };
        let available = self
            .context
            .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
            .map_err(Error::driver(doing()))?;
        let fixed = self
            .function
            .shared_size_bytes()
            .map_err(Error::driver(doing()))?;
        let available = available.saturating_sub(fixed).max(0) as u32;
        if shared_bytes > available {
            return Err(Error::SharedMemory {
                kernel: self.name,
                asked: shared_bytes,
                max: available,
            });
        }
        self.function
            .set_attribute(
                CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                shared_bytes as i32,
            )
            .map_err(Error::driver(doing()))
    }

    /// Returns the number of 32-bit registers that the kernel uses per thread.
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
    /// Returns [`Error::Driver`] if the driver reports an error.
    pub fn registers(&self) -> Result<u32> {
        let registers = self.function.num_regs().map_err(Error::driver(format!(
            "ask \"{}\" for its registers",
            self.name
        )))?;
        Ok(registers.max(0) as u32)
    }

    /// Returns how many blocks one multiprocessor can run concurrently, if each has `block_threads` threads and
    /// `shared_bytes` bytes of dynamic shared memory.
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
    /// Returns [`Error::Driver`] if the driver reports an error.
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
}

/// Enqueues a launch of the kernel `name`.
///
/// # Safety
///
/// As for [`LaunchArgs::launch`].
unsafe fn enqueue(mut args: LaunchArgs<'_>, launch: Launch, name: &str) -> Result<()> {
    let config = LaunchConfig {
        grid_dim: launch.grid,
        block_dim: launch.block,
        shared_mem_bytes: launch.shared_bytes,
    };
    // SAFETY: the caller's duty.
    let launched = unsafe { args.launch(config) };
    launched
        .map(drop)
        .map_err(|error| Error::driver(launch.doing(name))(error))
}
