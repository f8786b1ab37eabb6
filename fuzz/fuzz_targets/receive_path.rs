#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bng_fuzz::receive_path::run(data));
