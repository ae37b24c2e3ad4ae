use super::*;
use crate::measure;

fn all(out: &tempfile::TempDir, quick: bool) -> (Fixture, Vec<Workload>) {
    let fixture = Fixture::generate(out.path(), "test").unwrap();
    crate::program::copy(&crate::testing::helper(), &fixture.helper()).unwrap();
    let rows = rows(&fixture, None, quick);
    (fixture, rows)
}

#[test]
fn every_installed_row_passes_its_own_verifier_without_a_sandbox() {
    let out = crate::testing::folder();
    let fixture = Fixture::generate(out.path(), "test").unwrap();
    crate::program::copy(&crate::testing::helper(), &fixture.helper()).unwrap();
    let server = crate::server::Server::start().unwrap();
    let rows = rows(&fixture, Some(server.address()), false);
    assert_eq!(rows.len(), 15);
    for row in rows {
        let Ok(job) = &row.job else { continue };
        if let Some(extra) = row.extra {
            extra.generate(&fixture).unwrap();
        }
        row.prepare().unwrap();
        let argv = &row.line(row.plain.as_ref().unwrap_or(job).argv.clone());
        let sample = measure::run(argv, &row.workspace, &[]).unwrap();
        assert_eq!(row.verify(&sample), Ok(()), "{}", row.name);
    }
}

#[test]
fn a_row_that_denies_a_file_fails_where_it_can_be_seen() {
    let out = crate::testing::folder();
    let (fixture, rows) = all(&out, false);
    let row = rows
        .iter()
        .find(|row| row.profile == Profile::Deny)
        .unwrap();
    row.extra.unwrap().generate(&fixture).unwrap();
    let sample = measure::run(&row.job.as_ref().unwrap().argv, &row.workspace, &[]).unwrap();
    assert!(row.verify(&sample).unwrap_err().contains("exit code 1"));
}

#[test]
fn a_quick_run_has_neither_the_build_nor_the_great_tree() {
    let out = crate::testing::folder();
    let names: Vec<String> = all(&out, true).1.into_iter().map(|row| row.name).collect();
    assert_eq!(names.len(), 12);
    assert!(!names.contains(&build_name()), "{names:?}");
    assert!(names.iter().any(|name| name.contains("deny")), "{names:?}");
}

#[test]
fn every_name_is_there_once() {
    let out = crate::testing::folder();
    let mut names: Vec<String> = all(&out, false).1.into_iter().map(|row| row.name).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn numbers_are_grouped() {
    assert_eq!(thousands(200), "200");
    assert_eq!(thousands(1_000), "1,000");
    assert_eq!(thousands(50_000), "50,000");
}
