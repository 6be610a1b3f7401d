//! Compiles the messages of Envoy's protocol, by a compiler of Protobuf that is written in Rust.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let files = protox::compile(["envoy/service/ratelimit/v3/rls.proto"], ["proto"])?;
    tonic_prost_build::configure().include_file("protocol.rs").compile_fds(files)?;
    Ok(())
}
