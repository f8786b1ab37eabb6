#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bng_fuzz::ipv6::run(data));
