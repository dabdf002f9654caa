//! Names the shared library after its version, so that programs load a compatible one.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_OS") == "linux" {
        let (major, minor) = (
            variable("CARGO_PKG_VERSION_MAJOR"),
            variable("CARGO_PKG_VERSION_MINOR"),
        );
        // Until version 1, minor versions are incompatible.
        let version = match major.as_str() {
            "0" => format!("0.{minor}"),
            _ => major,
        };
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcompaction.so.{version}");
    }
}
