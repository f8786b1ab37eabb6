//! Conditional compilation for the model checks: `--cfg loom` (in RUSTFLAGS) replaces the atomics by loom's, and the
//! environment variable `BNG_SYNC_MUTANT` names the one memory ordering to weaken (see `src/ordering.rs`). A variable
//! and not a flag, so that a change of mutant compiles this crate alone.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=BNG_SYNC_MUTANT");
    println!("cargo::rustc-check-cfg=cfg(loom)");
    println!("cargo::rustc-check-cfg=cfg(mutate, values(any()))");
    // Only beside loom: an ordinary build never has a weakened ordering, whatever the environment says.
    if std::env::var_os("CARGO_CFG_LOOM").is_some()
        && let Ok(mutant) = std::env::var("BNG_SYNC_MUTANT")
        && !mutant.is_empty()
    {
        println!("cargo::rustc-cfg=mutate={mutant:?}");
    }
}
