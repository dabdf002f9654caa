//! The committed header is up to date with what cbindgen writes.

use std::{env, fs, path::Path};

#[test]
fn header_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_crate(root)
        .generate()
        .unwrap();
    let mut written = Vec::new();
    bindings.write(&mut written);
    let path = root.join("include/compaction.h");
    if env::var_os("UPDATE_HEADER").is_some() {
        fs::write(&path, &written).unwrap();
    }
    let committed = fs::read(&path).unwrap_or_default();
    assert!(
        committed == written,
        "{} is out of date: UPDATE_HEADER=1 cargo test -p compaction-capi --test generated",
        path.display()
    );
}
