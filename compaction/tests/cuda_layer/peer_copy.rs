//! Tests of copies from one GPU to another.

use std::sync::Arc;

use compaction::{
    cuda::{PeerCopy, download, upload},
    cudarc::driver::CudaContext,
};

use crate::common::{Gpu, assert_error};

/// Tests copies whose source and destination are the same GPU.
pub(crate) fn a_peer_copy_within_a_gpu_arrives(gpu: &Gpu) {
    copy_between(&gpu.context, &gpu.context);
}

pub(crate) fn between([here, there]: &[Arc<CudaContext>; 2]) {
    copy_between(here, there);
    copy_between(there, here);
}

fn copy_between(from: &Arc<CudaContext>, to: &Arc<CudaContext>) {
    let (from, to) = (from.new_stream().unwrap(), to.new_stream().unwrap());
    let mut peer_copy = PeerCopy::<u64>::new(&from, &to, 100_001).unwrap();
    assert!(peer_copy.has_arrived().unwrap());
    assert!(peer_copy.wait().unwrap().is_empty());
    for round in 1..=5_u64 {
        let items: Vec<u64> = (0..100_000).map(|item| item * round).collect();
        let (items_there, last) = (upload(&from, &items).unwrap(), upload(&from, &[round]));
        let last = last.unwrap();
        peer_copy
            .post(&from, &[items_there.as_view(), last.as_view()])
            .unwrap();
        // The copy contains what the buffer held when the stream reached it.
        let after = upload(&from, &[0_u64; 7]).unwrap();
        drop((items_there, after));
        let arrived = download(&to, &peer_copy.wait().unwrap()).unwrap();
        assert!(peer_copy.has_arrived().unwrap());
        assert_eq!(arrived, [items, vec![round]].concat());
    }
    let few = upload(&from, &[1_u64, 2, 3]).unwrap();
    peer_copy
        .post(&from, &[few.slice(1..), few.slice(..0)])
        .unwrap();
    assert_eq!(download(&to, &peer_copy.wait().unwrap()).unwrap(), [2, 3]);
    peer_copy.post(&from, &[]).unwrap();
    assert!(peer_copy.wait().unwrap().is_empty());

    let many = upload(&from, &[0_u64; 100_002]).unwrap();
    assert_error(
        peer_copy.post(&from, &[many.as_view()]),
        "the buffer of a copy between GPUs: room for 100001 items where up to 100002 may be written; make it longer",
    );
    let other = from.context().new_stream().unwrap();
    peer_copy.post(&other, &[few.as_view()]).unwrap();
    assert_eq!(
        download(&to, &peer_copy.wait().unwrap()).unwrap(),
        [1, 2, 3]
    );
    if from.context() != to.context() {
        assert_error(
            peer_copy.post(&to, &[few.as_view()]),
            "the source stream of a copy between GPUs: in another CUDA context",
        );
    }
    // Dropping it while a copy is in flight must be harmless.
    peer_copy.post(&from, &[many.slice(..100_000)]).unwrap();
}
