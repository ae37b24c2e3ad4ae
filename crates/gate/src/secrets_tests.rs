use super::*;
use bailiwick_policy::SecretSource;
use proptest::prelude::*;

fn entry(hosts: &[&str]) -> Sourced<SecretRule> {
    Sourced {
        value: SecretRule {
            name: "KEY".into(),
            from: SecretSource::Env("KEY".into()),
            hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
            places: vec![SecretPlace::Header],
            git_user: None,
        },
        origin: Origin::new("p.toml", 3, 1),
    }
}

fn secret(value: &str) -> Result<Secret, String> {
    Secret::new(&entry(&["a.test"]), value.to_owned())
}

proptest! {
    #[test]
    fn what_stands_for_a_secret_has_its_shape_and_is_not_it(
        value in "(sk-ant-api03-|ghp_|AKIA|)[a-zA-Z0-9_+/=.-]{20,60}",
    ) {
        if let Ok(secret) = secret(&value) {
            let text = secret.stand_in();
            prop_assert_eq!(text.len(), value.len());
            prop_assert_ne!(text, &*value);
            for (a, b) in text.bytes().zip(value.bytes()) {
                prop_assert_eq!(a.is_ascii_digit(), b.is_ascii_digit());
                prop_assert_eq!(a.is_ascii_uppercase(), b.is_ascii_uppercase());
                prop_assert_eq!(a.is_ascii_lowercase(), b.is_ascii_lowercase());
                prop_assert!(a.is_ascii_alphanumeric() || a == b);
            }
        }
    }
}

#[test]
fn the_beginning_by_which_a_kind_of_key_is_known_stays() {
    let of = |value: &str| secret(value).unwrap().stand_in().to_owned();
    assert!(of("sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789").starts_with("sk-ant-api03-"));
    assert!(of("ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789").starts_with("ghp_"));
    let hex = of("0123456789abcdef0123456789abcdef");
    assert!(
        hex.bytes()
            .all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
    );
    assert_ne!(of("ghp_AbCdEfGhIjKlMnOp"), of("ghp_AbCdEfGhIjKlMnOp"));
}

#[test]
fn what_cannot_be_told_from_other_texts_is_no_secret() {
    for (value, why) in [
        ("short", "12 to 4096"),
        ("two words and more", "stands in no key"),
        ("------------------", "letters and digits"),
    ] {
        let said = secret(value).unwrap_err();
        assert!(said.contains(why) && !said.contains(value), "{said}");
    }
    assert!(!format!("{:?}", secret("a-very-secret-value-1")).contains("value"));
}

#[test]
fn a_machine_may_have_it_by_name_and_port_and_only_within_tls_unless_the_port_is_said() {
    let made = |hosts: &[&str]| Secret::new(&entry(hosts), "a-very-secret-value-1".into()).unwrap();
    let host = |name: &str| Host::parse(name).unwrap();
    let plain = made(&["a.test", "*.b.test:8443"]);
    assert!(plain.is_for(&host("a.test"), 443, true));
    for (name, port, secure) in [
        ("a.test", 443, false),
        ("a.test", 80, false),
        ("x.a.test", 443, true),
        ("b.test", 8443, true),
    ] {
        assert!(!plain.is_for(&host(name), port, secure), "{name} {port}");
    }
    assert!(plain.is_for(&host("x.b.test"), 8443, false));
}
