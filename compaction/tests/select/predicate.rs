//! Tests of selection by a user-defined predicate.

use std::sync::Arc;

use compaction::{
    Count, CountWord, Error,
    cuda::{Cache, Compiler, Nvrtc, Target, download, upload, zeroed},
    layout::Shared,
    select::{Predicate, SelectIf, TILE_ITEMS},
};

use crate::{
    Eight,
    backends::{Cuda, word},
    cases::SIZES,
    common::{Gpu, lengths},
    random::items,
    sizes::Pairs3,
};

/// Value of bytes that a call must not write.
const GUARD: u8 = 0xa5;

/// Predicate on the first word of an item of eight.
pub(crate) const FIRST_OF_EIGHT: &str = "struct Eight { u32 words[8]; };
bool keep(const Eight &item) { return item.words[0] % 3 == 0; }";

/// Predicate on the first number of an item of three.
const FIRST_OF_PAIRS: &str = "struct Pairs3 { u16 numbers[3]; };
bool keep(Pairs3 item) { return item.numbers[0] % 3 == 0; }";

/// Checks that a compile error names the user's own file, line and text.
pub(crate) fn a_predicate_that_does_not_compile_shows_its_line(nvrtc: &Arc<Nvrtc>) {
    let compiler = Compiler::new()
        .cache(Cache::off())
        .nvrtc(Some(nvrtc.clone()));
    let wrong = Predicate::new(
        "even.cuh",
        "bool keep(u32 item) {\n    return itme % 2 == 0;\n}",
    );
    let error = compiler
        .image(&SelectIf::<u32>::sources(&wrong).unwrap()[0], 90)
        .unwrap_err();
    let Error::Compile { log, .. } = &error else {
        panic!("{error}")
    };
    assert!(
        log.contains("even.cuh(2)") && log.contains("itme"),
        "{error}"
    );
    let drifted = Predicate::new("eight.cuh", FIRST_OF_EIGHT.replace("words[8]", "words[7]"));
    let error = compiler
        .image(&SelectIf::<Eight>::sources(&drifted).unwrap()[0], 90)
        .unwrap_err();
    assert!(error.to_string().contains("Eight"), "{error}");
}

pub(crate) fn a_predicate_without_keep_is_refused() {
    let without_keep = Predicate::new("no\"ne\n.cuh", format!("bool kept;\n{}", "/".repeat(200)));
    let error = SelectIf::<u32>::sources(&without_keep).unwrap_err();
    let shown = format!("bool kept; {}…", "/".repeat(69));
    assert_eq!(
        error.to_string(),
        format!("no'ne .cuh defines no bool keep(u32): \"{shown}\"")
    );
}

/// Tests paths with line breaks or quotes, equal to a header of this crate, not normalised, or empty.
pub(crate) fn a_predicate_has_any_path(nvrtc: &Arc<Nvrtc>) {
    let paths = [
        ("a\"b\\c\n#error\n.cuh", "a'b/c #error .cuh(2)"),
        ("order.cuh", "order.cuh(2)"),
        ("predicate", "predicate(2)"),
        ("./some/../where.cuh", "./some/../where.cuh(2)"),
        ("", "the predicate(2)"),
    ];
    for (path, shown) in paths {
        let compile = |text: &str| {
            let predicate = Predicate::new(path, text);
            let sources = SelectIf::<u32>::sources(&predicate).unwrap();
            nvrtc.compile(&sources[0], Target::Ptx(75))
        };
        compile("bool keep(u32 item) { return item; }").unwrap();
        // `keep` in a comment defines nothing. `SelectIf::new` relies on the compiler to find this out.
        let error = compile("// keep").unwrap_err().to_string();
        assert!(error.contains("\"keep\" is undefined"), "{error}");
        let error = compile("bool keep(u32 item) {\nreturn itme; }").unwrap_err();
        let names_error =
            |line: &str| line.trim_start().starts_with(shown) && line.contains("itme");
        assert!(error.to_string().lines().any(names_error), "{error}");
    }
}

pub(crate) fn keeps_items_that_satisfy_a_predicate(gpu: &Gpu) {
    let cuda = Cuda::new(gpu);
    let thirds = "bool keep(u32 item) { return item % 3 == 0; }";
    keeps::<u32, u32>(&cuda, thirds, |item| item % 3 == 0);
    keeps::<Eight, u32>(&cuda, FIRST_OF_EIGHT, |item| item.words[0] % 3 == 0);
    keeps::<u8, u32>(
        &cuda,
        "bool keep(u8 item) { return item % 3 == 0; }",
        |item| item % 3 == 0,
    );
    keeps::<Pairs3, u32>(&cuda, FIRST_OF_PAIRS, |item| item.numbers[0] % 3 == 0);
    let mut cuda = Cuda::new(gpu);
    cuda.portion_tiles = Some(3);
    keeps::<u32, u64>(&cuda, thirds, |item| item % 3 == 0);
    let without_keep = Predicate::new("none.cuh", "bool kept;");
    let error = SelectIf::<u32, u32>::new(&gpu.compiler, &gpu.context, &without_keep).unwrap_err();
    assert!(matches!(error, Error::NoKeep { .. }), "{error}");
}

/// Selects by a predicate in CUDA and compares with the same predicate in Rust.
fn keeps<T: Shared, W: CountWord>(cuda: &Cuda<'_>, text: &str, keep: fn(&T) -> bool) {
    let stream = &cuda.gpu.stream;
    let predicate = Predicate::new("keep.cuh", text);
    let select = SelectIf::<T, W>::new(&cuda.gpu.compiler, &cuda.gpu.context, &predicate).unwrap();
    let guard: T = bytemuck::pod_read_unaligned(&vec![GUARD; size_of::<T>()]);
    let tile = TILE_ITEMS as usize;
    for len in lengths(SIZES.iter().copied().chain([300 * tile + 1])) {
        // The view begins inside its buffer, and the count is smaller than the view.
        let (start, more) = (len % 5, 7);
        let items = items::<T>(start + len + more);
        let device_items = upload(stream, &items).unwrap();
        let count = upload(stream, &[word::<W>(len)]).unwrap();
        let mut out = upload(stream, &vec![guard; len + more]).unwrap();
        let mut flags = upload(stream, &vec![GUARD; len + more]).unwrap();
        let mut selected = zeroed::<W>(stream, 1).unwrap();
        let mut workspace = cuda.workspace(len + more);
        select
            .items(
                stream,
                device_items.slice(start..),
                Count::Device(count.as_view()),
                &mut out,
                &mut selected,
                &mut workspace,
            )
            .unwrap();
        select
            .flags(
                stream,
                device_items.slice(start..),
                Count::Device(count.as_view()),
                &mut flags,
                &workspace,
            )
            .unwrap();
        let counted = &items[start..start + len];
        let expected: Vec<T> = counted.iter().filter(|item| keep(item)).copied().collect();
        let kept = workspace.read(stream, &selected).unwrap();
        assert_eq!(kept, expected.len(), "{len} {}", T::NAME);
        let out = download(stream, &out).unwrap();
        let bytes = |items: &[T]| bytemuck::cast_slice::<T, u8>(items).to_vec();
        assert!(bytes(&out[..kept]) == bytes(&expected), "{len} {}", T::NAME);
        assert!(
            bytes(&out[kept..]).iter().all(|&byte| byte == GUARD),
            "{len} {}",
            T::NAME
        );
        let expected_flags: Vec<u8> = counted.iter().map(|item| u8::from(keep(item))).collect();
        let flags = download(stream, &flags).unwrap();
        assert!(
            flags[..len] == expected_flags && flags[len..].iter().all(|&flag| flag == GUARD),
            "flags of {len} {}",
            T::NAME
        );
    }
}
