//! The command lines of `raysieve completions` and `raysieve man`.

use clap::Args;
use clap_complete::Shell;

/// Prints a script that completes commands, options and their values in a shell
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  raysieve completions bash > ~/.local/share/bash-completion/completions/raysieve
          completes in every new bash with the package bash-completion
  raysieve completions zsh > ~/.zfunc/_raysieve
          completes in zsh, if ~/.zshrc has: fpath+=~/.zfunc; autoload -Uz compinit && compinit
  raysieve completions fish > ~/.config/fish/completions/raysieve.fish
          completes in every new fish")]
pub(crate) struct Completions {
    /// Shell that runs the script
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}

/// Prints a page of the manual in the format of man
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  raysieve man | man -l -
          shows the page of the program
  raysieve man > ~/.local/share/man/man1/raysieve.1
  raysieve man farm > ~/.local/share/man/man1/raysieve-farm.1
          installs pages, so that man raysieve and man raysieve-farm show them")]
pub(crate) struct Man {
    /// Command that the page describes, such as farm [default: the program]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}
