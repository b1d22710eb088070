//! Notes the compiler, which every results file names.

use std::process::Command;

fn main() {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(compiler).arg("--version").output();
    let text = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    println!("cargo:rustc-env=FOLIO_BENCH_RUSTC={}", text.unwrap_or_default());
    println!("cargo:rerun-if-changed=build.rs");
}
