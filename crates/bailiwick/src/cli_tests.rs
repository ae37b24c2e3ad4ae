use super::*;
use clap::CommandFactory;
use std::fmt::Write;

/// The reference of every subcommand, made from the table.
fn reference() -> String {
    fn section(command: &clap::Command, path: &str, out: &mut String) {
        if command.is_hide_set() || command.get_name() == "help" {
            return;
        }
        let about = command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        writeln!(out, "## `{path}`\n\n{about}.\n").unwrap();
        let flags = command
            .get_arguments()
            .filter(|a| !a.is_hide_set() && a.get_id() != "help");
        for argument in flags.filter(|a| a.get_id() != "version") {
            let help = argument
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            writeln!(out, "- `{argument}`: {help}").unwrap();
        }
        out.push('\n');
        for sub in command.get_subcommands() {
            section(sub, &format!("{path} {}", sub.get_name()), out);
        }
    }
    let mut command = Cli::command();
    command.build();
    let mut out = String::from(
        "# Command line\n\nMade from the table in `crates/bailiwick/src/cli.rs` by \
         `BLESS=1 cargo test -p bailiwick reference`.\n\n",
    );
    section(&command, "bailiwick", &mut out);
    out.trim_end().to_owned() + "\n"
}

#[test]
fn the_table_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn the_reference_in_the_docs_is_the_table() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, reference()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == reference(),
        "docs/cli.md is stale: BLESS=1 cargo test -p bailiwick reference"
    );
}

#[test]
fn a_variable_needs_a_name() {
    assert!(parse_variable("=x").is_err() && parse_variable("x").is_err());
    assert_eq!(parse_variable("A=b=c"), Ok(("A".into(), "b=c".into())));
}

#[test]
fn a_line_that_is_read_quickly_means_what_the_whole_table_says() {
    let both = |words: &[&str]| {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let whole = Cli::try_parse_from(&words).ok();
        (quickly(words.into_iter()), whole)
    };
    for words in [
        &["bailiwick", "run", "--", "true"][..],
        &[
            "bailiwick",
            "run",
            "-p",
            "agent",
            "--policy=x",
            "-e",
            "A=b",
            "-c",
            "a b",
        ],
        &[
            "bailiwick",
            "run",
            "--name",
            "n",
            "--json",
            "--monitor",
            "--",
            "--help",
            "run",
        ],
    ] {
        let (Some(quick), Some(whole)) = both(words) else {
            panic!("{words:?}: not read");
        };
        let (Command::Run(quick), Command::Run(whole)) = (quick.command, whole.command) else {
            panic!("{words:?}: another command");
        };
        assert_eq!(format!("{quick:?}"), format!("{whole:?}"));
    }
    for words in [
        &["bailiwick"][..],
        &["bailiwick", "log"],
        &["bailiwick", "run"],
        &["bailiwick", "run", "--help"],
        &["bailiwick", "run", "--no-such", "--", "true"],
        &["bailiwick", "--version"],
    ] {
        assert!(both(words).0.is_none(), "{words:?}");
    }
}
