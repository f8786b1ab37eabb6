#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bng_fuzz::network::run(data));
