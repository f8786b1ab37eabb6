//! Prints the documentation page of the reasons:
//! `cargo run -p bng-dataplane --example reasons > docs/drop-reasons.md`.

fn main() {
    print!("{}", bng_dataplane::reasons_page());
}
