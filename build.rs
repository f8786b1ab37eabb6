//! Checks the toolchain before anything else is built.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
