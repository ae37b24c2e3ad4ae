use super::*;
use crate::fixture::Fixture;
use crate::measure;
use crate::system::System;
use crate::verdict::Verdict;

fn place() -> Place {
    Place {
        workspace: "/srv/work".into(),
        settings: "/srv/peers/x".into(),
    }
}

fn program(name: &str) -> Program {
    Program {
        word: name.into(),
        path: format!("/usr/bin/{name}").into(),
    }
}

fn job(words: &[&str]) -> Job {
    Job {
        argv: words.iter().map(OsString::from).collect(),
        path: format!("/usr/bin/{}", words[0]).into(),
    }
}

fn line(argv: &[OsString]) -> String {
    let words: Vec<_> = argv.iter().map(|w| w.to_str().unwrap()).collect();
    words.join(" ")
}

#[test]
fn the_row_that_peers_publish_uses_their_published_command_line() {
    let argv = bwrap(&place(), &program("bwrap"), &job(&["true"]), true).unwrap();
    assert_eq!(line(&argv), "bwrap --unshare-all --ro-bind / / true");
}

#[test]
fn rows_with_files_may_write_the_workspace_and_nothing_else() {
    let argv = bwrap(&place(), &program("bwrap"), &job(&["echo", "x"]), false).unwrap();
    assert_eq!(
        line(&argv),
        "bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc --bind /srv/work /srv/work \
         --chdir /srv/work echo x"
    );
}

#[test]
fn sandboxes_without_a_path_get_the_program_s_file() {
    let argv = nsjail(&place(), &program("nsjail"), &job(&["echo", "x"]), false).unwrap();
    assert!(line(&argv).ends_with("-- /usr/bin/echo x"), "{argv:?}");
}

#[test]
fn a_command_survives_being_one_string_for_a_shell() {
    let argv = shell(
        &program("sh"),
        Path::new("/x"),
        &job(&["printf", "%s|", "a b", "it's", "$HOME", ""]),
    );
    let command = ["sh".into(), "-c".into(), argv.last().unwrap().clone()];
    let sample = measure::run(&command, Path::new("/"), &[]).unwrap();
    assert_eq!(sample.stdout.as_bytes(), b"a b|it's|$HOME||");
}

fn refusing(_: &Place, _: &Program, _: &Job, _: bool) -> io::Result<Vec<OsString>> {
    Ok(["sh", "-c", "echo this kernel is too old >&2; exit 7"]
        .map(OsString::from)
        .to_vec())
}
fn starting(_: &Place, program: &Program, _: &Job, _: bool) -> io::Result<Vec<OsString>> {
    Ok(vec![program.word.clone()])
}

/// What stands in the place of a figure for a peer of this program and these command lines.
fn refusal(name: &'static str, forms: &'static [Form]) -> Option<Verdict> {
    let peer = Box::leak(Box::new(Peer {
        name,
        version: "--version",
        forms,
        no_network: "it has none",
    }));
    let out = crate::testing::folder();
    let fixture = Fixture::generate(out.path(), "peer").unwrap();
    let system = System::peer(peer, &fixture, &job(&["true"]));
    let product = crate::system::Product {
        binary: "/x".into(),
        profiles: crate::profile::Profiles::write(&fixture, None).unwrap().0,
    };
    let rows = crate::catalogue::rows(&fixture, None, true);
    system.argv(&product, &rows[0], &job(&["true"])).err()
}

#[test]
fn a_peer_that_does_not_start_says_why_in_its_own_words() {
    assert_eq!(
        refusal("true", &[refusing]),
        Some(Verdict::DoesNotStart(
            "exit code 7: this kernel is too old".to_owned()
        ))
    );
}

#[test]
fn an_older_command_line_is_tried_when_the_newest_does_not_start() {
    assert_eq!(refusal("true", &[refusing, starting]), None);
}

#[test]
fn a_peer_that_is_not_installed_is_absent() {
    assert!(matches!(
        refusal("no-such-program", &[starting]),
        Some(Verdict::Absent(_))
    ));
}
