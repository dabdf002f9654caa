//! A wave in a GPU's memory.

use std::{collections::VecDeque, ops::Range, sync::Arc, time::Duration};

use compaction::{
    cuda::{
        Compiler, Graph, Launch, Watch, download, open, overwrite, uninitialised, upload, zeroed,
    },
    cudarc::driver::{CudaContext, CudaSlice, CudaStream, sys::CUdevice_attribute},
    select::{Select, Strategy, Workspace},
};

use super::{
    Report, clock, counts,
    flight::{Flight, Shape},
    pace::{Growth, MOST_IN_FLIGHT, Pace},
    patience::Patience,
    reach::Reach,
    rounds::CudaRounds,
    trial::{Partition, Timed, Trial},
};
use crate::{
    Error,
    bvh::Node,
    camera::Camera,
    environment::{Environment, EnvironmentRow, EnvironmentTexel},
    film::Exposed,
    instance::{Corners, Instance, MeshVertex},
    kernels::{BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR, SHIPPED},
    light::{Lamp, Light, Surroundings},
    light_tree::LightNode,
    maps::Maps,
    material::Material,
    path::{Hit, Ray, Rgb, ShadowRay, Span, Throughput},
    primitive::Primitive,
    stages::{Denoiser, Kernels, Megakernel, Partitioner, SceneKind, Shown},
    texture::Texture,
    world::World,
};

/// What the scene may take to get to a GPU, however large it is.
const UPLOAD: Duration = Duration::from_secs(600);
/// Paths that it shrinks to at the least.
const LEAST_PATHS: u32 = 1 << 18;

/// Buffers of a wave in a GPU's memory. By path, unless they are called by lane: a lane is a place in the queue.
pub struct CudaWave {
    /// What everything is enqueued on.
    pub stream: Arc<CudaStream>,
    /// The stages' kernels.
    pub kernels: Kernels,
    /// Once it was asked for: [`CudaWave::load_megakernel`].
    pub megakernel: Option<Megakernel>,
    /// The tree over the primitives.
    pub nodes: CudaSlice<Node>,
    /// In the trees' order.
    pub primitives: CudaSlice<Primitive>,
    /// Where meshes stand, by number.
    pub placed: CudaSlice<Instance>,
    /// Of the meshes' triangles, where a mesh has more than positions.
    pub corners: CudaSlice<Corners>,
    /// What the meshes have at their vertices besides positions.
    pub vertices: CudaSlice<MeshVertex>,
    /// By index.
    pub materials: CudaSlice<Material>,
    /// Tables of what rough materials lose.
    pub energy: CudaSlice<f32>,
    /// Textures of the materials that have any.
    pub maps: CudaSlice<Maps>,
    /// How images lie on surfaces.
    pub textures: CudaSlice<Texture>,
    /// sRGB's values, and the images.
    pub texels: CudaSlice<u32>,
    /// What shines.
    pub lights: CudaSlice<Light>,
    /// The tree over the first of them.
    pub light_nodes: CudaSlice<LightNode>,
    /// For each primitive its place among them.
    pub light_places: CudaSlice<u32>,
    /// Lights that are no surfaces.
    pub lamps: CudaSlice<Lamp>,
    /// The sky's picture.
    pub environment: Environment,
    /// The picture's rows.
    pub environment_rows: CudaSlice<EnvironmentRow>,
    /// The picture's texels.
    pub environment_texels: CudaSlice<EnvironmentTexel>,
    /// The sky, and what all lights share.
    pub surroundings: Surroundings,
    /// The scene's camera.
    pub camera: Camera,
    /// The same, where the kernels read it.
    pub device_camera: CudaSlice<Camera>,
    /// Times that a path may scatter.
    pub max_bounces: u32,
    /// The film's sums, three channels a pixel.
    pub sums: CudaSlice<u64>,
    /// One number: samples that were not exposable.
    pub rejected: CudaSlice<u64>,
    /// How many samples each pixel has, where pixels get samples until they are good; else one number of no use.
    pub taken: CudaSlice<u32>,
    /// What more there is then.
    pub rounds: Option<CudaRounds>,
    /// The pixels that are rendered, where the span says that they are listed; else one number of no use.
    pub list: CudaSlice<u32>,
    /// The paths' numbers.
    pub span: Span,
    /// The same, where the kernels read them.
    pub device_span: CudaSlice<Span>,
    /// The next ray.
    pub rays: CudaSlice<Ray>,
    /// The fraction of light that the path passes on.
    pub throughputs: CudaSlice<Throughput>,
    /// The light gathered so far.
    pub radiances: CudaSlice<Rgb>,
    /// Where the ray hit.
    pub hits: CudaSlice<Hit>,
    /// Of which instance; nothing of use in a scene without any.
    pub instances: CudaSlice<u32>,
    /// By lane: the instance that the shadow ray goes to.
    pub light_instances: CudaSlice<u32>,
    /// By lane.
    pub shadow_rays: CudaSlice<ShadowRay>,
    /// Live paths, by lane.
    pub queue: CudaSlice<u32>,
    /// The next queue.
    pub sieved: CudaSlice<u32>,
    /// By lane: 1 if the path stays.
    pub flags: CudaSlice<u8>,
    /// See [`counts`].
    pub counts: CudaSlice<u32>,
    /// When its stages began, in the device's nanoseconds.
    pub stamps: CudaSlice<u64>,
    /// The sieve.
    pub select: Select,
    /// The sieve's own memory.
    pub workspace: Workspace,
    /// How the queue is sieved.
    pub strategy: Strategy,
    /// By what hits are ordered by the kind of material, where some waves do.
    pub partitioner: Option<Partitioner>,
    /// Whether the wave that began last does.
    pub orders: bool,
    /// The last picture's memory.
    pub shown: Option<Shown>,
    /// Once previews were asked for.
    pub denoiser: Option<Denoiser>,
    /// What its kernels are made for.
    pub scene: SceneKind,
    multiprocessors: u32,
    trial: Trial,
    reach: Reach,
    /// Bounces of the wave that began last that many paths may come to, the first ones.
    busy_bounces: u32,
    /// Whether waves become graphs.
    records: bool,
    /// Paths that there are buffers for.
    capacity: u32,
    /// See [`CudaWave::growing`].
    growth: Option<Growth>,
    pace: Pace,
    patience: Patience,
    hangs: bool,
    pub(super) context: Arc<CudaContext>,
    pub(super) compiler: Compiler,
    enqueued: VecDeque<Flight>,
    landed: Vec<Flight>,
}

impl CudaWave {
    /// Device memory of a path in flight.
    pub const BYTES_PER_PATH: usize = size_of::<Ray>()
        + size_of::<Throughput>()
        + size_of::<Rgb>()
        + size_of::<Hit>()
        + size_of::<ShadowRay>()
        + 4 * size_of::<u32>()
        + size_of::<u8>();

    /// Puts the scene and buffers for waves of up to `capacity` paths onto the GPU of this number.
    pub fn new(
        ordinal: usize,
        world: &World,
        camera: Camera,
        max_bounces: u32,
        capacity: u32,
        strategy: Strategy,
    ) -> Result<CudaWave, Error> {
        let watch = Watch::default();
        let camera = (camera, max_bounces);
        CudaWave::watched(ordinal, world, camera, capacity, strategy, &watch)
    }

    /// The same; `watch` knows of each call of the driver that may never return.
    pub(crate) fn watched(
        ordinal: usize,
        world: &World,
        (camera, max_bounces): (Camera, u32),
        capacity: u32,
        strategy: Strategy,
        watch: &Watch,
    ) -> Result<CudaWave, Error> {
        let context = watch.over("open the GPU", Duration::ZERO, || open(ordinal))?;
        let multiprocessors = context
            .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .map_err(compaction::Error::driver("count the multiprocessors"))?;
        let stream = context
            .new_stream()
            .map_err(compaction::Error::driver("create a stream"))?;
        let compiler = Compiler::new().shipped(SHIPPED).watched(watch);
        let scene = SceneKind::of(world);
        let (kernels, select) = rayon::join(
            || Kernels::new(&compiler, &context, scene),
            || Select::new(&compiler, &context, strategy),
        );
        let (kernels, select) = (kernels?, select?);
        let paths = capacity as usize;
        let placed_paths = if scene.placed { paths } else { 1 };
        let put = || {
            Ok(CudaWave {
                nodes: upload(&stream, &world.nodes)?,
                primitives: upload(&stream, &world.primitives)?,
                placed: upload(&stream, &world.instances)?,
                corners: upload(&stream, &world.corners)?,
                vertices: upload(&stream, &world.vertices)?,
                materials: upload(&stream, &world.materials)?,
                energy: upload(&stream, &world.energy)?,
                maps: upload(&stream, &world.maps)?,
                textures: upload(&stream, &world.textures)?,
                texels: upload(&stream, &world.texels)?,
                lights: upload(&stream, &world.lights)?,
                light_nodes: upload(&stream, &world.light_nodes)?,
                light_places: upload(&stream, &world.light_places)?,
                lamps: upload(&stream, &world.lamps)?,
                environment: world.environment,
                environment_rows: upload(&stream, &world.environment_rows)?,
                environment_texels: upload(&stream, &world.environment_texels)?,
                surroundings: world.surroundings,
                camera,
                device_camera: upload(&stream, &[camera])?,
                max_bounces,
                sums: zeroed(&stream, 3 * camera.pixel_count() as usize)?,
                rejected: zeroed(&stream, 1)?,
                taken: zeroed(&stream, 1)?,
                rounds: None,
                list: zeroed(&stream, 1)?,
                span: Span::default(),
                device_span: zeroed(&stream, 1)?,
                rays: uninitialised(&stream, paths)?,
                throughputs: uninitialised(&stream, paths)?,
                radiances: uninitialised(&stream, paths)?,
                hits: uninitialised(&stream, paths)?,
                instances: uninitialised(&stream, placed_paths)?,
                light_instances: uninitialised(&stream, placed_paths)?,
                shadow_rays: uninitialised(&stream, paths)?,
                queue: uninitialised(&stream, paths)?,
                sieved: uninitialised(&stream, paths)?,
                flags: uninitialised(&stream, paths)?,
                counts: zeroed(&stream, counts::len(max_bounces))?,
                stamps: zeroed(&stream, clock::len(max_bounces))?,
                workspace: Workspace::for_strategy(&stream, strategy, capacity as usize)?,
                landed: (0..MOST_IN_FLIGHT)
                    .map(|_| Flight::new(&context, max_bounces))
                    .collect::<Result<_, Error>>()?,
                enqueued: VecDeque::new(),
                stream,
                kernels,
                megakernel: None,
                scene,
                select,
                strategy,
                partitioner: None,
                orders: false,
                shown: None,
                denoiser: None,
                multiprocessors: multiprocessors.unsigned_abs(),
                trial: Trial::new(Partition::Off, world.kind_count(), strategy),
                reach: Reach::of_all(max_bounces),
                busy_bounces: max_bounces + 1,
                records: true,
                capacity,
                growth: None,
                pace: Pace::default(),
                patience: Patience::new(max_bounces),
                hangs: false,
                context,
                compiler,
            })
        };
        watch.over("put the scene on the GPU", UPLOAD, put)
    }

    /// Lets waves grow up to so many paths, or shrink, to some 32 ms each, unless somebody looks. The larger they are, the less of their time goes
    /// to late bounces, whose few rays leave most of the device idle.
    pub fn growing(mut self, most: u32) -> CudaWave {
        let first = self.capacity;
        self.growth = Some(Growth {
            first,
            least: LEAST_PATHS,
            most,
            next: first,
        });
        self
    }

    /// Gives each wave so much time at the least, before the GPU counts as hung.
    pub fn patient(mut self, least: Duration) -> CudaWave {
        self.patience.set_least(least);
        self
    }

    /// What all that is under way may take.
    pub(crate) fn patience(&self) -> Duration {
        let paths = self.enqueued.iter().map(|flight| flight.shape.paths);
        self.patience.of(paths.map(f64::from).sum())
    }

    /// Whether something that it was given did not come in time. Then it must not be dropped, which would wait for it.
    pub(crate) fn hangs(&self) -> bool {
        self.hangs
    }

    /// Takes note of what came of a wait.
    pub(crate) fn noticing<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        self.hangs |= matches!(&result, Err(error) if error.is_hang());
        result
    }

    /// Paths that the next wave should have.
    pub(super) fn next_paths(&self) -> u32 {
        let held = self.capacity;
        self.growth.as_ref().map_or(held, |growth| growth.next)
    }

    /// Keeps to this from the next wave on.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        let somebody_comes = self.pace == Pace::Steady && pace != Pace::Steady;
        self.pace = pace;
        if let Some(growth) = self.growth.as_mut().filter(|_| somebody_comes) {
            growth.begin_film(self.camera.pixel_count(), pace);
        }
    }

    /// Sets the size of the next waves by the time that this one took.
    fn settle(&mut self, paths: u32, report: &Report) {
        let (held, pace) = (self.capacity, self.pace);
        let Some(growth) = self.growth.as_mut() else {
            return;
        };
        growth.settle(paths, report.milliseconds(), pace);
        let next = growth.next;
        if next > held && self.make_room(next as usize).is_err() {
            // Another program has the memory.
            if let Some(growth) = &mut self.growth {
                (growth.next, growth.most) = (held, held);
            }
        }
    }

    /// Buffers for so many paths, in the place of the old ones once the waves under way are done with those. On an error
    /// some may be larger than they have to be.
    fn make_room(&mut self, paths: usize) -> Result<(), Error> {
        self.forget_graphs();
        let stream = &self.stream;
        self.workspace = Workspace::for_strategy(stream, self.strategy, paths)?;
        self.rays = uninitialised(stream, paths)?;
        self.throughputs = uninitialised(stream, paths)?;
        self.radiances = uninitialised(stream, paths)?;
        self.hits = uninitialised(stream, paths)?;
        if self.scene.placed {
            self.instances = uninitialised(stream, paths)?;
            self.light_instances = uninitialised(stream, paths)?;
        }
        self.shadow_rays = uninitialised(stream, paths)?;
        self.queue = uninitialised(stream, paths)?;
        self.sieved = uninitialised(stream, paths)?;
        self.flags = uninitialised(stream, paths)?;
        self.capacity = paths as u32;
        if self.partitioner.is_some() {
            self.partitioner = Some(self.new_partitioner()?);
        }
        Ok(())
    }

    /// Takes these paths on.
    pub fn begin(&mut self, span: Span) -> Result<(), Error> {
        self.span = span;
        overwrite(&self.stream, &[span], &mut self.device_span)?;
        self.orders = self.begin_order()?;
        // By `off` every bounce has the lanes of all paths.
        self.busy_bounces = if self.strategy == Strategy::Off {
            self.max_bounces + 1
        } else {
            self.reach.bounces()
        };
        let shape = Shape {
            paths: span.path_count,
            orders: self.orders,
            busy_bounces: self.busy_bounces,
        };
        let flight = self.landed.pop().or_else(|| self.enqueued.pop_front());
        self.enqueued.extend(flight.map(|mut flight| {
            flight.begin(shape);
            flight
        }));
        Ok(())
    }

    /// Whether the wave that begins orders its hits; if so, there is what it needs for it.
    fn begin_order(&mut self) -> Result<bool, Error> {
        let orders = self.trial.begin();
        if orders && self.partitioner.is_none() {
            match self.new_partitioner() {
                Ok(partitioner) => self.partitioner = Some(partitioner),
                Err(error) if self.trial.choice() == Partition::On => return Err(error),
                Err(_) => {
                    // Another program has the memory.
                    self.trial.give_up();
                    return Ok(false);
                }
            }
        }
        if !self.trial.may_order() {
            self.drop_partitioner();
        }
        Ok(orders)
    }

    /// Whether the wave that began last was launched as a graph.
    pub fn is_graph(&self) -> bool {
        self.enqueued.back().is_some_and(Flight::is_graph)
    }

    /// Whether the wave is of the size of the one before.
    pub(super) fn repeats(&self) -> bool {
        let flight = self.enqueued.back();
        self.records && flight.is_some_and(|flight| flight.repeats)
    }

    /// Launches all stages by the graph that was recorded of them; `false` if there is none.
    pub(super) fn launch_graph(&mut self) -> Result<bool, Error> {
        let flight = self.enqueued.back_mut();
        let Some(graph) = flight.and_then(Flight::graph) else {
            return Ok(false);
        };
        graph.launch()?;
        Ok(true)
    }

    /// Keeps what was recorded of the stages. After a wave that could not be, none is recorded any more.
    pub(super) fn keep_graph(&mut self, graph: Option<Graph>) {
        self.records = graph.is_some();
        if let Some(flight) = self.enqueued.back_mut() {
            flight.keep(graph);
        }
    }

    /// Forgets what was recorded: kernels or buffers are others now.
    pub(super) fn forget_graphs(&mut self) {
        for flight in self.landed.iter_mut().chain(&mut self.enqueued) {
            flight.forget();
        }
    }

    /// Sends the counts and stamps of the wave that was enqueued last to the host, behind all its work.
    pub fn post_report(&mut self) -> Result<(), Error> {
        if let Some(flight) = self.enqueued.back_mut() {
            flight.counts.post(&self.stream, self.counts.as_view())?;
            flight.stamps.post(&self.stream, self.stamps.as_view())?;
        }
        Ok(())
    }

    /// Whether the host should land a wave before it enqueues another.
    pub fn is_full(&self) -> bool {
        self.enqueued.len() >= self.pace.in_flight()
    }

    /// Waits for the oldest wave that is enqueued; `None` if none is.
    pub fn land(&mut self) -> Result<Option<Report>, Error> {
        let Some(flight) = self.enqueued.front() else {
            return Ok(None);
        };
        let paths = f64::from(flight.shape.paths);
        let came = flight.arrived(self.patience.of(paths), self.max_bounces);
        // One that does not come stays where it is.
        let (counts, times) = self.noticing(came)?;
        let Some(flight) = self.enqueued.pop_front() else {
            return Ok(None);
        };
        let report = Report {
            lanes: self.launched(&counts, flight.shape.busy_bounces),
            counts,
            times,
        };
        let (Shape { paths, orders, .. }, repeats) = (flight.shape, flight.repeats);
        self.landed.push(flight);
        self.patience.learn(paths, report.milliseconds());
        self.reach
            .learn(paths, &report.counts, self.multiprocessors);
        self.trial.learn(Timed {
            paths,
            orders,
            repeats,
            milliseconds: report.milliseconds(),
        });
        self.settle(paths, &report);
        Ok(Some(report))
    }

    /// The film. Waits for all waves under way.
    pub fn exposed(&self) -> Result<Exposed, Error> {
        let sums = download(&self.stream, &self.sums)?;
        let rejected = download(&self.stream, &self.rejected)?.iter().sum();
        Ok(Exposed { sums, rejected })
    }

    /// A grid over the lanes of the queue, whose length the device alone knows: a small one where none are expected.
    pub fn over_lanes(&self, bounce: u32) -> Launch {
        let blocks = self.blocks_over(self.span.path_count, self.is_busy(bounce));
        Launch::blocks(blocks, BLOCK_THREADS)
    }

    fn blocks_over(&self, paths: u32, busy: bool) -> u32 {
        let each = if busy { BLOCKS_PER_MULTIPROCESSOR } else { 1 };
        paths
            .div_ceil(BLOCK_THREADS)
            .min(each * self.multiprocessors)
    }

    /// Whether paths are expected in a bounce.
    pub fn is_busy(&self, bounce: u32) -> bool {
        bounce < self.busy_bounces
    }

    /// Threads that went over the rays of each bounce of a wave that counted this, and of which so many bounces were
    /// expected to be busy: grids of one size, as often as it takes.
    fn launched(&self, counts: &[u32], busy_bounces: u32) -> Vec<u64> {
        let paths = counts[counts::rays(0)];
        let lanes = |bounce: u32| match self.strategy {
            Strategy::Off => paths,
            _ => counts[counts::rays(bounce)],
        };
        (0..=self.max_bounces)
            .map(|bounce| {
                let blocks = self.blocks_over(paths, bounce < busy_bounces);
                let grid = u64::from(blocks * BLOCK_THREADS);
                u64::from(lanes(bounce)).div_ceil(grid).max(1) * grid
            })
            .collect()
    }

    /// Where the counts hold the lanes of the queue, when `count` is the place of its number of live paths: by `off` the
    /// queue never gets shorter.
    pub fn lanes(&self, count: usize) -> Range<usize> {
        let place = if self.strategy == Strategy::Off {
            counts::rays(0)
        } else {
            count
        };
        place..place + 1
    }

    /// Orders hits by the kind of material from the next wave on, or no longer, or finds out whether to.
    pub fn set_partition(&mut self, partition: Partition) -> Result<(), Error> {
        self.trial.choose(partition);
        if partition == Partition::On && self.partitioner.is_none() {
            self.partitioner = Some(self.new_partitioner()?);
        }
        Ok(())
    }

    /// What became of it.
    pub fn trial(&self) -> &Trial {
        &self.trial
    }

    /// Gives its memory back, which graphs of waves that order hits may name.
    fn drop_partitioner(&mut self) {
        if self.partitioner.take().is_some() {
            for flight in self.landed.iter_mut().chain(&mut self.enqueued) {
                flight.forget_ordered();
            }
        }
    }

    fn new_partitioner(&self) -> Result<Partitioner, Error> {
        let capacity = self.capacity as usize;
        Partitioner::new(&self.compiler, &self.context, &self.stream, capacity)
    }

    /// Sieves by another strategy from the next wave on.
    pub fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        let select = Select::new(&self.compiler, &self.context, strategy)?;
        let capacity = self.workspace.capacity();
        self.workspace = Workspace::for_strategy(&self.stream, strategy, capacity)?;
        self.select = select;
        self.strategy = strategy;
        self.trial.set_strategy(strategy);
        self.forget_graphs();
        Ok(())
    }

    /// Loads the kernel that traces whole paths, unless it is there.
    pub fn load_megakernel(&mut self) -> Result<(), Error> {
        if self.megakernel.is_none() {
            let kernel = Megakernel::new(&self.compiler, &self.context, self.scene)?;
            self.megakernel = Some(kernel);
        }
        Ok(())
    }

    /// What previews are made by, on this GPU.
    pub(crate) fn new_denoiser(&self) -> Result<Denoiser, Error> {
        Denoiser::new(&self.compiler, &self.context)
    }

    /// Forgets what the film held before.
    fn forget_earlier(&mut self) {
        if let Some(denoiser) = &mut self.denoiser {
            denoiser.forget();
        }
    }

    /// Looks through another camera, at a black film.
    pub fn set_camera(&mut self, camera: Camera) -> Result<(), Error> {
        self.forget_earlier();
        let channels = 3 * camera.pixel_count() as usize;
        if self.sums.len() != channels {
            self.sums = zeroed(&self.stream, channels)?;
            self.forget_graphs();
        }
        if let Some(growth) = &mut self.growth {
            growth.begin_film(camera.pixel_count(), self.pace);
        }
        if camera != self.camera {
            self.trial.look_anew();
        }
        self.camera = camera;
        overwrite(&self.stream, &[camera], &mut self.device_camera)?;
        self.clear_film()
    }

    /// Puts this onto the film, in place of what was there.
    pub fn set_film(&mut self, exposed: &Exposed) -> Result<(), Error> {
        self.forget_earlier();
        self.sums = upload(&self.stream, &exposed.sums)?;
        self.rejected = upload(&self.stream, &[exposed.rejected])?;
        self.forget_graphs();
        Ok(())
    }

    /// Makes the film black.
    pub fn clear_film(&mut self) -> Result<(), Error> {
        let black = compaction::Error::driver("clear the film");
        self.stream
            .memset_zeros(&mut self.sums)
            .and_then(|()| self.stream.memset_zeros(&mut self.rejected))
            .map_err(black)?;
        Ok(())
    }
}
