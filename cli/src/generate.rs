//! `raysieve completions` and `raysieve man`: texts that are generated from the definition of the command line.

use crate::{
    arguments::{Completions, Man, command},
    error::Error,
    print_result,
};

/// Name of the program in the generated texts.
const NAME: &str = "raysieve";

/// Runs `raysieve completions`: prints the script for the shell.
///
/// # Errors
/// [`Error::Write`] if the standard output cannot be written.
pub(crate) fn completions(arguments: &Completions) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), NAME, &mut script);
    print_result(&String::from_utf8_lossy(&script))
}

/// Runs `raysieve man`: prints the page of the program or of a command.
///
/// # Errors
/// [`Error::Usage`] if there is no such command. [`Error::Write`] if the standard output cannot be written.
pub(crate) fn man(arguments: &Man) -> Result<(), Error> {
    let mut all = command();
    // Gives the commands their full names, such as `raysieve-farm`.
    all.build();
    let page = match &arguments.command {
        None => all,
        Some(name) => all.find_subcommand(name).cloned().ok_or_else(|| {
            Error::Usage(format!(
                "'{name}': no such command; raysieve --help lists the commands"
            ))
        })?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|error| Error::Write {
            path: "the standard output".into(),
            problem: format!("not written: {error}; redirect it elsewhere"),
        })?;
    print_result(&String::from_utf8_lossy(&text))
}
