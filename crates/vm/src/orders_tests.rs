use super::*;

fn executed(argv: Vec<Vec<u8>>) -> Told {
    Told::Executed(Box::new(Executed {
        pid: 1,
        parent: 1,
        uid: 0,
        path: Vec::new(),
        argv,
        cut: false,
        cwd: Vec::new(),
    }))
}

/// How many of a word can be told before the guest has to wait.
fn fit(word: impl Fn() -> Told) -> usize {
    let (desk, counter) = desk().unwrap();
    let mut told = 0;
    while !counter.is_full() {
        counter.tell(word());
        told += 1;
    }
    for _ in 0..told {
        assert!(desk.told().is_some());
    }
    assert!(!counter.is_full());
    // It was rung for, or the guest would wait for ever.
    assert!(rustix::io::read(&counter.wake, &mut [0; 8]).is_ok());
    told
}

#[test]
fn short_words_may_be_many() {
    assert_eq!(fit(|| Told::OutOfMemory), MOST);
}

#[test]
fn long_words_are_few() {
    let long = fit(|| executed(vec![vec![0; 200_000]]));
    assert!(long <= 6, "{long} words of 200,000 bytes");
}

#[test]
fn empty_words_cost_what_they_take() {
    let many = fit(|| executed(vec![Vec::new(); 100_000]));
    assert!(many <= 1, "{many} words of 100,000 empty words");
}
