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
    // Where it is one of its machines, the way is what was wrong.
    let refused = |name: &str| plain.refusal(&host(name)).remedy;
    assert!(refused("a.test").contains("TLS at port 443"));
    assert!(refused("a.test").contains("write \"a.test:80\""));
    assert!(refused("c.test").contains("add the machine to the hosts"));
}

#[test]
fn it_is_found_in_what_it_is_coded_in_wherever_it_stands() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    let value = "key-Ab/Cd+EfGhIjKlMnOpQrStUv==";
    let made = Secret::new(&entry(&["a.test"]), value.into()).unwrap();
    for before in 0..4 {
        for after in 0..4 {
            let text = format!("{}{value}{}", &"user"[..before], &"more"[..after]);
            for engine in [&STANDARD, &URL_SAFE] {
                let coded = engine.encode(&text);
                let out = masks::replacer([&made]).whole(coded.as_bytes());
                assert_eq!(out.len(), coded.len());
                let out = String::from_utf8(engine.decode(out).unwrap()).unwrap();
                assert!(!out.contains("Ab/Cd"), "{out}");
            }
        }
    }
    for coded in [
        "key-Ab%2FCd%2BEfGhIjKlMnOpQrStUv%3D%3D",
        "key-Ab\\/Cd+EfGhIjKlMnOpQrStUv==",
    ] {
        assert_ne!(
            masks::replacer([&made]).whole(coded.as_bytes()),
            coded.as_bytes()
        );
    }
    let mut headers = hyper::HeaderMap::new();
    let named = Secret::new(&entry(&["a.test"]), "Key-AbCdEfGhIjKlMnOp".into()).unwrap();
    headers.insert("x-key-abcdefghijklmnop", "y".parse().unwrap());
    headers.insert("x", "Key-AbCdEfGhIjKlMnOp".parse().unwrap());
    assert_eq!(
        masks::in_headers(&mut masks::replacer([&named]), &mut headers),
        2
    );
    assert_eq!(headers.len(), 1);
    assert_eq!(headers["x"], named.stand_in());
}

#[test]
fn a_coded_answer_is_read_in_small_steps_and_no_secret_is_left_between_two() {
    use crate::decode::{Coding, Decoder, STEP};
    use crate::filter::Filter as _;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use hyper::body::Bytes;
    use std::io::Write as _;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;
    use tokio::sync::Semaphore;
    let value = "sk-AbCdEfGhIjKlMnOpQrStUvWx0123456789";
    let made = Secret::new(&entry(&["a.test"]), value.into()).unwrap();
    let mut text = vec![b' '; 1 << 20];
    let at: Vec<usize> = (1..10).map(|n| n * STEP - 3 * n).collect();
    for at in &at {
        text[*at..at + value.len()].copy_from_slice(value.as_bytes());
    }
    let mut coded = GzEncoder::new(Vec::new(), Compression::fast());
    coded.write_all(&text).unwrap();
    let coded = Bytes::from(coded.finish().unwrap());
    let room = Arc::new(Semaphore::new(1 << 20));
    let mask = |room| {
        let masked = Arc::default();
        let decoder = Decoder::new(Coding::Gzip, 1 << 30, room);
        (Mask::new([&made], Some(decoder), &masked), masked)
    };
    let full = Arc::new(Semaphore::new(1000));
    let (mut tight, _) = mask(&full);
    assert!(tight.part(&coded).unwrap_err().contains("cannot be undone"));
    let (mut mask, masked) = mask(&room);
    let mut out = mask.part(&coded).unwrap();
    while mask.has_rest() {
        let more = mask.rest().unwrap();
        assert!(more.len() <= STEP + value.len());
        out.extend(more);
    }
    out.extend(mask.end().unwrap());
    while mask.has_rest() {
        out.extend(mask.rest().unwrap());
    }
    assert_eq!(out.len(), text.len());
    for at in at {
        assert_eq!(&out[at..at + value.len()], made.stand_in().as_bytes());
    }
    assert_eq!(masked.load(Ordering::Relaxed), 9);
}
