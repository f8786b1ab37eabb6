//! One EAL for all tests of a file: there can be only one in a process.
#![allow(dead_code, reason = "each test file uses a part")]

use bng_dpdk::{Eal, EalConfig, HugePages, Mempool, MempoolConfig};
use std::sync::OnceLock;

/// Brings the EAL up with ordinary pages, so that the tests need no preparation of the machine.
pub(crate) fn eal() -> Eal {
    static EAL: OnceLock<Eal> = OnceLock::new();
    EAL.get_or_init(|| Eal::init(config()).expect("the EAL comes up without huge pages")).clone()
}

pub(crate) fn config() -> EalConfig {
    EalConfig {
        file_prefix: "bngtest".to_owned(),
        huge_pages: HugePages::None,
        memory_mb: 128,
        worker_cpus: vec![0, 0],
        ..EalConfig::default()
    }
}

pub(crate) fn pool(eal: &Eal, name: &str) -> Mempool {
    let config = MempoolConfig { name: name.to_owned(), mbufs: 1023, cache: 64, ..MempoolConfig::default() };
    Mempool::new(eal, &config).expect("a small pool fits")
}
