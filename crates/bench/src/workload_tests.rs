use super::*;
use crate::measure;
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

#[test]
fn output_has_to_be_exact() {
    let echo = Workload::new("echo", "echo", &["a"], Expected::Output("a\n".to_owned()));
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
    let expected = Expected::Counts {
        files: 2,
        matches: 4,
    };
    let search = Workload::new("rg", "true", &[], expected);
    assert_eq!(search.verify(&sample(0, "/a:b:3\n/c:1\n/d:0\n")), Ok(()));
    for wrong in ["", "/a:3\n", "/a:2\n/c:1\n", "/a:4\n", "nonsense"] {
        assert!(search.verify(&sample(0, wrong)).is_err(), "{wrong:?}");
    }
}

#[test]
fn files_have_to_exist_with_their_contents_and_go_away_between_runs() {
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("created");
    let row = Workload::new("files", "true", &[], Expected::Created(directory.clone()));
    row.prepare().unwrap();
    assert!(row.verify(&sample(0, "")).unwrap_err().contains("0 files"));
    for i in 0..CREATED_FILES {
        std::fs::write(directory.join(format!("f{i}")), format!("file {i}\n")).unwrap();
    }
    assert_eq!(row.verify(&sample(0, "")), Ok(()));
    std::fs::write(directory.join("f500"), "").unwrap();
    assert!(row.verify(&sample(0, "")).unwrap_err().contains("f500"));
    std::fs::write(directory.join("f500"), "file 500\n").unwrap();
    std::fs::write(directory.join("one-more"), "").unwrap();
    assert!(
        row.verify(&sample(0, ""))
            .unwrap_err()
            .contains("1001 files")
    );
    row.prepare().unwrap();
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
}

#[test]
fn a_program_that_is_not_installed_leaves_its_row_in_the_suite() {
    let row = Workload::new("x", "no-such-program", &[], Expected::Output(String::new()));
    assert_eq!(row.job.unwrap_err(), "no-such-program is not installed");
}

#[test]
fn every_installed_row_passes_its_own_verifier_without_a_sandbox() {
    let out = crate::testing::folder();
    let fixture = Fixture::generate(out.path(), "test").unwrap();
    let server = crate::server::Server::start().unwrap();
    let rows = Workload::all(&fixture, Some(server.address()));
    assert_eq!(rows.len(), 8);
    for row in rows {
        let Ok(job) = &row.job else { continue };
        row.prepare().unwrap();
        let argv = &row.plain.as_ref().unwrap_or(job).argv;
        let sample = measure::run(argv, &fixture.workspace(), &[]).unwrap();
        assert_eq!(row.verify(&sample), Ok(()), "{}", row.name);
    }
}

proptest! {
    #[test]
    fn no_output_can_break_a_verifier(output: String) {
        let _ = count(&output);
    }
}
