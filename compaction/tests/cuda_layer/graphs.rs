//! Tests of recorded graphs: what they need at a launch, and what cannot be recorded.

use std::sync::Arc;

use compaction::{
    Count, Error,
    cuda::{self, Graph, InOut, Kernel, Launch, Source, Timeline},
    cudarc::driver::{CudaSlice, CudaStream},
    gather::{self, Gather},
    radix_sort::Order,
    reduce::{self, Operator, Reduce},
    runs::{self, Unique},
    segmented_reduce::{self, SegmentedReduce},
    select::{Select, Strategy, Workspace},
    top_k::{self, TopK},
};

use crate::common::{Gpu, assert_error};

const COUNT_UP: &str = "extern \"C\" __global__ void count_up(u32 *counter) { counter[0] += 1; }";

fn count_up(gpu: &Gpu) -> Kernel<(InOut<u32>,)> {
    let source = Source::new("kernels/count_up.cu", COUNT_UP).kernel::<(InOut<u32>,)>("count_up");
    let module = gpu.compiler.load(&gpu.context, &source).unwrap();
    module.kernel("count_up").unwrap()
}

/// Records a graph that selects from `flags`. Its buffers are dropped, except those that are returned.
fn record_selection(gpu: &Gpu, stream: &Arc<CudaStream>) -> (Graph, Selection) {
    let select = Select::new(&gpu.compiler, &gpu.context, Strategy::LookBack).unwrap();
    let mut buffers = Selection {
        flags: cuda::upload(stream, &[1_u8, 0, 1, 1]).unwrap(),
        out: cuda::zeroed(stream, 4).unwrap(),
        selected: cuda::zeroed(stream, 1).unwrap(),
        workspace: Workspace::with_capacity(stream, 4).unwrap(),
    };
    let Selection {
        flags,
        out,
        selected,
        workspace,
    } = &mut buffers;
    let graph = Graph::record(stream, || {
        select.indices(stream, &*flags, Count::All, out, selected, workspace)
    });
    (graph.unwrap(), buffers)
}

struct Selection {
    flags: CudaSlice<u8>,
    out: CudaSlice<u32>,
    selected: CudaSlice<u32>,
    workspace: Workspace,
}

pub(crate) fn a_graph_needs_all_its_buffers_at_each_launch(gpu: &Gpu) {
    let stream = &gpu.stream;
    let (mut graph, mut buffers) = record_selection(gpu, stream);
    let Selection {
        flags,
        out,
        selected,
        workspace,
    } = &mut buffers;
    for _ in 0..2 {
        cuda::clear(stream, selected).unwrap();
        graph
            .launch(&mut (&*flags, &mut *out, &mut *selected, &mut *workspace))
            .unwrap();
        assert_eq!(workspace.read(stream, &*selected).unwrap(), 3);
        assert_eq!(cuda::download(stream, out).unwrap(), [0, 2, 3, 0]);
        assert_error(
            graph.launch(&mut ()),
            "the graph reads the flags of select, which the launch was not given; give it all buffers and workspaces of \
             the recorded calls",
        );
        assert_error(
            graph.launch(&mut (&*flags, &*out, &mut *selected, &mut *workspace)),
            "the graph writes the output of select, which the launch was not given for writing; give it all",
        );
        assert_error(
            graph.launch(&mut (&*flags, out.slice_mut(1..), &mut *selected, &mut *workspace)),
            "the graph writes the output of select, which the launch was not given for writing; give it all",
        );
    }
    // The workspace is gone; further buffers do not make up for it.
    let others = (0..20).map(|_| cuda::zeroed::<u32>(stream, 1).unwrap());
    let mut others: Vec<_> = others.collect();
    let Selection {
        flags,
        out,
        selected,
        ..
    } = buffers;
    assert_error(
        graph.launch(&mut (&flags, out, selected, &mut others)),
        "the workspace of select, which the launch was not given",
    );
}

pub(crate) fn a_graph_keeps_its_kernels_and_marks(gpu: &Gpu) {
    let mut counter = cuda::zeroed::<u32>(&gpu.stream, 1).unwrap();
    let mut graph = {
        let kernel = count_up(gpu);
        let mut timeline = Timeline::new(&gpu.context, 1).unwrap();
        Graph::record(&gpu.stream, || {
            timeline.mark(&gpu.stream)?;
            cuda::clear(&gpu.stream, &mut counter)?;
            kernel.launch(&gpu.stream, Launch::blocks(1, 1), (counter.as_view_mut(),))?;
            kernel.launch(&gpu.stream, Launch::blocks(1, 1), (counter.as_view_mut(),))
        })
        .unwrap()
    };
    for _ in 0..3 {
        graph.launch(&mut counter).unwrap();
        assert_eq!(cuda::download(&gpu.stream, &counter).unwrap(), [2]);
    }
}

pub(crate) fn work_of_others_cannot_be_recorded(gpu: &Gpu) {
    let kernel = count_up(gpu);
    let stream = &gpu.stream;
    let mut counter = cuda::zeroed::<u32>(stream, 1).unwrap();
    let refused = Graph::record(stream, || {
        kernel.launch(stream, Launch::blocks(1, 1), (counter.as_view_mut(),))?;
        stream
            .memset_zeros(&mut counter)
            .map_err(Error::driver("clear"))
    });
    assert_error(
        refused,
        "work that this crate did not enqueue cannot be recorded",
    );
    let refused = Graph::record(stream, || cuda::overwrite(stream, &[1], &mut counter));
    assert_error(refused, "an upload cannot be recorded into a graph");
    assert_eq!(cuda::download(stream, &counter).unwrap(), [0]);
}

pub(crate) fn a_graph_is_given_the_workspace_of_any_operation(gpu: &Gpu) {
    let (stream, compiler, context) = (&gpu.stream, &gpu.compiler, &gpu.context);
    let mut items = cuda::upload(stream, &[4_u32, 4, 1, 9, 9, 9]).unwrap();
    let offsets = cuda::upload(stream, &[0_u32, 2, 6]).unwrap();
    let zeroed = |len| cuda::zeroed::<u32>(stream, len).unwrap();
    let (mut sum, mut sums) = (zeroed(1), zeroed(2));
    let (mut unique, mut count) = (zeroed(6), zeroed(1));
    let (mut gathered, mut largest, mut indices) = (zeroed(3), zeroed(2), zeroed(2));
    let add = Reduce::<u32>::new(compiler, context, Operator::Sum).unwrap();
    let add_segments = SegmentedReduce::<u32>::new(compiler, context, Operator::Sum).unwrap();
    let find_unique = Unique::<u32>::new(compiler, context).unwrap();
    let gather = Gather::<u32>::new(compiler, context).unwrap();
    let top = TopK::<u32>::new(compiler, context, Order::Descending).unwrap();
    let mut workspaces = (
        reduce::Workspace::with_capacity(stream, 6).unwrap(),
        segmented_reduce::Workspace::<u32>::with_capacity(stream, 6).unwrap(),
        runs::Workspace::<u32>::with_capacity(stream, 6).unwrap(),
        gather::Workspace::new(stream).unwrap(),
        top_k::Workspace::<u32>::with_capacity(stream, 6, 2).unwrap(),
    );
    let (of_sum, of_sums, of_unique, of_gather, of_top) = &mut workspaces;
    let graph = Graph::record(stream, || {
        add.items(stream, &items, Count::All, &mut sum, of_sum)?;
        add_segments.by_offsets(stream, &items, &offsets, Count::All, &mut sums, of_sums)?;
        find_unique.items(
            stream,
            &items,
            Count::All,
            &mut unique,
            &mut count,
            of_unique,
        )?;
        gather.items(
            stream,
            &items,
            offsets.slice(..2),
            Count::All,
            &mut gathered,
            of_gather,
        )?;
        top.keys_and_indices(
            stream,
            &items,
            Count::All,
            2,
            &mut largest,
            &mut indices,
            of_top,
        )
    });
    let mut graph = graph.unwrap();
    for turn in 0..2_u32 {
        let numbers = [4 + turn, 4, 1, 9, 9 + turn, 9];
        cuda::overwrite(stream, &numbers, &mut items).unwrap();
        let outputs = (&mut sum, &mut sums, &mut unique, &mut count);
        let others = (&mut gathered, &mut largest, &mut indices);
        graph
            .launch(&mut (&items, &offsets, outputs, others, &mut workspaces))
            .unwrap();
        assert_eq!(cuda::download(stream, &sum).unwrap(), [36 + 2 * turn]);
        assert_eq!(
            cuda::download(stream, &sums).unwrap(),
            [8 + turn, 28 + turn]
        );
        assert_eq!(
            cuda::download(stream, &count).unwrap(),
            [[3], [6]][turn as usize]
        );
        assert_eq!(cuda::download(stream, &gathered).unwrap(), [4 + turn, 1, 0]);
        assert_eq!(cuda::download(stream, &largest).unwrap(), [9 + turn, 9]);
    }
    assert_error(
        graph.launch(&mut (&items, &offsets, &mut workspaces)),
        "the graph writes the output of reduce, which the launch was not given for writing",
    );
    let outputs = (&mut sum, &mut sums, &mut unique);
    assert_error(
        graph.launch(&mut (&items, &offsets, outputs, &mut workspaces)),
        "the graph writes the count that unique writes, which the launch was not given for writing",
    );
    let outputs = (&mut sum, &mut sums, &mut unique, &mut count);
    assert_error(
        graph.launch(&mut (&items, &offsets, outputs, &mut gathered, &mut workspaces)),
        "the graph writes the keys output of top_k, which the launch was not given for writing",
    );
}

pub(crate) fn a_graph_names_the_buffers_of_own_kernels(gpu: &Gpu) {
    let stream = &gpu.stream;
    let count_up = count_up(gpu);
    let mut counter = cuda::zeroed::<u32>(stream, 1).unwrap();
    let mut graph = Graph::record(stream, || {
        count_up.launch(stream, Launch::blocks(1, 1), (counter.as_view_mut(),))
    })
    .unwrap();
    assert_error(
        graph.launch(&mut ()),
        "the graph writes argument \"counter\" of kernel \"count_up\", which the launch was not given for writing",
    );
    let mut graph = Graph::record(stream, || cuda::clear(stream, &mut counter)).unwrap();
    assert_error(
        graph.launch(&mut ()),
        "the graph writes the buffer to clear,",
    );
}
