//! `sluicegate completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;

pub(super) const AFTER_HELP: &str = "\
Examples:
  sluicegate completions bash > ~/.local/share/bash-completion/completions/sluicegate
      For bash, with the package bash-completion.
  source <(sluicegate completions bash)
      For the present bash only.
  sluicegate completions zsh > ~/.zfunc/_sluicegate
      For zsh, with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc.
  sluicegate completions fish > ~/.config/fish/completions/sluicegate.fish
      For fish.";

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl CompletionsArgs {
    /// Returns the script that completes the command's arguments in the shell.
    pub(super) fn script(&self) -> Vec<u8> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "sluicegate", &mut script);
        script
    }
}
