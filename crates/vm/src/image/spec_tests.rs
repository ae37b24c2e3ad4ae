use super::Spec;
use bailiwick_event::Failure;
use proptest::prelude::*;

fn mistake(text: &str) -> String {
    match Spec::parse("my.toml", text) {
        Err(Failure::Usage(message)) => message,
        other => panic!("not a mistake: {other:?}"),
    }
}

#[test]
fn what_is_shipped_has_no_mistakes() {
    for name in super::shipped() {
        let spec = Spec::find(name).unwrap();
        assert_eq!(spec.name, name);
        assert!(
            spec.packages.iter().any(|package| package == "git"),
            "{name}"
        );
        assert!(
            spec.packages.is_sorted(),
            "the order of a list is no input: {name}"
        );
    }
    let (code, agents) = (Spec::find("code").unwrap(), Spec::find("agents").unwrap());
    assert_eq!(code.packages, agents.packages);
    assert_eq!(code.kernel, agents.kernel, "one kernel serves both");
    assert!(code.npm.is_empty() && agents.npm.len() == 3);
}

#[test]
fn a_spec_adds_to_the_one_that_it_extends() {
    let spec = Spec::parse(
        "f",
        "name = \"mine\"\nextends = \"code\"\npackages = [\"golang-go\"]",
    )
    .unwrap();
    let code = Spec::find("code").unwrap();
    assert_eq!(spec.packages.len(), code.packages.len() + 1);
    assert_eq!((spec.suite, spec.epoch), (code.suite.clone(), code.epoch));
    assert_ne!(spec.name, code.name);
}

#[test]
fn a_mistake_says_where_it_stands_and_how_to_mend_it() {
    let base = "name = \"mine\"\nextends = \"code\"\n";
    for (text, said) in [
        (
            "name = \"mine\"\n",
            "my.toml:1:1: `suite` is missing; write it, or `extends = \"code\"`",
        ),
        (
            "name = \"My\"\nextends = \"code\"",
            "my.toml:1:8: \"My\" cannot be the name of an image; use",
        ),
        (
            "name = \"a\"\nextends = \"cod\"",
            "my.toml:2:11: no image of this name is shipped; write one of code",
        ),
        (
            &format!("{base}packages = [\n  \"jq\",\n  \"jq --yes\"]"),
            "my.toml:5:3: \"jq --yes\" cannot be",
        ),
        (
            &format!("{base}pip = [\"uv\"]"),
            "my.toml:3:8: \"uv\" has no fixed version",
        ),
        (
            &format!("{base}npm = [\"--evil@1\"]"),
            "my.toml:3:8: \"--evil@1\" has no",
        ),
        (
            &format!("{base}npm = [\"a@1 b@2\"]"),
            "my.toml:3:8: \"a@1 b@2\" has no",
        ),
        (
            &format!("{base}pakages = []"),
            "my.toml:3:1: unknown field `pakages`, expected one of",
        ),
        ("name = \"a", "my.toml:1:"),
    ] {
        let message = mistake(text);
        assert!(
            message.starts_with(said),
            "{message}\n  does not begin with\n{said}"
        );
    }
}

#[test]
fn an_unknown_image_names_those_that_there_are() {
    let failure = Spec::find("cod").unwrap_err().to_string();
    assert!(
        failure.contains("there are code and agents, and files of your own"),
        "{failure}"
    );
    let failure = Spec::find("./no-such.toml").unwrap_err();
    assert_eq!(failure.exit_code(), 2, "{failure}");
}

#[test]
fn whatever_changes_a_spec_changes_its_hash() {
    let code = Spec::find("code").unwrap();
    let changes: [fn(&mut Spec); 7] = [
        |spec| spec.name.push('2'),
        |spec| spec.suite.push('2'),
        |spec| spec.epoch += 1,
        |spec| spec.kernel.push('2'),
        |spec| drop(spec.packages.pop()),
        |spec| drop(spec.pip.pop()),
        |spec| spec.npm.push("a@1".to_owned()),
    ];
    for change in changes {
        let mut other = code.clone();
        change(&mut other);
        assert_ne!(other.hash(), code.hash());
    }
}

proptest! {
    /// Whatever stands in a spec, a shell sees nothing of it but words.
    #[test]
    fn no_word_of_a_spec_means_anything_to_a_shell(word in "\\PC{0,12}", version in "\\PC{0,6}") {
        for key in ["packages", "pip", "npm"] {
            let word = toml::Value::String(format!("{word}@{version}"));
            let text = format!("name = \"a\"\nextends = \"code\"\n{key} = [{word}]");
            if let Ok(spec) = Spec::parse("f", &text) {
                for word in spec.packages.iter().chain(&spec.pip).chain(&spec.npm) {
                    prop_assert!(!word.starts_with('-'));
                    prop_assert!(word.bytes().all(|b| b.is_ascii_alphanumeric() || b"@/._=+~-".contains(&b)));
                }
            }
        }
    }
}
