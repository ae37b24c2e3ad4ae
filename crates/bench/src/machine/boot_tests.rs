use super::*;

fn boot(stages: &[(&str, &str, f64)]) -> Boot {
    let stages: Vec<_> = stages
        .iter()
        .map(|(side, name, ms)| serde_json::json!({"side": side, "name": name, "ms": ms}))
        .collect();
    serde_json::from_value(serde_json::json!({
        "accelerator": "tcg", "image": "code", "warm": false, "total_ms": 900.0, "stages": stages,
    }))
    .unwrap()
}

#[test]
fn what_init_did_itself_is_no_part_of_the_way_to_it() {
    let boot = boot(&[
        ("host", "monitor", 5.0),
        ("host", "qemu", 50.0),
        ("host", "guest", 700.0),
        ("host", "session", 20.0),
        ("guest", "kernel", 400.0),
        ("guest", "base", 3.0),
        ("guest", "agent", 7.0),
        ("guest", "wait", 2.0),
        ("guest", "session", 15.0),
    ]);
    assert_eq!(boot.to_init(), 740.0);
    assert_eq!(boot.own(), 25.0);
    assert_eq!(boot.clock(), 427.0);
    assert_eq!(boot.answer(), 770.0);
}
