use super::*;

fn says(result: Result<Value, Why>) -> String {
    let (message, help) = result.unwrap_err();
    format!("{message}; {help}")
}

#[test]
fn published_ports_are_read_in_three_lengths() {
    for (text, listen, port) in [
        ("3000", "127.0.0.1:3000", 3000),
        ("8080:80", "127.0.0.1:8080", 80),
        ("0.0.0.0:8080:80", "0.0.0.0:8080", 80),
        ("[::1]:8080:80", "[::1]:8080", 80),
    ] {
        let expected = Publish {
            listen: listen.parse().unwrap(),
            port,
        };
        assert_eq!(
            super::text(Kind::Publish, text),
            Ok(Value::Publish(expected)),
            "{text}"
        );
    }
    for bad in [
        "0",
        "70000",
        "a:80",
        "::1:80:80",
        "1:2:3:4",
        "host.test:80:80",
        "+80",
        "80:",
    ] {
        assert!(
            says(super::text(Kind::Publish, bad)).contains("127.0.0.1:3000:3000"),
            "{bad}"
        );
    }
}

#[test]
fn names_of_variables_are_checked() {
    for good in ["LANG", "LC_*", "_x9", "*"] {
        assert!(super::text(Kind::Names, good).is_ok(), "{good}");
    }
    assert!(
        says(super::text(Kind::Names, "CI=1")).contains("write CI = \"1\" under [environment.set]")
    );
    for bad in ["A-B", "*_TOKEN", "9A", "A B"] {
        assert!(super::text(Kind::Names, bad).is_err(), "{bad}");
    }
    assert!(variable("A=B", "x").is_err_and(|(name, _)| name));
    assert!(variable("A", "x\0y").is_err_and(|(name, _)| !name));
}

#[test]
fn a_mapping_is_from_a_name_to_one_address() {
    assert!(mapping("Registry.Test.", "127.0.0.1:8443").is_ok());
    assert!(mapping("10.0.0.1", "127.0.0.1:8443").is_err_and(|(name, _)| name));
    for bad in ["127.0.0.1", "localhost:80", "127.0.0.1:0", "::1:80"] {
        assert!(
            mapping("a.test", bad).is_err_and(|(name, _)| !name),
            "{bad}"
        );
    }
}

#[test]
fn sets_stand_only_where_hosts_are_allowed() {
    assert_eq!(
        super::text(Kind::Hosts { sets: true }, "@pip"),
        Ok(Value::Set(SetName::Pip))
    );
    assert!(
        says(super::text(Kind::Hosts { sets: false }, "@pip")).contains("only in [network] allow")
    );
    assert!(says(super::text(Kind::Hosts { sets: true }, "@crates")).contains("the sets are @pip"));
}

#[test]
fn a_control_character_is_refused_and_not_repeated() {
    let said = says(super::text(Kind::Paths, "/x\u{1b}[2J"));
    assert!(
        said.contains("control character") && !said.contains('\u{1b}'),
        "{said}"
    );
}

#[test]
fn a_size_beyond_what_can_be_is_refused_and_says_the_most() {
    for (key, most) in [(KeyId::KeepLimit, 16 << 20), (KeyId::BodyLimit, 64 << 20)] {
        assert_eq!(in_range(key, &Value::Number(most)), Ok(()));
        let (message, help) = in_range(key, &Value::Number(most + 1)).unwrap_err();
        let size = format!("{}MiB", most >> 20);
        assert!(
            message.contains(&size) && help.contains(&size),
            "{message} {help}"
        );
    }
    assert_eq!(in_range(KeyId::Memory, &Value::Number(u64::MAX)), Ok(()));
}
