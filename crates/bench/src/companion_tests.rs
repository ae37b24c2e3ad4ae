use super::*;

fn start(script: &str) -> Result<Companion, String> {
    let argv = ["sh", "-c", script].map(OsString::from);
    Companion::start(&argv, Path::new("/"), &[])
}

#[test]
fn it_is_there_until_it_is_dropped() {
    let companion = start("echo ready; cat").unwrap();
    let alive = format!("/proc/{}/comm", companion.0.id());
    assert!(Path::new(&alive).exists());
    drop(companion);
    assert!(!Path::new(&alive).exists());
}

#[test]
fn one_that_ends_without_a_word_is_an_error() {
    assert!(start("exit 3").is_err());
}
