use super::*;
use bailiwick_vm::Accelerator;

fn stage(side: Side, name: &str, ms: u64, work: bool) -> BootStage {
    BootStage {
        side,
        name: name.to_owned(),
        took: Duration::from_millis(ms),
        work,
    }
}

fn example(kernel: u64) -> Boot {
    Boot {
        accelerator: Accelerator::Tcg,
        image: "code".to_owned(),
        warm: false,
        stages: vec![
            stage(Side::Host, "qemu", 100, true),
            stage(Side::Host, "guest", 800, false),
            stage(Side::Guest, "kernel", kernel, true),
            stage(Side::Guest, "base", 1, true),
        ],
        total: Duration::from_millis(900),
        notices: Vec::new(),
    }
}

#[test]
fn a_bar_is_as_long_as_its_stage_and_one_that_took_anything_has_one() {
    let table = table(&example(400));
    let lengths: Vec<_> = table
        .lines()
        .map(|line| line.chars().filter(|c| "█░".contains(*c)).count())
        .collect();
    assert_eq!(lengths, [5, 40, 20, 1, 1], "{table}");
    assert!(
        table.starts_with("host   qemu           100.0 ms  █████\n"),
        "{table}"
    );
    assert!(table.contains("\nguest  kernel"), "{table}");
    assert!(table.contains("\n       base"), "{table}");
}

#[test]
fn a_stage_over_its_budget_is_flagged_and_a_wait_is_not() {
    let over = |kernel| {
        let boot = example(kernel);
        (
            table(&boot).matches("OVER").count(),
            summary(&boot).contains("1 stage over"),
            value(&boot)["stages"][2]["over"] == true,
            value(&boot)["stages"][1]["over"] == true,
        )
    };
    assert_eq!(over(500), (0, false, false, false));
    assert_eq!(over(501), (1, true, true, false));
}

#[test]
fn the_summary_says_what_was_started_and_by_what() {
    assert_eq!(
        summary(&example(1)),
        "ready after 900.0 ms (tcg, a kernel that was started, image code)\n"
    );
    assert_eq!(value(&example(1))["total_ms"], 900.0);
}
