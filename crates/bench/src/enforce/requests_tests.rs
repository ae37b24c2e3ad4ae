use super::*;

#[test]
fn phases_count_only_with_a_refusal_on_one_new_connection() {
    let said = "0.001 0.002 0.003 0.004 0.005 0.006";
    assert_eq!(
        phases(&format!("{said} 403 1")),
        Some([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    );
    for rest in ["200 1", "403 0", "403 2", "403", "403 1 x"] {
        assert_eq!(phases(&format!("{said} {rest}")), None, "{rest}");
    }
    assert_eq!(phases("curl: (6) Could not resolve host: bench.test"), None);
}
