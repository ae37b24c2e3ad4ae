use super::*;
use crate::Effective;
use crate::fixture::Machine;
use crate::sets::Accepted;

/// What a script answers that stands in the place of a client.
fn answer(machine: &Machine, settings: &[(&str, &str)]) -> Option<String> {
    let request = &machine.request;
    let effective = Effective::empty(request.workspace.clone(), request.home.clone());
    let search = Search::new(request, &effective, Accepted::These(&[]));
    // So that a busy machine does not keep it from answering.
    let long = Duration::from_secs(300);
    ask_within(long, &search, "client", &[], settings)
}

#[test]
fn a_client_is_told_of_no_file_of_the_workspace() {
    let script = "#!/bin/sh\necho \"$PATH|$client_config|$CLIENT_CONFIG|$OTHER|$OPTIONS|$KEPT\"\n";
    let machine = Machine::new()
        .program("~/bin/client", script)
        .program("bin/client", "#!/bin/sh\necho evil\n")
        .file("file", "");
    let text = |path: &str| machine.path(path).to_str().unwrap().to_owned();
    let (bin, evil, file) = (text("~/bin"), text("bin"), text("file"));
    let kept = text("~/.clientrc");
    let machine = machine
        .variable("PATH", &format!("{evil}:{bin}"))
        .variable("CLIENT_CONFIG", &kept)
        .variable("OTHER", &file)
        .variable("OPTIONS", &format!("--config={file}"))
        .variable("KEPT", &kept);
    let said = answer(&machine, &[("client_config", "/dev/null")]);
    assert_eq!(said.unwrap(), format!("{bin}|/dev/null||||{kept}\n"));
}

#[test]
fn a_client_behind_a_link_of_the_workspaces_is_not_started() {
    let machine = Machine::new()
        .program("~/bin/other", "#!/bin/sh\necho evil\n")
        .file("bin/x", "");
    std::os::unix::fs::symlink("../project/bin/client", machine.path("~/bin/client")).unwrap();
    std::os::unix::fs::symlink("../../bin/other", machine.path("bin/client")).unwrap();
    let path = machine.path("~/bin").to_str().unwrap().to_owned();
    assert_eq!(answer(&machine.variable("PATH", &path), &[]), None);
}
