use super::*;

#[test]
fn lines_of_the_log_count_when_the_rule_refused() {
    let table = " #  time  boundary  decision  resource  rule  remedy\n \
        7  10:00:00.000  http  deny  GET https://bench.test:443/refused  bench-refused (/x/refusal.toml:8:6)  none\n \
        8  10:00:00.001  http  allow  GET https://bench.test:443/page  network.hosts (/x/gate.toml:1:1)\n \
        9  10:00:00.002  dns  deny  bench-refused A  network.default (built-in)\n";
    assert_eq!(lines(table), 1);
    assert_eq!(lines(""), 0);
}
