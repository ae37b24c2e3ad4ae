use super::*;

fn files(folder: &Path) -> Vec<String> {
    let all = fs::read_dir(folder).unwrap().flatten();
    all.map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

#[test]
fn what_is_counted_is_the_same_each_time() {
    let (one, other) = (count().unwrap(), count().unwrap());
    assert!(RATES.contains(&one), "{one}");
    assert!(one.abs_diff(other) <= one / 10_000, "{one} {other}");
}

#[test]
fn what_the_kernel_says_is_read() {
    assert_eq!(read_from("cpu MHz\t\t: 2445.426"), Some(2_445_426));
    assert_eq!(read_from("cpu MHz\t\t: fast"), None);
}

#[test]
fn what_the_kernel_says_is_taken_where_it_is_the_counters_rate() {
    let folder = tempfile::tempdir().unwrap();
    let counted = count().unwrap();
    let near = counted + counted / 50_000;
    assert_eq!(remembered(folder.path(), "near", || Some(near)), Some(near));
    let folder = tempfile::tempdir().unwrap();
    let slow = remembered(folder.path(), "slow", || Some(counted / 3)).unwrap();
    assert!(slow.abs_diff(counted) <= counted / 10_000, "{slow}");
}

#[test]
fn it_is_counted_once_in_the_life_of_a_machine() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("below");
    let counted = remembered(&folder, "first", || None).unwrap();
    assert_eq!(remembered(&folder, "first", || Some(1)), Some(counted));
    // With another start of the machine it is looked at again, and what was near enough stays.
    let near = counted + counted / 50_000;
    fs::write(folder.join("counter-first"), format!("{near}\n")).unwrap();
    assert_eq!(remembered(&folder, "second", || None), Some(near));
    assert_eq!(files(&folder), ["counter-second"]);
    // What is no rate, or was another machine's, is none.
    for wrong in ["nothing\n", "1\n", &format!("{}\n", counted / 2)] {
        fs::write(folder.join("counter-second"), wrong).unwrap();
        let again = remembered(&folder, "third", || None).unwrap();
        assert!(again.abs_diff(counted) <= counted / 10_000, "{again}");
        fs::rename(folder.join("counter-third"), folder.join("counter-second")).unwrap();
    }
}
