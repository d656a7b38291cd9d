#!/usr/bin/env python3
"""Breaks each house rule in a small tree of its own and expects tidy.py to say so, and nothing else."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import tidy


class HouseRules(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.top = Path(directory.name)
        subprocess.run(["git", "init", "--quiet"], cwd=self.top, check=True)
        self.write("Package.swift", 'let names = ["PipelineCore", "belfry"]\n')
        self.write("Sources/PipelineCore/Ledger.swift", "import APNsProtocol\n")

    def write(self, path, text, mode=0o644):
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.chmod(file, mode)

    def found(self):
        return [str(finding) for finding in tidy.findings(self.top)]

    def expect_one(self, path, line, words):
        found = self.found()
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{path}:{line}: "), found[0])
        self.assertIn(words, found[0])

    def test_a_tidy_tree_has_no_finding(self):
        self.assertEqual(self.found(), [])

    def test_ignored_files_are_not_judged(self):
        self.write(".gitignore", "/scratch/\n")
        self.write("scratch/notes.txt", "x")
        self.assertEqual(self.found(), [])

    def test_a_file_has_400_lines_at_most(self):
        self.write("Sources/belfry/Short.swift", "\n" * 400)
        self.write("Sources/belfry/Long.swift", "\n" * 401)
        self.write("Sources/belfry/Generated/Longer.swift", "\n" * 900)
        self.expect_one("Sources/belfry/Long.swift", 401, "401 lines")

    def test_pure_targets_import_what_the_design_allows(self):
        for line in ["import Foundation", "@preconcurrency import NIOCore", "public import struct Foundation.Data"]:
            with self.subTest(line):
                self.write("Sources/PipelineCore/Clock.swift", f"// why\n{line}\n")
                self.expect_one("Sources/PipelineCore/Clock.swift", 2, "PipelineCore may not import")

    def test_layers_are_not_turned_upside_down(self):
        self.write("Sources/belfry/Main.swift", "import BelfryTools\nimport KafkaClient\n")
        self.expect_one("Sources/belfry/Main.swift", 2, "belfry may not import KafkaClient")

    def test_targets_of_the_pipeline_stand_in_their_order(self):
        self.write("Package.swift", 'let names = ["PipelineCore", "Sender", "TokenState"]\n')
        self.write("Sources/Sender/Lookup.swift", "import TokenState\n")
        self.write("Sources/TokenState/Filter.swift", "import Sender\n")
        self.expect_one("Sources/TokenState/Filter.swift", 1, "TokenState may not import Sender")

    def test_nothing_is_left_unfinished_or_traps(self):
        for line in ["// TO" + "DO later", "fatal" + 'Error("x")', "tr" + "y! work()", "value a" + "s! Int"]:
            with self.subTest(line):
                self.write("Sources/belfry/Main.swift", line + "\n")
                self.expect_one("Sources/belfry/Main.swift", 1, "unfinished or trapping")

    def test_tests_do_not_sleep(self):
        for line in ["try await Task.sle" + "ep(for: .seconds(1))", "usle" + "ep(10)"]:
            with self.subTest(line):
                self.write("Tests/PipelineCoreTests/LedgerTests.swift", line + "\n")
                self.expect_one("Tests/PipelineCoreTests/LedgerTests.swift", 1, "not for time")

    def test_no_path_of_one_machine(self):
        self.write("Deploy/notes.yaml", "path: /ho" + "me/me/x\n")
        self.expect_one("Deploy/notes.yaml", 1, "path of one machine")

    def test_a_test_file_asserts(self):
        self.write("Tests/PipelineCoreTests/LedgerTests.swift", "@Test func nothing() {}\n")
        self.expect_one("Tests/PipelineCoreTests/LedgerTests.swift", 1, "asserts nothing")

    def test_a_title_of_a_test_begins_with_a_capital(self):
        path = "Tests/PipelineCoreTests/LedgerTests.swift"
        for title in ["A record is done once", "stall-after takes so many", "close_notify goes out", "9 are too many"]:
            self.write(path, f'@Test("{title}")\nfunc rule() {{ #expect(true) }}\n')
            self.assertEqual(self.found(), [])
        self.write(path, '@Test(\n    "a record is done once",\n)\nfunc rule() { #expect(true) }\n')
        self.expect_one(path, 2, "begins with a capital: a record is done once")

    def test_a_title_of_a_test_is_a_sentence(self):
        path = "Tests/PipelineCoreTests/LedgerTests.swift"
        for title in ["403: it goes again", "stall-after: so many are taken", "Known seed: a loss", "Loss"]:
            with self.subTest(title):
                self.write(path, f'@Test("{title}")\nfunc rule() {{ #expect(true) }}\n')
                self.expect_one(path, 1, f"is a sentence: {title}")

    def test_a_comment_ends_before_column_120(self):
        fits = "    // " + "é" * 113
        self.write("Sources/belfry/Short.swift", f"{fits}\nlet text = 1 {fits}\n")
        self.write("Sources/PushSchemas/Generated/Long.pb.swift", f"{fits}x\n")
        self.write("Package.swift", 'let names = ["PipelineCore", "PushSchemas", "belfry"]\n')
        self.write("Sources/belfry/Short.html", f"{fits}x\n")
        for path in ["Sources/belfry/Long.swift", "Tests/PipelineCoreTests/Long.swift", "Sources/belfry/Long.js"]:
            for comment in [fits + "x", fits.replace("// ", "///") + "x"]:
                with self.subTest(path + comment):
                    self.write(path, f"let text = 1\n{comment}\n")
                    self.expect_one(path, 2, "121 columns")
            self.write(path, "")
        for path in ["Tests/Long.py", "Deploy/Long.yaml", "Schemas/Dockerfile", "Tests/Long"]:
            with self.subTest(path):
                self.write(path, f"#!/usr/bin/env bash\n{fits.replace('//', ' #')}x\n", mode=0o755)
                self.expect_one(path, 2, "121 columns")
                self.write(path, "")

    def test_a_line_of_some_languages_ends_there_too(self):
        line = "a" * 121
        for path in ["Sources/belfry/Page.html", "Sources/belfry/Page.css", "Deploy/redis.acl"]:
            self.write(path, f"{line}\n")
        self.assertEqual(self.found(), [])
        for path in ["Tests/Long.py", "Deploy/Long.yaml", "Tests/long.c", "Schemas/long.proto"]:
            with self.subTest(path):
                self.write(path, f"{line}\n")
                self.expect_one(path, 1, "121 columns")
                self.write(path, "")

    def test_a_doc_comment_names_its_subject(self):
        self.write("Sources/belfry/Good.swift", "/// The token may be dead.\n/// What it is stays open.\n")
        self.write("Sources/belfry/Other.swift", "/// Whatever it is, it goes.\nlet a = 1\n")
        for word in ["What", "Whether", "Where", "Which", "Who", "Whoever", "Why", "Those", "How"]:
            with self.subTest(word):
                comment = f"    /// {word} it is.\n    /// {word} it was.\n"
                self.write("Sources/belfry/Main.swift", f"/// The parts.\nenum Main {{\n{comment}}}\n")
                self.expect_one("Sources/belfry/Main.swift", 3, f'not "{word}"')

    def test_a_doc_comment_of_generated_code_need_not(self):
        self.write("Package.swift", 'let names = ["PipelineCore", "PushSchemas"]\n')
        self.write("Sources/PushSchemas/Generated/Schema.pb.swift", "/// Which token it is.\n")
        self.assertEqual(self.found(), [])

    def test_other_comments_name_their_subject_too(self):
        text = "/// A gate.\n// What is not needed. Why it is not.\nlet a = 1  // What?\n"
        self.write("Sources/belfry/Main.swift", text)
        self.expect_one("Sources/belfry/Main.swift", 2, 'a comment names its subject, not "What"')
        self.write("Sources/belfry/Main.swift", "// The rest,\n// which is not needed. Its owner is\n// Who asked.\n")
        self.assertEqual(self.found(), [])

    def test_comments_of_other_languages_name_their_subject_too(self):
        texts = {
            "Deploy/belfry.yaml": "# {}\n", "Makefile": "# {}\nall:\n", "Deploy/Dockerfile": "# {}\n",
            "Tests/run": "# {}\n", "Tests/page.py": '"""{}"""\n', "Tests/sink.c": "/* {} */\n",
            "Schemas/token.proto": "  // {}\n", "Sources/belfry/page.css": "/* {} */\n",
            "Sources/belfry/page.html": "<!-- {} -->\n",
        }
        for path, text in texts.items():
            with self.subTest(path):
                head = "#!/usr/bin/env bash\nset -e\n" if path == "Tests/run" else "\n\n"
                self.write(path, head + text.format("A sink. What it takes is gone."), mode=0o755)
                self.assertEqual(self.found(), [])
                self.write(path, head + text.format("What the sink takes."), mode=0o755)
                self.expect_one(path, 3, 'a comment names its subject, not "What"')
                self.write(path, "")

    def test_a_published_schema_stays_as_it_is(self):
        self.write("Schemas/released/1.0.0/token.proto", "// What the token is.\n")
        self.assertEqual(self.found(), [])

    def test_the_prose_of_a_document_fits_a_line(self):
        wide = "a word, " * 16
        link = "https://example.com/" + "a" * 110
        self.write("README.md", f"| {wide} |\n\n```\n{wide}\n```\n\n    {wide}\n\n- <{link}>\n")
        self.assertEqual(self.found(), [])
        self.write("README.md", f"```\n{wide}\n```\n\n{wide}\n")
        self.expect_one("README.md", 5, "a line of 128 columns; 120 at most")

    def test_a_suite_that_waits_does_not_run_beside_others(self):
        self.write("Tests/run.sh", "    mixed='Ledger|Gate'\n")
        test = '@Test("A rule holds") func rule() {} // async\n#expect(true)\n'
        suite = '@Suite("Opening") struct OpenServerTests { func a() async {}'
        self.write("Tests/GateTests/Gates.swift", f"{suite}\n{test}}}\n")
        self.write("Tests/GateTests/Rules.swift", f"struct RuleTests {{\n{test}}}\n")
        self.assertEqual(self.found(), [])
        self.write("Tests/LedgerTests/Shut.swift", f"final class ShutTests {{ let a = EmbeddedBroker()\n{test}}}\n")
        self.expect_one("Tests/LedgerTests/Shut.swift", 1, "ShutTests waits (EmbeddedBroker)")
        self.write("Tests/LedgerTests/Shut.swift", "")
        self.write("Tests/LedgerTests/New.swift", f"extension NewTests {{ func b() async {{}}\n{test}}}\n")
        self.expect_one("Tests/LedgerTests/New.swift", 1, "NewTests waits (async)")

    def test_a_mark_that_a_comment_cites_is_explained(self):
        self.write("Package.swift", 'let names = ["APNsProtocol", "PipelineCore"]\n')
        self.write("Sources/APNsProtocol/RuleSource.swift", 'enum RuleSource {\n    case talk2009 = "talk"\n}\n')
        self.write(
            "Sources/PipelineCore/Silence.swift",
            "/// Cut silently [talk]. See [here](../there), `a[b]` and c[d].\nlet urls = [\"redis://[host]\"]\n"
        )
        self.assertEqual(self.found(), [])
        for mark in ["11", "lecture"]:
            with self.subTest(mark):
                self.write("Sources/PipelineCore/Rule.swift", f"let a = 1\n    // ([{mark}]: an object).\n")
                self.expect_one("Sources/PipelineCore/Rule.swift", 2, f"cites [{mark}]")

    def test_self_stands_where_it_is_needed(self):
        path = "Sources/belfry/Door.swift"
        door = "struct Door {{\n    let lock: Lock\n    {}\n}}\n"
        for line in [
            "init(lock: Lock) { self.lock = lock }", "func open() { let lock = self.lock }",
            "func open() { let (a, lock) = (1, self.lock) }", "func open() { timer.run { self.lock.open() } }",
            "func open() {\n        timer.run(after: 1) { [weak self] in\n            self.lock.open()\n  }\n    }",
            "lazy var opener = { self.lock.open() }", "init() { self.init(lock: Lock()) }",
            "func open() { use(self) } // self.lock", "func open() { if let lock = self.lock { use(lock) } }",
        ]:
            with self.subTest(line):
                self.write(path, door.format(line))
                self.assertEqual(self.found(), [])
        for line in [
            "func open() { self.lock.open() }", "var key: Key { self.lock.key }", "init(key: Key) { self.lock = key }",
            "func open() { if key > 1 { return self.lock.open() } }", "var key: Key { get { self.lock.key } }",
            "func open() { switch key { case 1: self.lock.open() } }", "deinit { do { try self.lock.close() } }",
            "func open(key: Key) where Key: A { for key in keys where key > 1 { self.lock.open() } }",
        ]:
            with self.subTest(line):
                self.write(path, door.format(line))
                self.expect_one(path, 3, "self. is not needed before lock")

    def test_two_folders_do_not_use_each_other(self):
        self.write("Sources/belfry/Doors/Door.swift", "// why\nfinal class Door { var ledger: Ledger? }\n")
        self.write(
            "Sources/belfry/Ledgers/Ledger.swift", "struct Ledger {}\n\nextension Ledger { var a: [Door] { [] } }\n"
        )
        self.expect_one(
            "Sources/belfry/Doors/Door.swift", 2,
            "Doors uses Ledgers (Ledger in Sources/belfry/Doors/Door.swift:2), "
            "Ledgers uses Doors (Door in Sources/belfry/Ledgers/Ledger.swift:3)",
        )

    def test_more_folders_do_not_use_each_other_in_a_circle(self):
        for user, used in ["AB", "BC", "CA"]:
            self.assertEqual(self.found(), [])
            self.write(f"Sources/belfry/{user}/Room.swift", f"struct Room{user} {{\n    let next: Room{used}?\n}}\n")
        self.expect_one("Sources/belfry/A/Room.swift", 2, "A uses B (RoomB in")

    def test_the_files_beside_the_folders_are_a_folder(self):
        self.write("Sources/belfry/Main.swift", "public protocol Main {}\nstruct Start { var door: Door }\n")
        self.write("Sources/belfry/Doors/Door.swift", "struct Door<Owner: Main> {}\n")
        self.expect_one("Sources/belfry/Doors/Door.swift", 1, "Doors uses belfry (Main in")

    def test_a_folder_in_a_folder_is_judged_beside_those_around_it(self):
        self.write("Sources/belfry/Doors/Door.swift", "struct Door { let lock: Lock }\n")
        self.write("Sources/belfry/Doors/Locks/Lock.swift", "struct Lock { let key: Key }\n")
        self.write("Sources/belfry/Doors/Keys/Key.swift", "struct Key {}\n")
        self.assertEqual(self.found(), [])
        self.write("Sources/belfry/Doors/Keys/Key.swift", "struct Key { let lock: Lock }\n")
        self.expect_one("Sources/belfry/Doors/Keys/Key.swift", 1, "Doors/Keys uses Doors/Locks (Lock in")
        self.write("Sources/belfry/Doors/Keys/Key.swift", "struct Key { let door: Door }\n")
        self.expect_one("Sources/belfry/Doors/Door.swift", 1, "Doors uses Doors/Locks (Lock in")

    def test_a_folder_counts_with_the_folders_in_it(self):
        self.write("Sources/belfry/Doors/Locks/Lock.swift", "struct Lock { let room: Room }\n")
        self.write("Sources/belfry/Doors/Keys/Key.swift", "struct Key {}\n")
        self.write("Sources/belfry/Rooms/Room.swift", "struct Room { let key: Key }\n")
        self.expect_one("Sources/belfry/Doors/Locks/Lock.swift", 1, "Doors uses Rooms (Room in")

    def test_a_circle_is_made_of_uses(self):
        self.write("Sources/belfry/Doors/Door.swift", "struct Door { let ledger: Ledger }\n")
        self.write("Sources/belfry/Other/Door.swift", "private struct Door {}\n")
        texts = [
            "// A Door.", "/* A\nDoor. */", 'let name = "Door \\" Door"', 'let text = """\n    Door "Door"\n    """',
            "let other = Other.Door()", "enum Kind {\n    enum Door {}\n    case of(Door)\n}", "let Doors = 1",
        ]
        for text in texts:
            with self.subTest(text):
                self.write("Sources/belfry/Ledgers/Ledger.swift", f"struct Ledger {{}}\n{text}\n")
                self.assertEqual(self.found(), [])

    def test_a_line_is_counted_behind_what_is_no_code(self):
        text = '/* a\nb */\nlet text = """\n    a\n    """\nstruct Door { let a: Ledger }\n'
        self.write("Sources/belfry/Doors/Door.swift", text)
        self.write("Sources/belfry/Ledgers/Ledger.swift", "struct Ledger { let a: Door }\n")
        self.expect_one("Sources/belfry/Doors/Door.swift", 6, "Doors uses Ledgers")

    def test_targets_are_judged_apart(self):
        self.write("Package.swift", 'let names = ["PipelineCore", "Sender", "belfry"]\n')
        self.write("Sources/belfry/Doors/Door.swift", "struct Door { let ledger: Ledger }\n")
        self.write("Sources/Sender/Ledgers/Ledger.swift", "struct Ledger { let door: Door }\n")
        self.assertEqual(self.found(), [])

    def test_the_top_level_is_closed(self):
        self.write("notes.txt", "x\n")
        self.expect_one("notes.txt", 1, "top level")

    def test_every_source_folder_is_a_target(self):
        self.write("Sources/DOCUMENT.md", "\n")
        self.write("Sources/Forgotten/Thing.swift", "\n")
        self.expect_one("Sources/Forgotten", 1, "no such target")

    def test_no_stand_in_stays(self):
        self.write("Sources/belfry/Placeholder.swift", "\n")
        self.expect_one("Sources/belfry/Placeholder.swift", 1, "stand-in")

    def test_links_lead_somewhere(self):
        self.write("README.md", "[a](Package.swift) [b](https://example.com)\n[c](Deploy/gone.md)\n")
        self.expect_one("README.md", 2, "Deploy/gone.md")

    def test_scripts_are_executable(self):
        self.write("Deploy/good.sh", "#!/bin/sh\n", mode=0o755)
        self.write("Deploy/bad.sh", "#!/bin/sh\n")
        self.expect_one("Deploy/bad.sh", 1, "not executable")


if __name__ == "__main__":
    unittest.main()
