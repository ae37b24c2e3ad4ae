use super::*;

#[test]
fn one_star_stays_in_its_folder_and_two_do_not() {
    for (pattern, path, expected) in [
        ("/v1/**", "/v1/users/7", true),
        ("/v1/**", "/v1/", true),
        ("/v1/**", "/v1", false),
        ("/v1/*", "/v1/users", true),
        ("/v1/*", "/v1/users/7", false),
        ("/v1/*/x", "/v1/abc/x", true),
        ("/**", "/", true),
        ("/a*b**c", "/aXbY/Zc", true),
        ("/a*b**c", "/a/bc", false),
        ("/v1/users", "/v1/users?admin=1", true),
        ("/v1/users", "/v1/users2", false),
    ] {
        assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
    }
}

#[test]
fn a_path_that_can_be_read_in_two_ways_fits_nothing() {
    for path in [
        "/v1/../admin",
        "/v1/%2e%2E/admin",
        "/v1/..%2fadmin",
        "/v1/%252e%252e/admin",
        "/v1/..\\admin",
        "/v1/.",
        "//evil/v1/",
        "/v1/..;/admin",
        "/v1/%00",
        "v1/x",
        "",
        "*",
    ] {
        assert!(!fits("/v1/**", path), "{path}");
        assert!(!fits("/**", path), "{path}");
        assert!(!fits("**", path), "{path}");
    }
}
