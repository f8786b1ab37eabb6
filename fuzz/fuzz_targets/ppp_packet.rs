#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bng_fuzz::ppp_packet::run(data));
