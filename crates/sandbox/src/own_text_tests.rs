use super::*;
use std::fs;

/// What this program may execute of its file: from where to where, and how many KiB of it are in memory
/// here.
fn text() -> ([usize; 2], u64) {
    let own = std::env::current_exe().unwrap();
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let end = format!(" {}", own.display());
    let mut lines = maps
        .lines()
        .skip_while(|line| !(line.contains(" r-xp ") && line.ends_with(&end)));
    let first = lines.next().unwrap().split_whitespace().next().unwrap();
    let (from, to) = first.split_once('-').unwrap();
    let place = [from, to].map(|at| usize::from_str_radix(at, 16).unwrap());
    let resident = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
    let resident = resident.trim().trim_end_matches(" kB").parse();
    (place, resident.unwrap())
}

/// Whether a process has nothing to do but the one test.
const ALONE: &str = "BAILIWICK_TEST_ALONE";

/// It is tried in a process of its own: what other tests run would come back meanwhile.
#[test]
fn what_was_let_go_is_gone_and_comes_back() {
    if std::env::var_os(ALONE).is_none() {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "own_text::tests::what_was_let_go_is_gone_and_comes_back",
            ])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{output:?}"
        );
        return;
    }
    let words = || format!("{:?}", fs::metadata("/").unwrap().file_type());
    let said = words();
    let [from, to] = text().0;
    for at in (from..to).step_by(rustix::param::page_size()) {
        // SAFETY: it lies in what is mapped of this program, for reading as well.
        unsafe { std::ptr::with_exposed_provenance::<u8>(at).read_volatile() };
    }
    let all = text().1;
    let_go();
    let left = text().1;
    assert!(left < all / 2, "{left} of {all} KiB");
    assert_eq!(words(), said);
}
