//! The probe's cases are built into the command: a new one must lead to a new build.

fn main() {
    println!("cargo::rerun-if-changed=../../cases/probe");
}
