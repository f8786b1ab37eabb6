//! Finds the installed DPDK, generates the bindings, compiles the shims and names what is linked.

use std::env;
use std::path::{Path, PathBuf};
use std::process::exit;

/// Drivers are reached only through their constructors, so each is linked whole.
const DRIVERS: &[&str] = &[
    "bus_pci",
    "bus_vdev",
    "common_iavf",
    "mempool_ring",
    "net_af_packet",
    "net_af_xdp",
    "net_bond",
    "net_e1000",
    "net_i40e",
    "net_iavf",
    "net_ice",
    "net_igc",
    "net_ixgbe",
    "net_memif",
    "net_null",
    "net_pcap",
    "net_ring",
    "net_tap",
    "net_virtio",
    "net_vmxnet3",
];

/// What the `mlx5` feature adds to the drivers.
const MLX5_DRIVERS: &[&str] = &["bus_auxiliary", "common_mlx5", "net_mlx5"];

/// DPDK's libraries, users before what they use. Linked whole as well: several register options, log types and
/// tailq entries in constructors.
const LIBRARIES: &[&str] = &[
    "ip_frag",
    "security",
    "cryptodev",
    "sched",
    "gso",
    "gro",
    "fib",
    "rib",
    "lpm",
    "hash",
    "timer",
    "pci",
    "ethdev",
    "meter",
    "net",
    "mbuf",
    "mempool",
    "rcu",
    "ring",
    "eal",
    "telemetry",
    "kvargs",
];

/// What DPDK needs of the system, as shared libraries. libdpdk-dev depends on the packages that hold them.
const SYSTEM: &[&str] = &["numa", "bsd", "fdt", "pcap", "xdp", "bpf", "elf", "z", "m", "dl", "pthread"];

/// The functions that the bindings hold. Without a list, bindgen fails on compiler types it does not know, and
/// DPDK's thread-local variables come out as plain statics: hence names, not everything.
const FUNCTIONS: &str = "rte_(eal|eth|dev|vdev|mempool|pktmbuf|mbuf|ring|lcore|thread|flow|lpm|lpm6|fib|fib6|log|\
                         malloc|zmalloc|socket)_.*|rte_(openlog_stream|strerror|version|free|get_main_lcore|\
                         get_next_lcore|socket_id|zmalloc|malloc)|shim_.*";

fn main() {
    for changed in ["build.rs", "csrc/wrapper.h", "csrc/shim.c"] {
        println!("cargo:rerun-if-changed={changed}");
    }
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");

    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let dpdk = find_dpdk();
    generate_bindings(&dpdk, &out);
    compile_shims(&dpdk);
    link(&dpdk);
}

/// Says in one sentence what is missing, and stops.
fn stop(sentence: &str) -> ! {
    println!("cargo:warning={sentence}");
    eprintln!("error: {sentence}");
    exit(1)
}

/// Where the installed DPDK is.
struct Dpdk {
    include: Vec<PathBuf>,
    libraries: PathBuf,
}

fn find_dpdk() -> Dpdk {
    let found = pkg_config::Config::new().range_version("22.11".."22.12").cargo_metadata(false).probe("libdpdk");
    let found = match found {
        Ok(found) => found,
        Err(pkg_config::Error::Command { .. }) => {
            stop("pkg-config is not installed: run `apt-get install pkg-config libdpdk-dev libclang-dev gcc`")
        }
        Err(_) => stop("DPDK 22.11 is not installed: run `apt-get install libdpdk-dev` (Debian 12 has this version)"),
    };
    // pkg-config leaves out directories that the compiler searches by itself, and the version is part of what the
    // bindings depend on: the package's own file says when it changes.
    let Ok(directory) = pkg_config::get_variable("libdpdk", "libdir") else {
        stop("libdpdk.pc names no libdir: reinstall it with `apt-get install --reinstall libdpdk-dev`")
    };
    let libraries = PathBuf::from(directory);
    println!("cargo:rerun-if-changed={}", libraries.join("pkgconfig/libdpdk.pc").display());
    for header in &found.include_paths {
        let version = header.join("rte_build_config.h");
        if version.exists() {
            println!("cargo:rerun-if-changed={}", version.display());
        }
    }
    Dpdk { include: found.include_paths, libraries }
}

/// The compiler flags that DPDK's headers need on this architecture, beyond the include paths. Debian builds DPDK for
/// the oldest processor it supports; the headers need the same instructions.
fn header_flags() -> Vec<String> {
    let mut flags = vec!["-include".to_owned(), "rte_config.h".to_owned()];
    match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => flags.push("-march=corei7".to_owned()),
        Ok("aarch64") => flags.push("-march=armv8-a+crc".to_owned()),
        _ => stop("bngd is built for x86_64 and aarch64 only"),
    }
    flags
}

fn generate_bindings(dpdk: &Dpdk, out: &Path) {
    let mut builder = bindgen::Builder::default()
        .header("csrc/wrapper.h")
        .clang_args(header_flags())
        .clang_args(dpdk.include.iter().map(|path| format!("-I{}", path.display())))
        .allowlist_function(FUNCTIONS)
        .allowlist_var("K_.*|RTE_(ETH|MAX|PKTMBUF|MBUF|ETHER|LOG|MEMPOOL)_.*|SOCKET_ID_ANY|RING_F_.*")
        .opaque_type("rte_arp_(ipv4|hdr)")
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .derive_debug(false)
        .generate_comments(false)
        .layout_tests(true)
        .use_core();
    if env::var_os("CARGO_CFG_TARGET_OS").is_none_or(|os| os != "linux") {
        stop("bngd is built for Linux only");
    }
    builder = builder.rust_edition(bindgen::RustEdition::Edition2024);
    // bindgen panics, rather than fails, where it finds no libclang at all: its message would bury the sentence below.
    std::panic::set_hook(Box::new(|_| {}));
    let generated = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| builder.generate()));
    let _ = std::panic::take_hook();
    match generated {
        Err(_) => stop("libclang is not installed: run `apt-get install libclang-dev`"),
        Ok(Err(error)) => stop(&format!("the DPDK headers cannot be read, is gcc (libc6-dev) installed? {error}")),
        Ok(Ok(bindings)) => {
            if let Err(error) = bindings.write_to_file(out.join("bindings.rs")) {
                stop(&format!("the bindings cannot be written to {}: {error}", out.display()));
            }
        }
    }
}

fn compile_shims(dpdk: &Dpdk) {
    let mut build = cc::Build::new();
    build.file("csrc/shim.c").include("csrc").includes(&dpdk.include).opt_level(3).warnings(false);
    for flag in header_flags() {
        build.flag(&flag);
    }
    // Marks of experimental functions are no news here: each one in use is chosen.
    build.flag("-Wno-deprecated-declarations");
    if let Err(error) = build.try_compile("dpdk_shim") {
        stop(&format!("the C shims do not compile, is gcc installed (`apt-get install gcc`)? {error}"));
    }
}

fn link(dpdk: &Dpdk) {
    let mlx5 = env::var_os("CARGO_FEATURE_MLX5").is_some();
    let extra: &[&str] = if mlx5 { MLX5_DRIVERS } else { &[] };
    println!("cargo:rustc-link-search=native={}", dpdk.libraries.display());
    for name in DRIVERS.iter().chain(extra).chain(LIBRARIES) {
        let archive = dpdk.libraries.join(format!("librte_{name}.a"));
        if !archive.exists() {
            stop(&format!("{} is missing: run `apt-get install libdpdk-dev`", archive.display()));
        }
        println!("cargo:rustc-link-lib=static:+whole-archive,-bundle=rte_{name}");
    }
    if mlx5 {
        for name in ["mlx5", "ibverbs"] {
            println!("cargo:rustc-link-lib=dylib={name}");
        }
    }
    for name in SYSTEM {
        println!("cargo:rustc-link-lib=dylib={name}");
    }
}
