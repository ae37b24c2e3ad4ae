use super::*;

#[test]
fn a_path_is_told_apart_by_where_it_begins() {
    let inside = |text: &str| Place::Inside(text.to_owned());
    let fixed = |text: &str| Place::Fixed(text.to_owned());
    for (text, is) in [
        (".", Place::Workspace),
        ("./", Place::Workspace),
        ("./**", Place::Workspace),
        ("**", Place::Workspace),
        ("src/", inside("src")),
        (".//src/**", inside("src")),
        ("**/.env", inside("**/.env")),
        ("{a,b}", inside("[{]a,b[}]")),
        ("{a,b}*", inside("[{]a,b[}]*")),
        ("../x", Place::Upward("../x".to_owned())),
        ("src/../../x", Place::Upward("src/../../x".to_owned())),
        ("/", fixed("/")),
        ("/**", fixed("/")),
        ("~/", fixed("~")),
        ("~/x/**", fixed("~/x")),
        ("~root/x", fixed("~root/x")),
        ("$TMPDIR", Place::Unknown),
        ("", Place::Unknown),
        ("a\\*", Place::Unknown),
        ("[{]*", Place::Unknown),
    ] {
        assert_eq!(place(text), is, "{text}");
    }
}
