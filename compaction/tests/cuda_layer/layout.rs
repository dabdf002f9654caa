//! Tests of includes, and of the assertions that tie a kernel file to Rust types.

use std::{process::Command, sync::Arc};

use compaction::{
    Error,
    cuda::{Nvrtc, Source, Target},
};

use crate::parcels::{MOVE, PARCEL_FIELDS, Parcel, move_parcels, move_with};

pub(crate) fn a_missing_header_is_named_with_the_including_line() {
    let source = Source::new("kernels/a.cu", "\n\n  # include \"shared/absent.cuh\"\n")
        .header("kernels/b.cuh", "");
    let message = source.text().unwrap_err().to_string();
    assert!(
        message.starts_with(
            "kernels/a.cu:3: no header \"shared/absent.cuh\"; there are kernels/b.cuh, "
        ),
        "{message}"
    );
}

pub(crate) fn a_header_is_expanded_once_and_line_numbers_continue() {
    let source = Source::new(
        "a.cu",
        "#include \"b.cuh\"\nfirst\n#include \"b.cuh\"\nsecond\n",
    )
    .header("b.cuh", "#pragma once\nbody\n");
    let text = source.text().unwrap();
    let expected =
        "#line 1 \"a.cu\"\n#line 1 \"b.cuh\"\n\nbody\n#line 2 \"a.cu\"\nfirst\n\nsecond\n";
    assert!(text.ends_with(expected), "{text}");
}

pub(crate) fn headers_are_found_beside_above_and_in_this_crate() {
    let source = Source::new(
        "kernels/stages/a.cu",
        "#include \"beside.cuh\"\n#include \"../above.cuh\"\n#include \"kernels/root.cuh\"\n#include \"compaction/prelude.cuh\"\n",
    )
    .headers(&[
        ("kernels/stages/beside.cuh", "BESIDE"),
        ("kernels/above.cuh", "ABOVE"),
        ("kernels/root.cuh", "ROOT"),
    ]);
    let text = source.text().unwrap();
    for word in ["BESIDE", "ABOVE", "ROOT", "using u32"] {
        assert_eq!(text.matches(word).count(), 1, "{word} in\n{text}");
    }
}

pub(crate) fn headers_that_include_each_other_end() {
    let source = Source::new("a.cu", "#include \"b.cuh\"\nend\n")
        .header("b.cuh", "#include \"c.cuh\"\n")
        .header("c.cuh", "#include \"b.cuh\"\n#include \"a.cu\"\n")
        .header("a.cu", "never taken");
    let text = source.text().unwrap();
    assert!(
        text.contains("end") && !text.contains("never taken"),
        "{text}"
    );
}

/// Returns `Ok` if this machine has a C++ compiler, or the reason why it cannot be used.
pub(crate) fn host_compiler() -> Result<(), String> {
    let found = Command::new("c++").arg("--version").output();
    found
        .map(drop)
        .map_err(|error| format!("no C++ compiler: c++: {error}"))
}

pub(crate) fn the_prelude_compiles_for_the_host(_: &()) {
    let source = Source::new("host.cu", "#include \"parcel.cuh\"\n__device__ __forceinline__ u32 half(u32 x) { return x / 2; }\nint main() { return half(1); }\n")
        .header("parcel.cuh", format!("struct Vec3 {{ f32 x, y, z; }};\nstruct Parcel {{ {PARCEL_FIELDS} }};\n"))
        .shared::<Parcel>();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.cpp");
    std::fs::write(&file, source.text().unwrap()).unwrap();
    let output = Command::new("c++")
        .args([
            "-std=c++17",
            "-Wall",
            "-Werror",
            "-Wno-invalid-offsetof",
            "-fsyntax-only",
        ])
        .arg(&file)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

pub(crate) fn equal_layouts_compile(nvrtc: &Arc<Nvrtc>) {
    let compiled = nvrtc.compile(&move_parcels(), Target::Ptx(75)).unwrap();
    let ptx = String::from_utf8(compiled.image.bytes).unwrap();
    assert!(
        ptx.contains(".entry move_parcels(")
            && ptx.contains(".target sm_75")
            && !ptx.contains('\0'),
        "{ptx}"
    );
}

pub(crate) fn a_drifted_field_does_not_compile_and_is_named(nvrtc: &Arc<Nvrtc>) {
    let drifts = [
        ("u32 tag;", "f32 tag;", "Parcel.tag: u32 in Rust"),
        ("u32 tag;", "u32 tog;", "has no member \"tag\""),
        (
            "u64 serial;",
            "u64 serial; u64 more;",
            "Parcel: 56 bytes in Rust",
        ),
        (
            "u64 serial; u16 halves[2]; u32 _pad[1];",
            "u16 halves[2]; u32 _pad[1]; u64 serial;",
            "Parcel.serial: byte 40 in Rust",
        ),
        (
            "f32 table[3][2];",
            "f32 table[2][3];",
            "Parcel.table: f32[3][2] in Rust",
        ),
        (
            "u64 serial;",
            "alignas(16) u64 serial;",
            "Parcel: aligned to 8 bytes in Rust",
        ),
    ];
    for (ours, theirs, named) in drifts {
        let drifted = PARCEL_FIELDS.replace(ours, theirs);
        assert_ne!(drifted, PARCEL_FIELDS);
        let log = refusal(nvrtc, &move_with(&drifted, MOVE));
        assert!(log.contains(named), "{theirs}: {log}");
    }
}

pub(crate) fn a_drifted_signature_does_not_compile_and_is_named(nvrtc: &Arc<Nvrtc>) {
    let drifts = [
        ("const u32 count, Vec3 by", "Vec3 by, const u32 count"),
        ("const u32 count", "const i32 count"),
        ("const u32 count", "const u64 count"),
        (
            "const Parcel *__restrict__ parcels, Parcel *out",
            "Parcel *out, const Parcel *__restrict__ parcels",
        ),
        (
            "const Parcel *__restrict__ parcels",
            "Parcel *__restrict__ parcels",
        ),
        (", Vec3 by", ", Vec3 by, u32 more"),
    ];
    for (ours, theirs) in drifts {
        let drifted = MOVE.replace(ours, theirs);
        assert_ne!(drifted, MOVE);
        let log = refusal(nvrtc, &move_with(PARCEL_FIELDS, &drifted));
        assert!(
            log.contains(
                "move_parcels: argument types in Rust are (const Parcel *, Parcel *, u32, Vec3)"
            ),
            "{theirs}: {log}"
        );
    }
    let by_constant = MOVE.replace("Vec3 by", "const __grid_constant__ Vec3 by");
    nvrtc
        .compile(&move_with(PARCEL_FIELDS, &by_constant), Target::Ptx(75))
        .unwrap();
    let log = refusal(
        nvrtc,
        &move_with(PARCEL_FIELDS, &MOVE.replace("move_parcels", "other")),
    );
    assert!(log.contains("\"move_parcels\" is undefined"), "{log}");
}

pub(crate) fn compile_errors_show_file_and_line(nvrtc: &Arc<Nvrtc>) {
    let log = refusal(
        nvrtc,
        &move_with(PARCEL_FIELDS, &MOVE.replace("= parcel;", "= percel;")),
    );
    let line = 1 + MOVE
        .lines()
        .position(|line| line.contains("= parcel;"))
        .unwrap();
    assert!(
        log.contains(&format!("kernels/move.cu({line}): error: ")),
        "{log}"
    );
    let log = refusal(nvrtc, &move_with("Vec4 size;", MOVE));
    assert!(
        log.contains("kernels/shared/parcel.cuh(3): error: "),
        "{log}"
    );
}

/// Returns the compiler's message for a source that must not compile.
fn refusal(nvrtc: &Nvrtc, source: &Source) -> String {
    match nvrtc.compile(source, Target::Ptx(75)) {
        Err(Error::Compile { log, .. }) => log,
        other => panic!("compiles, or fails otherwise: {other:?}"),
    }
}
