use super::*;
use bailiwick_event::Origin;
use bailiwick_policy::{SecretPlace, SecretRule, SecretSource, Sourced};

fn secret(value: &str, stand_in: &str) -> Secret {
    let entry = Sourced {
        value: SecretRule {
            name: "KEY".into(),
            from: SecretSource::Env("KEY".into()),
            hosts: Vec::new(),
            places: vec![SecretPlace::Header],
            git_user: None,
        },
        origin: Origin::new("p.toml", 3, 1),
    };
    let made = Secret::new(&entry, value.to_owned()).unwrap();
    made.standing_in(stand_in.to_owned())
}

#[test]
fn a_secret_is_known_in_every_form_that_servers_write() {
    let made = secret(
        "sk-Ab+Cd/Ef=Gh&Ij'Kl<Mn>0123456789",
        "sk-Zy+Xw/Vu=Ts&Rq'Po<Nm>9876543210",
    );
    for form in [
        // Python's quote(), JavaScript's encodeURIComponent(), and in lower case.
        "sk-Ab%2BCd/Ef%3DGh%26Ij%27Kl%3CMn%3E0123456789",
        "sk-Ab%2BCd%2FEf%3DGh%26Ij%27Kl%3CMn%3E0123456789",
        "sk-Ab%2bCd/Ef%3dGh%26Ij%27Kl%3CMn%3E0123456789",
        // JSON: PHP's, Gson's, .NET's.
        "sk-Ab+Cd\\/Ef=Gh&Ij'Kl<Mn>0123456789",
        "sk-Ab+Cd/Ef\\u003dGh\\u0026Ij\\u0027Kl\\u003cMn\\u003e0123456789",
        "sk-Ab\\u002BCd/Ef=Gh\\u0026Ij\\u0027Kl\\u003cMn\\u003e0123456789",
        // HTML.
        "sk-Ab+Cd/Ef=Gh&amp;Ij&#39;Kl&lt;Mn&gt;0123456789",
    ] {
        let mut replacer = replacer([&made]);
        let out = replacer.whole(form.as_bytes());
        assert_eq!(
            (out.len(), replacer.take_count()),
            (form.len(), 1),
            "{form}"
        );
    }
}

#[test]
fn a_header_named_after_a_secret_is_taken_out_however_it_is_written() {
    let made = secret("Key-AbCdEfGhIjKlMnOp", "Key-ZyXwVuTsRqPoNmLk");
    let mut headers = HeaderMap::new();
    headers.insert("x-%6bey-abcdefghijklmno%50", "y".parse().unwrap());
    headers.insert("x", "\\u004bey-AbCdEfGhIjKlMnO%70".parse().unwrap());
    assert_eq!(in_headers(&mut replacer([&made]), &mut headers), 2);
    assert_eq!(headers.len(), 1);
    assert_eq!(headers["x"], "\\u004bey-ZyXwVuTsRqPoNmL%6B");
}
