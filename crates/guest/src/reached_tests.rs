use super::number;

#[test]
fn a_number_is_that_of_its_own_line() {
    let text = "oom_kill_more 3\noom_kill 2\nmax 7\n";
    assert_eq!(number(text, "oom_kill"), 2);
    assert_eq!(number(text, "max"), 7);
    assert_eq!(number(text, "ma"), 0);
    assert_eq!(number("", "max"), 0);
}
