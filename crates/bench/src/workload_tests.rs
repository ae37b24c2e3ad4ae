use super::*;
use bailiwick_event::Text;
use proptest::prelude::*;

fn sample(code: i32, stdout: &str) -> Sample {
    Sample {
        ns: 1,
        wait_ns: 0,
        run_ns: 1,
        user_us: 0,
        system_us: 0,
        code: Some(code),
        signal: None,
        stdout: stdout.into(),
        stderr: Text::default(),
    }
}

/// A row of a command that is not run here.
fn row(out: &tempfile::TempDir, program: &str, expected: Expected) -> Workload {
    let fixture = Fixture::generate(out.path(), "rows").unwrap();
    Workload::new(&fixture, "row", program, &[], expected)
}

#[test]
fn output_has_to_be_exact() {
    let out = crate::testing::folder();
    let echo = row(&out, "echo", Expected::Output("a\n".to_owned()));
    assert_eq!(echo.verify(&sample(0, "a\n")), Ok(()));
    assert!(echo.verify(&sample(0, "a")).is_err());
    assert!(echo.verify(&sample(0, "a\nb\n")).is_err());
    assert!(
        echo.verify(&sample(1, "a\n"))
            .unwrap_err()
            .contains("exit code 1")
    );
}

#[test]
fn a_search_that_found_less_is_not_a_sample() {
    let out = crate::testing::folder();
    let expected = Expected::Counts {
        files: 2,
        matches: 4,
    };
    let search = row(&out, "true", expected);
    assert_eq!(search.verify(&sample(0, "/a:b:3\n/c:1\n/d:0\n")), Ok(()));
    for wrong in ["", "/a:3\n", "/a:2\n/c:1\n", "/a:4\n", "nonsense"] {
        assert!(search.verify(&sample(0, wrong)).is_err(), "{wrong:?}");
    }
}

#[test]
fn files_have_to_exist_with_their_contents_and_go_away_between_runs() {
    let out = crate::testing::folder();
    let folder = out.path().join("created");
    let created = |content| Expected::Created {
        folder: folder.clone(),
        files: 20,
        content,
    };
    let lines = row(&out, "true", created(Content::Line));
    lines.prepare().unwrap();
    assert!(
        lines
            .verify(&sample(0, ""))
            .unwrap_err()
            .contains("0 files")
    );
    for i in 0..20 {
        std::fs::write(folder.join(file_name(i)), format!("file {i}\n")).unwrap();
    }
    assert_eq!(lines.verify(&sample(0, "")), Ok(()));
    let empty = row(&out, "true", created(Content::Empty));
    assert!(empty.verify(&sample(0, "")).unwrap_err().contains("f0 has"));
    std::fs::write(folder.join("f5"), "").unwrap();
    assert!(lines.verify(&sample(0, "")).unwrap_err().contains("f5"));
    std::fs::write(folder.join("f5"), "file 5\n").unwrap();
    std::fs::write(folder.join("one-more"), "").unwrap();
    assert!(
        lines
            .verify(&sample(0, ""))
            .unwrap_err()
            .contains("21 files")
    );
    lines.prepare().unwrap();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_program_that_is_not_installed_leaves_its_row_in_the_suite() {
    let out = crate::testing::folder();
    let row = row(&out, "no-such-program", Expected::Output(String::new()));
    assert_eq!(row.job.unwrap_err(), "no-such-program is not installed");
}

proptest! {
    #[test]
    fn no_output_can_break_a_verifier(output: String) {
        let _ = count(&output);
    }
}
