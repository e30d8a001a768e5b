//! `completions` and `man`: what follows from the definitions of the commands.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use super::output::{print_data, tell, write_file};
use crate::error::{Error, Fallible};

#[derive(Args)]
#[command(after_help = "Examples:
  rhograd completions bash > ~/.local/share/bash-completion/completions/rhograd
  rhograd completions zsh > ~/.zfunc/_rhograd
  rhograd completions fish > ~/.config/fish/completions/rhograd.fish")]
pub(super) struct CompletionsArguments {
    /// Shell whose command lines are completed
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn completions(arguments: &CompletionsArguments, mut program: Command) -> Fallible<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "rhograd", &mut text);
    print_data(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Args)]
#[command(after_help = "Examples:
  rhograd man | man -l -
  rhograd man ~/.local/share/man/man1")]
pub(super) struct ManArguments {
    /// Folder for one page a command [default: the page of the program on standard output]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Replace pages that exist already
    #[arg(long, requires = "folder")]
    overwrite: bool,
}

pub(super) fn man(arguments: &ManArguments, mut program: Command) -> Fallible<ExitCode> {
    // There is a page for every command, and none for `help`.
    program = program.disable_help_subcommand(true);
    // Names of commands within commands are known from here on.
    program.build();
    let Some(folder) = &arguments.folder else {
        print_data(&page(&program)?.1)?;
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, "make the folder", e))?;
    let mut open = vec![&program];
    while let Some(command) = open.pop() {
        open.extend(command.get_subcommands());
        let (name, text) = page(command)?;
        write_file(&folder.join(name), text.as_bytes(), arguments.overwrite)?;
    }
    tell(&format!("pages are in {}", folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// Name and text of the page of a command.
fn page(command: &Command) -> Fallible<(String, String)> {
    let page = Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text).map_err(|e| Error::numerical("manual", e.to_string()))?;
    Ok((page.get_filename(), String::from_utf8_lossy(&text).into_owned()))
}
