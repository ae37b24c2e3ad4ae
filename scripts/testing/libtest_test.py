"""What a harness says of a test is what came of it; silence is a failure."""
import unittest

import libtest
from pool import Job


def job(text, code=0):
    made = Job("step", "job", [], {}, "/", code=code, wall=5, began=100)
    made.lines = [(101 + at, line) for at, line in enumerate(text.splitlines())]
    return made


class Results(unittest.TestCase):
    def outcomes(self, text, names, code=0):
        made = job(text, code)
        return {one.name: one.outcome for one in libtest.results(made, "target", names, "root")}, made

    def test_each_outcome_is_taken_as_it_is_said(self):
        said, _ = self.outcomes("test a ... ok\ntest b ... FAILED\ntest c ... ignored, why\ntest d - should panic ... ok",
                                ["a", "b", "c", "d"], 101)
        self.assertEqual(said, {"a": "ok", "b": "failed", "c": "ignored", "d": "ok"})

    def test_a_test_of_which_nothing_is_said_has_failed(self):
        said, made = self.outcomes("test a ... ok", ["a", "b"])
        self.assertEqual(said["b"], "failed")
        self.assertIn("b", made.why)

    def test_what_a_tests_programs_print_is_no_outcome(self):
        said, _ = self.outcomes("test a ... a program: it is not ok\nnot ok\nok\ntest b ... it is ok\nFAILED", ["a", "b"], 101)
        self.assertEqual(said, {"a": "ok", "b": "failed"})

    def test_a_program_that_says_ok_first_does_not_hide_a_failure(self):
        said, _ = self.outcomes("test a ... ok\nFAILED\ntest b ... ok\n\nfailures:\n\nfailures:\n    a\n\n"
                                "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured", ["a", "b"], 101)
        self.assertEqual(said, {"a": "failed", "b": "ok"})

    def test_one_test_is_what_the_harness_counts(self):
        said, _ = self.outcomes("test a ... \nhalf a linetest result\nhalfok\n"
                                "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured", ["a"])
        self.assertEqual(said, {"a": "ok"})

    def test_a_kind_is_no_part_of_a_name(self):
        said, _ = self.outcomes("test [gap] a::b ... ignored", ["a::b"])
        self.assertEqual(said, {"a::b": "ignored"})

    def test_a_harness_without_a_list_that_says_nothing_has_failed(self):
        said, made = self.outcomes("", None)
        self.assertEqual(said, {})
        self.assertTrue(made.why)


if __name__ == "__main__":
    unittest.main()
