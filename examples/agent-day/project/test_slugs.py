import unittest

from slugs import slug


class Slugs(unittest.TestCase):
    def test_words_are_joined_by_dashes(self):
        self.assertEqual(slug("Hello World"), "hello-world")

    def test_space_around_a_title_does_not_count(self):
        self.assertEqual(slug("  Hello World "), "hello-world")


if __name__ == "__main__":
    unittest.main()
