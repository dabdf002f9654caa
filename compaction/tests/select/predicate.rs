//! Tests of selection by a user-defined predicate.

use std::sync::Arc;

use compaction::{
    Count, CountWord, Error,
    cuda::{Cache, Compiler, Nvrtc, Target, download, upload, zeroed},
    layout::Shared,
    select::{Parameters, Predicate, SelectIf, TILE_ITEMS},
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
        format!(
            "no'ne .cuh defines no bool keep(u32), as the types of items and parameters require: \"{shown}\""
        )
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

/// Checks that nothing converts silently: neither 2³² to 0, nor a fraction to an integer, nor a number to a `bool`.
pub(crate) fn a_predicate_of_another_type_is_refused(nvrtc: &Arc<Nvrtc>) {
    fn compile<T: Shared, P: Parameters>(nvrtc: &Arc<Nvrtc>, text: &str) -> Result<(), Error> {
        let compiler = Compiler::new()
            .cache(Cache::off())
            .nvrtc(Some(nvrtc.clone()));
        SelectIf::<T, u32, P>::image(&compiler, &Predicate::new("keep.cuh", text), 90).map(drop)
    }
    type Compile = fn(&Arc<Nvrtc>, &str) -> Result<(), Error>;
    let cases: [(Compile, &str, &str, &[&str]); 4] = [
        (
            compile::<u64, ()>,
            "bool keep(u64)",
            "bool keep(const u64 &n) { return n == 0; }",
            &[
                "bool keep(u32 n) { return n == 0; }",
                "int keep(u64 n) { return n & 6; }",
                "bool keep(u64 &n) { return n; }",
                "bool keep(u32 n) { return n; } bool keep(f32 n) { return n; }",
                "bool keep(u64 n, u32 most) { return n < most; }",
            ],
        ),
        (
            compile::<f32, ()>,
            "bool keep(f32)",
            "bool keep(f32 x) { return x > 0; } bool keep(u32 n) { return n; }",
            &["bool keep(i32 x) { return x > 0; }", "f32 keep(f32 x) { return x; }"],
        ),
        (
            compile::<u32, f32>,
            "bool keep(u32, f32)",
            "bool keep(const u32 &n, const f32 &most) { return n < most; }",
            &[
                "bool keep(u32 n) { return n; }",
                "bool keep(u32 n, u32 most) { return n < most; }",
                "bool keep(f32 most, u32 n) { return n < most; }",
            ],
        ),
        (
            compile::<Eight, Pairs3>,
            "bool keep(Eight, Pairs3)",
            "struct Eight { u32 words[8]; }; struct Pairs3 { u16 numbers[3]; };
             bool keep(const Eight &item, Pairs3 few) { return item.words[0] < few.numbers[0]; }",
            &["struct Eight { u32 words[8]; }; struct Pairs3 { u16 numbers[3]; };
               bool keep(const Pairs3 &few, const Eight &item) { return item.words[0] < few.numbers[0]; }"],
        ),
    ];
    for (compile, expected, right, wrong) in cases {
        compile(nvrtc, right).unwrap();
        for &text in wrong {
            let error = compile(nvrtc, text).unwrap_err();
            let words = format!("keep.cuh defines no {expected}, as the types");
            assert!(error.to_string().starts_with(&words), "{text}: {error}");
        }
    }
}

/// Checks that a text can include `cuda_fp16.h`, or that the error says which package has it.
pub(crate) fn a_predicate_includes_headers_of_cuda(nvrtc: &Arc<Nvrtc>) {
    let text = "#include <cuda_fp16.h>
bool keep(u16 bits, f32 min) { return __half2float(__ushort_as_half(bits)) > min; }";
    let predicate = Predicate::new("half.cuh", text);
    let sources = SelectIf::<u16, u32, f32>::sources(&predicate).unwrap();
    match nvrtc.compile(&sources[0], Target::Cubin(90)) {
        Ok(compiled) => assert_eq!(compiled.usage().len(), 3),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("pip install nvidia-cuda-runtime"), "{text}");
        }
    }
    let predicate = Predicate::new("none.cuh", "#include <no_such_header.h>\nbool keep(u32);");
    let sources = SelectIf::<u32>::sources(&predicate).unwrap();
    let error = nvrtc.compile(&sources[0], Target::Cubin(90)).unwrap_err();
    assert!(error.to_string().contains("no_such_header.h"), "{error}");
}

pub(crate) fn a_threshold_changes_without_compiling(gpu: &Gpu) {
    let above = Predicate::new("above.cuh", "bool keep(f32 x, f32 min) { return x > min; }");
    let mut select =
        SelectIf::<f32, u32, f32>::with_parameters(&gpu.compiler, &gpu.context, &above, 9.0)
            .unwrap();
    let numbers: Vec<f32> = (0..1000).map(|number| number as f32 * 0.1).collect();
    let stream = &gpu.stream;
    let device_numbers = upload(stream, &numbers).unwrap();
    let mut workspace = compaction::select::Workspace::with_capacity(stream, 1000).unwrap();
    let mut selected = zeroed::<u32>(stream, 1).unwrap();
    for min in [-1.0, 0.0, 3.05, 50.0, 99.85, 200.0] {
        select.set_parameters(min);
        assert_eq!(select.parameters(), min);
        // An output of 100 items receives the first ones.
        let mut out = upload(stream, &[-7.0_f32; 100]).unwrap();
        let mut flags = zeroed::<u8>(stream, 1000).unwrap();
        select
            .items(
                stream,
                &device_numbers,
                Count::All,
                &mut out,
                &mut selected,
                &mut workspace,
            )
            .unwrap();
        select
            .flags(stream, &device_numbers, Count::All, &mut flags, &workspace)
            .unwrap();
        let mut expected: Vec<f32> = numbers.iter().copied().filter(|&x| x > min).collect();
        assert_eq!(workspace.read(stream, &selected).unwrap(), expected.len());
        let flags = download(stream, &flags).unwrap();
        assert_eq!(
            flags.iter().filter(|&&flag| flag == 1).count(),
            expected.len()
        );
        expected.resize(100, -7.0);
        assert_eq!(download(stream, &out).unwrap(), expected);
    }
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
