//! Policies from standard input and from files whose names do not tell their format.

use assert_cmd::assert::Assert;

use super::{Folder, LOG, POLICY, json, sluicegate, stderr, stdout};

const YAML: &str =
    "limiters:\n  x: { policy: gcra, interval: 1 hour, tolerance: 1 hour, key: client }\n";
const JSON: &str =
    r#"{"limiters":{"x":{"policy":"gcra","interval":"1 hour","tolerance":"1 hour"}}}"#;

/// Runs the command in a folder that has `policy.toml` and `access.log`.
fn run(folder: &Folder, args: &[&str], stdin: impl Into<Vec<u8>>) -> Assert {
    sluicegate().current_dir(folder.0.path()).args(args).write_stdin(stdin).assert()
}

#[test]
fn a_policy_is_read_from_standard_input_in_each_format() {
    let folder = Folder::new();
    for command in ["check", "explain"] {
        let file = stdout(&run(&folder, &[command, "policy.toml"], "").success());
        assert_eq!(stdout(&run(&folder, &[command, "-"], POLICY).success()), file);
        let explicit = run(&folder, &[command, "--policy-format", "toml", "-"], POLICY).success();
        assert_eq!(stdout(&explicit), file);
        for (format, text) in [("yaml", YAML), ("json", JSON)] {
            let said =
                stdout(&run(&folder, &[command, "-", "--policy-format", format], text).success());
            assert!(said.contains("x, by client: gcra: every 1h"), "{said}");
        }
    }
    let mistake =
        run(&folder, &["check", "-", "--policy-format", "yaml"], YAML.replace("gcra", "gcr"));
    let said = stderr(&mistake.code(2));
    assert!(said.contains("--> standard input:2:16\n"), "{said}");
}

#[test]
fn a_format_is_needed_only_where_the_name_does_not_tell_it() {
    let folder = Folder::new();
    folder.file("limits", YAML);
    folder.file("limits.yaml", YAML);
    run(&folder, &["check", "limits", "--policy-format", "yaml"], "").success();
    run(&folder, &["check", "limits.yaml", "--policy-format", "yaml"], "").success();
    for args in [&["check", "limits"][..], &["explain", "limits"], &["check", "-"]] {
        let said = stderr(&run(&folder, args, YAML).code(2));
        assert!(said.starts_with("error: this is not TOML\n"), "{said}");
        assert!(said.contains("for YAML or JSON, say `--policy-format yaml`"), "{said}");
    }
    let replay = ["replay", "--policy", "limits", "access.log"];
    let said = stderr(&run(&folder, &replay, "").code(2));
    assert!(said.contains("`--policy-format yaml`"), "{said}");
    // A file of TOML with a mistake is not taken for YAML.
    folder.file("bad.toml", "[limiters\n");
    let said = stderr(&run(&folder, &["check", "bad.toml"], "").code(2));
    assert!(said.contains("this is not TOML") && !said.contains("YAML"), "{said}");
}

#[test]
fn a_format_that_contradicts_the_name_is_refused() {
    let folder = Folder::new();
    folder.file("limits.yml", YAML);
    for (args, said) in [
        (
            &["check", "--policy-format", "json", "limits.yml"][..],
            "is YAML by the end of its name, and JSON",
        ),
        (
            &["explain", "--policy-format", "yaml", "policy.toml"],
            "is TOML by the end of its name, and YAML",
        ),
        (
            &["replay", "--policy", "limits.yml", "--policy-format", "toml", "access.log"],
            "TOML by --policy-format; leave --policy-format out",
        ),
    ] {
        let error = run(&folder, args, "").code(2);
        assert!(stderr(&error).contains(said), "{args:?}: {}", stderr(&error));
        assert_eq!(stdout(&error), "");
    }
}

#[test]
fn a_replay_and_a_search_take_their_policy_from_standard_input() {
    let folder = Folder::new();
    for command in ["replay", "suggest"] {
        let args = [command, "--json", "access.log", "--policy"];
        let file = json(&run(&folder, &[&args[..], &["policy.toml"]].concat(), "").success());
        let stdin = json(&run(&folder, &[&args[..], &["-"]].concat(), POLICY).success());
        assert_eq!(stdin, file, "{command}");
        let yaml = [&args[..], &["-", "--policy-format", "yaml"]].concat();
        assert_eq!(json(&run(&folder, &yaml, YAML).success())["limiters"][0]["name"], "x");
    }
}

#[test]
fn standard_input_cannot_be_the_policy_and_a_log() {
    let folder = Folder::new();
    for args in [&["replay", "--policy", "-"][..], &["replay", "--policy", "-", "access.log", "-"]]
    {
        let said = stderr(&run(&folder, args, POLICY.to_owned() + LOG).code(2));
        assert!(said.contains("standard input is the policy, so it cannot be a log too"), "{said}");
    }
}

#[test]
fn a_policy_in_utf_16_is_named() {
    let folder = Folder::new();
    let bytes = |mark: &str, bytes_of: fn(u16) -> [u8; 2]| -> Vec<u8> {
        (mark.to_owned() + POLICY).encode_utf16().flat_map(bytes_of).collect()
    };
    for text in [
        bytes("\u{feff}", u16::to_le_bytes),
        bytes("\u{feff}", u16::to_be_bytes),
        bytes("", u16::to_le_bytes),
        bytes("", u16::to_be_bytes),
    ] {
        let said = stderr(&run(&folder, &["check", "-"], text).code(2));
        assert!(said.starts_with("error: this is text in UTF-16\n"), "{said}");
        assert!(said.contains("save it as UTF-8") && !said.contains("YAML"), "{said}");
    }
}
