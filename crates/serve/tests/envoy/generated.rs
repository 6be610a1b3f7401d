//! The messages in the sources are those of the files in `proto`.
//!
//! They are in the repository so that a build needs no compiler of Protobuf. After a change of those files,
//! `BLESS=1 cargo test -p sluicegate-serve --test envoy` writes them anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Their folder, from the folder of the crate, in which tests run.
const SOURCES: &str = "src/envoy/protocol";

#[test]
fn the_messages_are_those_of_the_files_of_protobuf() {
    let made = tempfile::tempdir().unwrap();
    let files = protox::compile(["envoy/service/ratelimit/v3/rls.proto"], ["proto"]).unwrap();
    tonic_prost_build::configure()
        .out_dir(made.path())
        .codec_path("crate::envoy::codec::KnownFields")
        .include_file("protocol.rs")
        .compile_fds(files)
        .unwrap();
    let made = read(made.path());
    assert!(made.len() > 1);
    if std::env::var_os("BLESS").is_some() {
        fs::remove_dir_all(SOURCES).unwrap();
        fs::create_dir(SOURCES).unwrap();
        for (name, text) in &made {
            fs::write(Path::new(SOURCES).join(name), text).unwrap();
        }
    }
    let own = read(Path::new(SOURCES));
    assert_eq!(own.keys().collect::<Vec<_>>(), made.keys().collect::<Vec<_>>());
    for (name, text) in &made {
        assert!(own[name] == *text, "{name} is another one: run this test with BLESS=1");
    }
}

fn read(folder: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    });
    files.collect()
}
