#!/usr/bin/env python3
"""Tests of commits_check.py: each breaks one thing and expects the finding."""

import unittest

import commits_check

KNOWN = commits_check.areas(["Sender", "SenderTests", "Simulation", "belfry"])


class CommitsCheckTests(unittest.TestCase):
    def faults(self, subject):
        return list(commits_check.faults(subject, KNOWN))

    def test_subjects_that_keep_the_rules(self):
        for subject in [
            "Sender: let one machine say what a topic may do", "Sender, Simulation: feed topics anew",
            "belfry: bring lanes", "CI: stop after 40 minutes", "Documents: HTTP/2 comes first",
        ]:
            with self.subTest(subject):
                self.assertEqual(self.faults(subject), [])

    def test_each_rule(self):
        for subject, words in [
            ("Sender: " + "x" * 65, "73 characters"), ("let a topic wait", "not 'Area"), ("Sender:x", "not 'Area"),
            ("Senders: let a topic wait", "no area is called Senders"), ("Sender, Core: go", "no area is called Core"),
            ("Sender: Let a topic wait", "lower case"), ("Sender: let a topic wait.", "full stop"),
            ("Sender: added a topic", "'added' is no imperative"), ("Sender: adding a topic", "'adding' is no"),
        ]:
            with self.subTest(subject):
                found = self.faults(subject)
                self.assertEqual(len(found), 1, found)
                self.assertIn(words, found[0])

    def test_a_folder_of_tests_has_the_area_of_its_target(self):
        self.assertIn("Sender", KNOWN)
        self.assertNotIn("SenderTests", KNOWN)


if __name__ == "__main__":
    unittest.main()
