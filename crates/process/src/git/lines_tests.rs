use super::*;
use proptest::prelude::*;

const ID: &str = "0123456789012345678901234567890123456789";

fn may_say(content: Content, text: &str) -> bool {
    check(content, text.as_bytes()).is_ok()
}

#[test]
fn a_reference_leads_to_references_alone() {
    for text in [
        ID,
        "",
        "ref: refs/heads/main\n",
        "ref:refs/heads/a/b",
        "ref: refs/heads/.invalid",
        "ref: \trefs/remotes/o/x \n",
    ] {
        assert!(may_say(Content::Reference, text), "{text:?}");
    }
    for text in [
        "ref: refs/../../x",
        "ref: refs/heads/../x",
        "ref: refs//x",
        "ref: refs/heads/.x",
        "ref: refs/heads/x.lock",
        "ref: config",
        "ref: /x",
        "ref: HEAD",
        "ref: refs/heads/x\nref: y",
        "ref: refs/heads/x\0y",
        "ref:",
    ] {
        assert!(!may_say(Content::Reference, text), "{text:?}");
    }
}

#[test]
fn a_list_of_things_to_do_runs_nothing() {
    let picks = format!(
        "# a remark\npick {ID} one\nfixup -C {ID}\nlabel a\nreset onto\nmerge -C {ID} a\n\nupdate-ref refs/heads/x\nbreak\nnoop\n"
    );
    assert!(may_say(Content::Todo, &picks));
    for line in [
        "exec touch x",
        "x touch x",
        "  exec\ttouch x",
        "exec",
        "unknown",
        "EXEC x",
    ] {
        assert!(
            !may_say(Content::Todo, &format!("pick {ID}\n{line}\n")),
            "{line}"
        );
    }
}

#[test]
fn options_that_start_programs_or_read_files_are_refused() {
    assert!(may_say(Content::Strategy, "ort\n") && !may_say(Content::Strategy, "x/evil\n"));
    assert!(may_say(Content::Signing, "") && !may_say(Content::Signing, "-Skey\n"));
    assert!(!may_say(Content::Signing, "\u{c}\n"));
    assert!(may_say(Content::ApplyOptions, "\n"));
    assert!(may_say(Content::ApplyOptions, "'--whitespace=fix' '-p2'\n"));
    for bad in [
        "'--unsafe-paths'",
        "'--build-fake-ancestor=x'",
        "--whitespace=fix",
        "'-p1' x",
        "'--reject\u{8}'",
        "'--reject-more'",
        "'--whitespace=\u{8}'",
        "'-p'",
        "'-C2x'",
    ] {
        assert!(!may_say(Content::ApplyOptions, bad), "{bad}");
    }
    assert!(may_say(
        Content::PickOptions,
        "[options]\n\tallow-ff = true\n\tstrategy = ort\n\tmainline = 1\n"
    ));
    for bad in [
        "[options]\nstrategy = x/evil",
        "[options]\ngpg-sign = key",
        "[core]\nfsmonitor = x",
        "[options",
    ] {
        assert!(!may_say(Content::PickOptions, bad), "{bad}");
    }
}

#[test]
fn references_and_paths_are_those_of_the_rebase() {
    assert!(
        may_say(Content::RefsToDelete, "refs/rewritten/a\n")
            && !may_say(Content::RefsToDelete, "refs/heads/main\n")
    );
    assert!(may_say(
        Content::RefsToMove,
        &format!("refs/heads/a\n{ID}\n{ID}\n")
    ));
    assert!(!may_say(Content::RefsToMove, "refs/tags/v1\n"));
    // Git takes the lines three by three.
    for text in [
        format!("\nrefs/heads/a\n{ID}\n{ID}\n"),
        format!("{ID}\nrefs/heads/a\n{ID}\n"),
        format!("refs/heads/a\n{ID}\n"),
    ] {
        assert!(!may_say(Content::RefsToMove, &text), "{text:?}");
    }
    assert!(may_say(Content::RefsToMove, ""));
    assert!(
        may_say(Content::HeadName, "refs/heads/a\n")
            && may_say(Content::HeadName, "detached HEAD\n")
    );
    assert!(!may_say(Content::HeadName, "refs/heads/\u{1b}]0;x\n"));
    for good in ["", "0\n", "1234567890\n"] {
        assert!(may_say(Content::Count, good), "{good}");
    }
    for bad in ["$(id)\n", "1\n2\n", " 1", "-1", "12345678901"] {
        assert!(!may_say(Content::Count, bad), "{bad}");
        assert_eq!(is_hopeless(Content::Count, bad.as_bytes()), Some(true));
    }
    assert!(may_say(Content::CommitId, ID) && may_say(Content::CommitId, "8a7b\n"));
    assert!(!may_say(Content::CommitId, "\u{1b}]52;c;x\n"));
    assert!(may_say(Content::BisectStart, "main\n") && may_say(Content::BisectStart, ID));
    for bad in ["--force\n", "--pathspec-from-file=x\n", "-q", ""] {
        assert!(!may_say(Content::BisectStart, bad), "{bad}");
    }
    assert!(may_say(
        Content::MergeRr,
        &format!("{ID}\ta/b\0{ID}.1\tc\0")
    ));
    for bad in ["../x", "/etc/x", "a/.git/config", ""] {
        assert!(
            !may_say(Content::MergeRr, &format!("{ID}\t{bad}\0")),
            "{bad}"
        );
    }
    assert!(may_say(
        Content::Tables,
        "0x000000000001-0x000000000002-abcdef01.ref\n"
    ));
    assert!(!may_say(Content::Tables, "../x.ref\n"));
}

#[test]
fn a_name_that_is_no_reference_is_refused() {
    for name in [
        "a..b",
        "../heads/main",
        "a//b",
        "a/",
        "a.lock",
        ".a",
        "a@{1}",
        "a~1",
        "a^{/x}",
        "a:b",
        "a*",
        "a\\b",
        "a.",
    ] {
        assert!(
            !may_say(Content::RefsToDelete, &format!("refs/rewritten/{name}\n")),
            "{name}"
        );
        assert!(
            !may_say(
                Content::RefsToMove,
                &format!("refs/heads/{name}\n{ID}\n{ID}\n")
            ),
            "{name}"
        );
        assert!(
            !may_say(Content::HeadName, &format!("refs/{name}\n")),
            "{name}"
        );
        assert!(
            !may_say(Content::BisectStart, &format!("{name}\n")),
            "{name}"
        );
    }
    assert!(!may_say(Content::BisectStart, "@\n") && may_say(Content::BisectStart, "a/b.c-d"));
}

#[test]
fn the_number_of_an_image_stays_within_what_git_has_in_memory() {
    let numbered = |number: &str| may_say(Content::MergeRr, &format!("{ID}.{number}\ta\0"));
    assert!(numbered("1") && numbered("23"));
    for number in ["24", "100", "2147483648", "-1", "+1", " 1", ""] {
        assert!(!numbered(number), "{number}");
    }
}

#[test]
fn a_strategy_is_a_word_without_more() {
    assert!(may_say(Content::Strategy, "ours"));
    for text in [" ort\n", "ort \n", "ort\n\n", "ort\0/x"] {
        assert!(!may_say(Content::Strategy, text), "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_decided(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        for content in [Content::Todo, Content::PickOptions, Content::MergeRr, Content::Tables, Content::ApplyOptions] {
            let _ = check(content, &bytes);
        }
    }
}

#[test]
fn what_no_more_text_mends_is_known_before_its_end() {
    let hopeless = |content, text: &str| is_hopeless(content, text.as_bytes()).unwrap();
    for text in [
        "",
        "re",
        "ref:",
        "ref: re",
        "ref: refs/heads/x",
        "1234",
        "ref: refs/heads/.",
    ] {
        assert!(!hopeless(Content::Reference, text), "{text}");
    }
    for text in [
        "ref: /",
        "ref:x",
        "ref: refs/../",
        "ref: refs/heads/a..",
        "ref: config",
    ] {
        assert!(hopeless(Content::Reference, text), "{text}");
    }
    for text in ["pi", "pick 1", "# exec x", "pick 1\nex"] {
        assert!(!hopeless(Content::Todo, text), "{text}");
    }
    for text in ["exec ", "pick 1\n  x y", "exec\nbreak"] {
        assert_eq!(
            hopeless(Content::Todo, text),
            text != "exec\nbreak",
            "{text}"
        );
    }
}

#[test]
fn packed_references_are_references() {
    let id = "1".repeat(40);
    let replaced = format!("{id} refs/replace/{id}\n");
    let text = format!("# pack-refs with: peeled\n{id} refs/heads/x\n^{id}\n");
    let may = |old: &str, new: &str| check_packed(old.as_bytes(), new.as_bytes()).is_ok();
    assert!(may("", "") && may("", &text) && may(&replaced, &format!("{text}{replaced}")));
    let cut = &text[..text.len() - 1];
    for bad in [&replaced, cut, "x\n", &format!("{id} HEAD\n")] {
        assert!(!may("", bad), "{bad}");
    }
}
