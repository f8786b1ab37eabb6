//! Huge pages where there are enough, ordinary ones where not, and all of them given back.

mod common;

use bng_dpdk::{Eal, EalConfig, HugePages};

const MEMORY_MB: u32 = 64;

/// Free huge pages of 2 MiB. (Others may take some at any time, hence the allowances below.)
fn free_pages() -> u32 {
    let text = std::fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
    text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

#[test]
fn huge_pages_are_used_where_there_are_enough_and_given_back() {
    let before = free_pages();
    let config = EalConfig { huge_pages: HugePages::Auto, memory_mb: MEMORY_MB, ..common::config() };
    let eal = Eal::init(config).unwrap();
    // 16 pages to spare: where only just enough are free, another process may have taken them meanwhile.
    if before >= MEMORY_MB / 2 + 16 {
        assert!(eal.uses_huge_pages());
    }
    if before == 0 {
        assert!(!eal.uses_huge_pages());
    }
    let huge = eal.uses_huge_pages();
    eprintln!("{before} huge pages free, in use by this test: {huge}");
    let pool = common::pool(&eal, "huge");
    let mut mbuf = pool.alloc().unwrap();
    assert!(mbuf.fill(&[1; 1500]));
    drop(mbuf);
    assert_eq!(pool.in_use(), 0);
    assert_eq!(huge, mapped_huge_pages(), "as the kernel sees it");
    drop(pool);
    drop(eal);
    assert!(!mapped_huge_pages(), "given back");
}

/// True where this process has memory in huge pages mapped.
fn mapped_huge_pages() -> bool {
    let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
    text.lines()
        .filter(|line| line.starts_with("Private_Hugetlb:") || line.starts_with("Shared_Hugetlb:"))
        .any(|line| line.split_whitespace().nth(1) != Some("0"))
}
