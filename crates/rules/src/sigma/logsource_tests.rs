use super::mapping::SOURCES;
use super::oracle::{carry, event, hits};
use super::{Operand, Reason, read};
use bailiwick_event::fields::FieldType;

fn logsource(source: &str) -> Result<super::Detection, super::Skipped> {
    let text =
        format!("title: T\nlogsource: {source}\ndetection: {{s: {{Image: a}}, condition: s}}\n");
    read(&text).remove(0)
}

#[test]
fn each_log_source_is_the_event_type_that_stands_for_it() {
    for (category, field, on) in [
        ("process_creation", "Image", "process.exec"),
        ("proxy", "c-uri", "http.request"),
        ("webserver", "cs-uri-stem", "http.request"),
        ("dns", "query", "dns.request"),
        ("dns_query", "QueryName", "dns.request"),
        ("file_event", "TargetFilename", "file"),
        ("file_change", "TargetFilename", "file"),
        ("file_rename", "TargetFilename", "file"),
        ("file_delete", "TargetFilename", "file"),
        ("file_access", "TargetFilename", "file"),
        ("network_connection", "DestinationIp", "socket"),
    ] {
        let detection = format!("s: {{{field}: a}}\ncondition: s");
        assert_eq!(
            carry(category, &detection).unwrap().on.name(),
            on,
            "{category}"
        );
    }
    assert!(logsource("{category: process_creation, product: linux}").is_ok());
}

#[test]
fn a_log_source_without_a_counterpart_is_named() {
    for (source, words) in [
        (
            "{category: process_creation, product: windows}",
            "about windows",
        ),
        (
            "{category: process_creation, product: macos}",
            "about macos",
        ),
        ("{product: linux, service: auditd}", "\"auditd\""),
        (
            "{category: process_creation, service: sysmon}",
            "\"sysmon\"",
        ),
        ("{category: registry_set}", "\"registry_set\""),
        ("{product: linux}", "no category"),
        ("{category: 5.0, product: true}", "is a text"),
        ("a", "a map"),
    ] {
        let said = logsource(source).unwrap_err().reason.to_string();
        assert!(said.contains(words), "{source}: {said}");
    }
}

#[test]
fn every_mapped_field_is_one_of_its_event_type() {
    for source in &SOURCES {
        for (name, target) in source.fields {
            let value = match target.operand() {
                Operand::Field(field) => {
                    assert!(
                        source.on.families().contains(&field.info().family),
                        "{name}"
                    );
                    if field.info().ty == FieldType::Int {
                        "5"
                    } else {
                        "a"
                    }
                }
                Operand::Header(_) => "a",
            };
            let detection = format!("s: {{{name}: {value}}}\ncondition: s");
            assert!(
                carry(source.category, &detection).is_ok(),
                "{} {name}",
                source.category
            );
        }
    }
}

#[test]
fn a_field_without_a_counterpart_is_named_with_its_event_type() {
    for (category, field) in [
        ("process_creation", "User"),
        ("process_creation", "ParentCommandLine"),
        ("process_creation", "OriginalFileName"),
        ("process_creation", "image"),
        ("proxy", "sc-status"),
        ("proxy", "cs-bytes"),
        ("dns", "answer"),
        ("network_connection", "Initiated"),
    ] {
        let skipped = carry(category, &format!("s: {{{field}: a}}\ncondition: s")).unwrap_err();
        let said = skipped.to_string();
        assert!(matches!(skipped.reason, Reason::Field { .. }), "{said}");
        assert!(said.contains(&format!("{field:?}")), "{said}");
    }
    // What the condition does not name may be what it will.
    assert!(carry("proxy", "a: {c-uri: x}\nb: {sc-status: 200}\ncondition: a").is_ok());
}

#[test]
fn headers_are_asked_for_by_their_names() {
    for (field, header) in [
        ("c-useragent", "user-agent"),
        ("cs-user-agent", "user-agent"),
        ("cs-referrer", "referer"),
        ("cs-cookie", "cookie"),
    ] {
        let detection = carry(
            "proxy",
            &format!("s: {{{field}|contains: Evil}}\ncondition: s"),
        );
        let detection = detection.unwrap();
        let header = format!("header:{header}");
        assert!(hits(&detection, &event([(&header, "an evil one".into())])));
        assert!(!hits(&detection, &event([])));
    }
}

#[test]
fn a_file_that_vanishes_is_no_file_that_comes_to_be() {
    let finds = |category: &str, call: &str| {
        let detection = carry(category, "s: {TargetFilename: /a}\ncondition: s or s").unwrap();
        hits(
            &detection,
            &event([("file.path", "/a".into()), ("file.operation", call.into())]),
        )
    };
    for (category, open, rename, unlink) in [
        ("file_event", true, true, false),
        ("file_change", true, true, false),
        ("file_rename", false, true, false),
        ("file_delete", false, false, true),
        ("file_access", true, true, true),
    ] {
        assert_eq!(finds(category, "open"), open, "{category}");
        assert_eq!(finds(category, "rename"), rename, "{category}");
        assert_eq!(finds(category, "unlink"), unlink, "{category}");
    }
}

#[test]
fn record_types_are_names() {
    assert!(carry("dns", "s: {record_type: txt}\ncondition: s").is_ok());
    let skipped = carry("dns", "s: {record_type: 16}\ncondition: s").unwrap_err();
    assert!(skipped.reason.to_string().contains("names such as TXT"));
}

#[test]
fn what_is_no_rule_of_its_own_is_named() {
    let rule = "title: T\nlogsource: {category: dns}\ndetection: {s: {query: a}, condition: s}\n";
    let said = |text: &str| read(text).pop().unwrap().unwrap_err().reason.to_string();
    for (text, words) in [
        (
            "title: C\ncorrelation: {type: event_count}\n".to_owned(),
            "a correlation",
        ),
        (format!("{rule}filter: {{rules: [a]}}\n"), "a filter"),
        (
            format!("action: global\ntitle: G\n---\n{rule}"),
            "a collection",
        ),
        (format!("{rule}taxonomy: other\n"), "taxonomy \"other\""),
        (format!("{rule}status: unsupported\n"), "unsupported"),
        (format!("{rule}level: huge\n"), "\"huge\" is no level"),
        (format!("{rule}tags: [[a]]\n"), "tags is a list of texts"),
        (format!("{rule}author: [a]\n"), "author is a text"),
        (rule.replace("title: T", "title: ''"), "no title"),
        (rule.replace("title: T\n", ""), "no title"),
        ("title: T\ndetection: {}\n".to_owned(), "no logsource"),
        (
            "title: T\nlogsource: {category: dns}\n".to_owned(),
            "no detection",
        ),
        (
            "title: T\nlogsource: {category: dns}\ndetection: []\n".to_owned(),
            "is a map",
        ),
        (rule.replace(", condition: s", ""), "no condition"),
        ("- a\n".to_owned(), "a rule is a map"),
    ] {
        let said = said(&text);
        assert!(said.contains(words), "{text}: {said}");
    }
}
