//! Completions, which are asked in bash, and pages of the manual, which `mandoc` reads.

use std::fs;
use std::process::{Command, Output};

use super::{Folder, sluicegate, stderr, stdout};

const COMMANDS: [&str; 8] =
    ["replay", "serve", "suggest", "policy", "check", "explain", "completions", "man"];

/// Returns the words that bash offers for the last of these.
fn offered(script: &str, words: &[&str]) -> Vec<String> {
    let place = words.len() - 1;
    let ask = "source /dev/stdin; place=$1; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$place
        of=$(complete -p sluicegate) || exit; of=${of#*-F }; of=${of%% *}
        \"$of\" sluicegate \"${COMP_WORDS[place]}\" \"${COMP_WORDS[place - 1]}\"
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let place = place.to_string();
    let args = ["--norc", "-c", ask, "bash", &place];
    let asked =
        assert_cmd::Command::new("bash").args(args).args(words).write_stdin(script).assert();
    let asked = asked.success();
    assert_eq!(stderr(&asked), "");
    stdout(&asked).lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let script = stdout(&sluicegate().args(["completions", "bash"]).assert().success());
    let commands = offered(&script, &["sluicegate", ""]);
    for command in COMMANDS {
        assert!(commands.iter().any(|word| word == command), "{command}: {commands:?}");
    }
    for (words, expected) in [
        (&["sluicegate", "sug"][..], &["suggest"][..]),
        (&["sluicegate", "replay", "--shape-"], &["--shape-within"]),
        (&["sluicegate", "suggest", "--of", ""], &["keys", "requests"]),
        (&["sluicegate", "suggest", "--kind", "g"], &["gcra"]),
        (&["sluicegate", "completions", "z"], &["zsh"]),
        (&["sluicegate", "check", "--sch"], &["--schema"]),
    ] {
        assert_eq!(offered(&script, words), expected, "{words:?}");
    }
}

#[test]
fn each_shell_has_a_script_that_names_all_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&sluicegate().args(["completions", shell]).assert().success());
        for command in COMMANDS {
            assert!(script.contains(command), "{shell} lacks {command}");
        }
    }
    let unknown = sluicegate().args(["completions", "bush"]).assert().code(2);
    assert!(stderr(&unknown).contains("a similar value exists: 'bash'"), "{}", stderr(&unknown));
}

/// Runs `mandoc`, which reads a page as `man` does.
fn mandoc(args: &[&str]) -> Output {
    Command::new("mandoc").args(args).output().expect("mandoc, which ci/setup.sh installs")
}

#[test]
fn each_command_has_a_page_that_is_rendered_without_warnings() {
    let folder = Folder::new();
    let dir = folder.0.path().join("man1");
    let written = sluicegate().args(["man", "--dir"]).arg(&dir).assert().success();
    assert_eq!((stdout(&written), stderr(&written)), (String::new(), String::new()));
    let mut pages: Vec<_> = fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path()).collect();
    pages.sort();
    let name_of =
        |page: &std::path::PathBuf| page.file_name().unwrap().to_str().unwrap().to_owned();
    let names: Vec<String> = pages.iter().map(name_of).collect();
    let mut expected: Vec<_> = COMMANDS.map(|command| format!("sluicegate-{command}.1")).to_vec();
    expected.extend(cfg!(feature = "redis").then(|| "sluicegate-redis.1".to_owned()));
    expected.push("sluicegate.1".to_owned());
    expected.sort();
    assert_eq!(names, expected);
    for (page, name) in pages.iter().zip(&names) {
        let page = page.to_str().unwrap();
        let warnings = String::from_utf8(mandoc(&["-T", "lint", "-W", "warning", page]).stdout);
        let warnings = warnings.unwrap();
        // A page of each build would have another date.
        let others = warnings.lines().filter(|line| !line.contains("missing date"));
        assert_eq!(others.count(), 0, "{warnings}");

        let command = name.trim_end_matches(".1");
        let text = mandoc(&["-T", "utf8", "-O", "width=100", page]);
        let text = String::from_utf8(text.stdout).unwrap().replace('\u{8}', "");
        assert!(text.contains(&command.to_uppercase()), "{text}");
    }
}

#[test]
fn the_page_of_one_command_is_printed() {
    let folder = Folder::new();
    sluicegate().current_dir(folder.0.path()).args(["man", "--dir", "."]).assert().success();
    for (args, name) in
        [(&["man"][..], "sluicegate.1"), (&["man", "replay"], "sluicegate-replay.1")]
    {
        let printed = stdout(&sluicegate().args(args).assert().success());
        assert_eq!(printed, fs::read_to_string(folder.0.path().join(name)).unwrap());
    }
    let unknown = stderr(&sluicegate().args(["man", "replai"]).assert().code(2));
    assert!(unknown.contains("`replai` is not a command"), "{unknown}");
    assert!(unknown.contains("replay, suggest, policy"), "{unknown}");
}
