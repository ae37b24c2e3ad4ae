use super::*;
use proptest::prelude::*;

fn bases() -> Bases {
    Bases {
        home: "/home/u".into(),
        workspace: "/home/u/w".into(),
        relative: "/conf".into(),
    }
}
fn path(text: &str) -> PathPattern {
    PathPattern::Path(text.into())
}
fn glob_at(root: &str, glob: &str) -> PathPattern {
    PathPattern::Glob {
        root: root.into(),
        glob: glob.into(),
    }
}

#[test]
fn texts_become_absolute_patterns() {
    for (text, expected) in [
        ("~", path("/home/u")),
        ("~/x/", path("/home/u/x")),
        (".", path("/conf")),
        ("./a/../b", path("/conf/b")),
        ("../../..", path("/")),
        ("/", path("/")),
        ("/a//b", path("/a/b")),
        ("**/.env", glob_at("/home/u/w", "**/.env")),
        ("a/**/.env", glob_at("/conf/a", "**/.env")),
        ("/etc/ssh/*_key", glob_at("/etc/ssh", "*_key")),
        ("~/[ab]/c", glob_at("/home/u", "[ab]/c")),
        ("*.pem", glob_at("/conf", "*.pem")),
        // Alternatives are a pattern wherever they stand, and other braces before the first wildcard are names.
        ("{a,b}/*.key", glob_at("/conf", "{a,b}/*.key")),
        ("x/y{a/b,c/d}/k", glob_at("/conf/x", "y{a/b,c/d}/k")),
        ("/x/{a,b}.pem", glob_at("/x", "{a,b}.pem")),
        ("*/{a,b}.pem", glob_at("/conf", "*/{a,b}.pem")),
        ("~/{{x},y}", glob_at("/home/u", "{{x},y}")),
        ("{{x.y}}/*.key", glob_at("/conf/{{x.y}}", "*.key")),
        ("{x}/a,b", path("/conf/{x}/a,b")),
        ("a/{b", path("/conf/a/{b")),
        ("a/b}/{c,d", path("/conf/a/b}/{c,d")),
        ("\\{a,b}/x", path("/conf/\\{a,b}/x")),
    ] {
        assert_eq!(expand(text, &bases()), expected, "{text}");
    }
}

#[test]
fn a_pattern_covers_what_it_names_and_everything_below() {
    for (pattern, at, covered) in [
        (path("/a/b"), "/a/b/c", Some(3)),
        (path("/a/b"), "/a/bc", None),
        (path("/"), "/x", Some(1)),
        (glob_at("/w", "**/.env"), "/w/.env", Some(3)),
        (glob_at("/w", "**/.env"), "/w/a/b/.env/c", Some(5)),
        (glob_at("/w", "**/.env"), "/w/a/.envrc", None),
        (glob_at("/w", "*.pem"), "/w/a/x.pem", None),
        (glob_at("/w", "*.pem"), "/elsewhere/x.pem", None),
        (glob_at("/w", "m/*/hooks"), "/w/m/x/hooks/pre", Some(5)),
    ] {
        assert_eq!(pattern.covers(Path::new(at)), covered, "{pattern:?} {at}");
    }
}

#[test]
fn an_alternative_may_be_nothing() {
    for (text, at) in [
        (".env{,.local}", "/conf/.env"),
        (".env{,.local}", "/conf/.env.local"),
        ("scripts/{,ci/}*.sh", "/conf/scripts/a.sh"),
        ("scripts/{,ci/}*.sh", "/conf/scripts/ci/a.sh"),
        ("**/.env{,.*}", "/home/u/w/a/.env"),
        ("{a,b}/", "/conf/b"),
        ("./{a,b}", "/conf/a"),
    ] {
        assert_eq!(check(text), Ok(()), "{text}");
        let found = expand(text, &bases()).covers(Path::new(at));
        assert!(found.is_some(), "{text} {at}");
    }
}

#[test]
fn mistakes_say_how_to_mend_them() {
    for (bad, says) in [
        ("~bob/x", "~/ for your own"),
        ("$HOME/x", "write \"~/x\""),
        ("a[b", "no glob"),
        ("src/*/../x", "above a wildcard"),
        ("a/{b", "no glob"),
        ("{a/,b}", "which is no path"),
        ("{,a}/k", "which is no path"),
        ("{~/x,b}", "which is no path"),
        ("{./a,b}/k", "which is no path"),
        ("a/{/b,c}/k", "which is no path"),
        ("{../q,b}/k", "which is no path"),
        ("{!(a),b}/k", "cannot be an alternative"),
        ("k/{**,z}/x.key", "cannot be an alternative"),
        ("\\{a,b\\}/k", "as `[{]`"),
        (
            "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
            "more than 4096",
        ),
    ] {
        let result = check(bad);
        if bad == "a/{b" {
            // A brace alone is an ordinary character.
            assert_eq!(result, Ok(()));
            continue;
        }
        let (message, help) = result.unwrap_err();
        assert!(
            format!("{message}; {help}").contains(says),
            "{bad}: {message}; {help}"
        );
    }
}

proptest! {
    #[test]
    fn every_text_becomes_an_absolute_path_without_dots(text in "[a-z~./*]{1,20}") {
        prop_assume!(check(&text).is_ok());
        let (PathPattern::Path(root) | PathPattern::Glob { root, .. }) = expand(&text, &bases());
        prop_assert!(root.is_absolute());
        prop_assert!(!root.components().any(|c| matches!(c, Component::ParentDir | Component::CurDir)));
    }
}
