//! Tests of the errors of GPU calls: each names the call and the argument as the caller knows them.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/devices.rs"]
mod devices;
mod aggregates;
mod calls;
mod places;

use std::sync::Arc;

use common::{Gpu, Tests, add_tests, assert_error};
use compaction::{
    cuda::{self, Graph, In, InOut, Launch, Source},
    cudarc::driver::CudaContext,
};
use places::{Fault, Places};

fn main() {
    let tests = Tests::new()
        .needs(
            "no two GPUs",
            devices::two_gpus(),
            "cuda_names_what_is_in_another_context",
            |[here, there]| {
                let streams = [here.new_stream().unwrap(), there.new_stream().unwrap()];
                for call in calls::all() {
                    for &argument in call.arguments {
                        Places::new(&streams, Fault::Context(argument)).check(
                            &call,
                            argument,
                            "in another CUDA context than the stream of the call; use one context for both",
                        );
                    }
                    Places::new(&streams, Fault::Kernels).check(
                        &call,
                        "",
                        "in another CUDA context than the stream of the call; use one context for both",
                    );
                }
            },
        )
        .needs(
            "no two GPUs",
            devices::two_gpus(),
            "cuda_names_the_parameters_of_own_kernels",
            names_parameters,
        );
    add_tests!(tests; gpu "cuda_" of_one_gpu { names_what_is_on_another_stream_of_a_capture, names_what_is_too_short })
        .run()
}

mod of_one_gpu {
    use super::{Fault, Gpu, Places, calls};

    pub(crate) fn names_what_is_on_another_stream_of_a_capture(gpu: &Gpu) {
        let other = gpu.context.new_stream().unwrap();
        let streams = [gpu.stream.clone(), other];
        for call in calls::all() {
            for &argument in call.arguments {
                Places::new(&streams, Fault::Capture(argument)).check(
                    &call,
                    argument,
                    "on another stream while a graph is being captured; allocate it on the stream of the call",
                );
            }
        }
    }

    pub(crate) fn names_what_is_too_short(gpu: &Gpu) {
        let streams = [gpu.stream.clone(), gpu.stream.clone()];
        for call in calls::all() {
            for &(argument, line) in call.too_short {
                let places = Places::new(&streams, Fault::Length(argument));
                let error = (call.run)(&places).expect_err(line);
                assert_eq!(error.to_string(), line);
            }
        }
    }
}

compaction::shared! {
    /// Two buffers: `struct Both { const u32 *from; u32 *to; };`
    struct Both<'a> {
        from: In<u32>,
        to: InOut<u32>,
    }
}

fn names_parameters(contexts: &[Arc<CudaContext>; 2]) {
    type Plain = (In<u32>, InOut<u32>, u32);
    let [here, there] = contexts
        .each_ref()
        .map(|context| context.new_stream().unwrap());
    let text = r#"
        struct Both { const u32 *from; u32 *to; };
        // plain(u32) is defined below.
        extern "C" __global__ void plain(const u32 *from, u32 *to, u32 rounds) { *to = *from + rounds; }
        extern "C" __global__ void grouped(Both both) { *both.to = *both.from; }"#;
    let source = Source::new("both.cu", text)
        .kernel::<Plain>("plain")
        .kernel::<(Both<'static>,)>("grouped");
    let module = cuda::Compiler::new().load(&contexts[0], &source).unwrap();
    let plain = module.kernel::<Plain>("plain").unwrap();
    let grouped = module.kernel::<(Both<'static>,)>("grouped").unwrap();

    let (near, far) = (
        cuda::upload(&here, &[1_u32]).unwrap(),
        cuda::upload(&there, &[1_u32]).unwrap(),
    );
    let (mut out, mut far_out) = (
        cuda::zeroed::<u32>(&here, 1).unwrap(),
        cuda::zeroed::<u32>(&there, 1).unwrap(),
    );
    let once = Launch::blocks(1, 1);
    let reason = "in another CUDA context than the stream of the call; use one context for both";
    assert_error(
        plain.launch(&here, once, (far.as_view(), out.as_view_mut(), 1)),
        &format!("argument \"from\" of kernel \"plain\": {reason}"),
    );
    assert_error(
        plain.launch(&here, once, (near.as_view(), far_out.as_view_mut(), 1)),
        &format!("argument \"to\" of kernel \"plain\": {reason}"),
    );
    let args = Both {
        from: near.as_view(),
        to: far_out.as_view_mut(),
    };
    assert_error(
        grouped.launch(&here, once, (args,)),
        &format!("field \"to\" of argument \"both\" of kernel \"grouped\": {reason}"),
    );
    assert_error(
        plain.launch(&there, once, (far.as_view(), far_out.as_view_mut(), 1)),
        &format!("kernel \"plain\": {reason}"),
    );
    let mut graph = Graph::record(&here, || {
        plain.launch(&here, once, (near.as_view(), out.as_view_mut(), 1))
    })
    .unwrap();
    assert_error(
        graph.launch(&mut (&near, &mut far_out)),
        &format!("buffer 2 for the launch of a graph: {reason}"),
    );
    assert_eq!(cuda::download(&here, &out).unwrap(), [0]);
}
