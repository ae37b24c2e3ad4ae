"""Proofs that hold, and others: `python3 -m unittest discover -s scripts/testing -p '*_test.py'` in the checkout."""
import unittest

from promises import Ran, problems

ROWS = [
    ("bailiwick::run", "files::the_system_is_readable_and_not_writable::on_process", "ok"),
    ("bailiwick::run", "crates::no_crate_imports_one_below_it", "failed"),
    ("bailiwick::vm_disk", "broken::a_killed_supervisor_takes_the_machine_along_and_leaves_a_disk_in_order", "ok"),
    ("bailiwick::matrix", "h2spec", "ignored"),
    ("bailiwick::escapes", "escapes::user::full::more-cpus", "ok"),
    ("bailiwick-rules", "set::tests::a_finding_tells_no_credential", "ok"),
    ("bailiwick-capos-scale", "gate::tests::a_right_sum_counts", "ok"),
    ("step::bench bailiwick-rules::allocations", "bench bailiwick-rules::allocations", "ok"),
    ("step::smokes on 2", "smokes on 2", "ok"),
]


def said(cell, ran=None):
    """What is said of a promise with this proof."""
    return problems(f"| promise | proof |\n|---|---|\n| It holds | {cell} |\n", ran or Ran(ROWS))


class Proofs(unittest.TestCase):
    def test_what_ran_proves(self):
        for cell in ("`files::the_system_is_readable_and_not_writable`",
                     "`files::*` (also `other::*`); `escapes`: `more-*`",
                     "`vm_disk`: `broken::*`", "`matrix`: `h2spec` (where it can be had) (145 checks)",
                     "`crates/rules/src/set/set_tests.rs`", "`crates/rules`: `set::tests::a_finding_tells_no_credential`",
                     "`capos/scale/src/gate_tests.rs`; by hand: `scripts/capos-scale`",
                     "`crates/rules/benches/allocations.rs`", "`scripts/capos-smokes`: `ring`, `pipe`",
                     "by hand: `fuzz/run http_head 600`, `bailiwick bench fork --backend vm` (193 ms)",
                     "by hand: `N=1 cargo test --release -p bailiwick-rules --test agreement -- --nocapture`"):
            self.assertEqual(said(cell), [], cell)

    def test_what_does_not_is_told_with_its_line(self):
        for cell, why in (("`files::nobody_wrote_this`", "nowhere in the sources"), ("`broker::*`", "no test that ran"),
                          ("`crates::*`", "failed"), ("`matrix`: `h2spec`", "ignored"), ("tests", "cannot be read"),
                          ("`files::*`, and others", "cannot be read"), ("`crates/gate/src/taps_tests.rs`", "nowhere"),
                          ("`files::*`; `vm_disk`: `copies::*`", "no test that ran"),
                          ("by hand: `fuzz/run nothing 600`", "no target nothing"),
                          ("by hand: `scripts/no`", "no scripts/no"),
                          ("by hand: `bailiwick bench nothing`", "docs/cli.md"), ("", "cannot be read"),
                          ("by hand: `cargo bench -p bailiwick-rules --bench none`", "benches/none")):
            found = said(cell)
            self.assertTrue(found and found[0].startswith("SPECIFICATION.md:3: ") and why in found[0], (cell, found))


if __name__ == "__main__":
    unittest.main()
