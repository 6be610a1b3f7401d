//! Logs that are given twice.

use super::silent::{line, run};
use super::{Folder, gzip};

/// Returns a frame of zstd that says how long its content is, as its command writes them (RFC 8878): of one block, as it is.
fn zstd(text: &str) -> Vec<u8> {
    let length = text.len() as u32;
    let block = (length << 3 | 1).to_le_bytes();
    [b"\x28\xb5\x2f\xfd\xa0", &length.to_le_bytes()[..], &block[..3], text.as_bytes()].concat()
}

#[test]
fn copies_of_a_log_are_told() {
    let folder = Folder::new();
    let log: String = (0..200).map(|n| line("a", n)).collect();
    folder.file("a.log", &log);
    folder.file("copy.log", &log);
    folder.file("a.log.gz", gzip(&log));
    folder.file("a.log.zst", zstd(&log));
    folder.file("longer.log", log.clone() + &line("a", 200));
    folder.file("other.log", log.replace("a - -", "b - -"));
    for command in [
        &["replay", "--policy", "policy.toml", "--json"][..],
        &["suggest", "--policy", "policy.toml", "--json"],
    ] {
        for (logs, said) in [
            (
                &["a.log", "copy.log"][..],
                "`a.log` and `copy.log` begin alike and are equally long: of copies",
            ),
            (&["a.log.gz", "a.log"], "`a.log.gz` and `a.log` begin alike"),
            (&["a.log.zst", "a.log"], "`a.log.zst` and `a.log` begin alike"),
            (
                &["a.log", "a.log.gz", "copy.log"],
                "equally long, and so do another two logs: of copies",
            ),
            (&["a.log", "longer.log", "other.log"], ""),
        ] {
            let (errors, text) = run(&folder, &[command, logs].concat(), 0);
            assert_eq!(text.contains("begin alike"), !said.is_empty(), "{text}");
            assert!(errors.contains(said) && text.contains(said), "{errors}{text}");
        }
    }
}

#[test]
#[cfg(unix)]
fn a_hard_link_is_the_same_log() {
    let folder = Folder::new();
    std::fs::hard_link(folder.0.path().join("access.log"), folder.0.path().join("b.log")).unwrap();
    let args = ["replay", "--policy", "policy.toml", "access.log", "b.log"];
    let (errors, _) = run(&folder, &args, 2);
    assert!(errors.contains("`b.log` is given twice, also as `access.log`"), "{errors}");
}
