"""The house rules about words: titles of tests, comments, documents. Rules are functions from a `Tree` to findings."""

import re
from pathlib import Path

from tidy_tree import Finding, is_generated, swift_files

COLUMN_LIMIT = 120
# The title of a test, and its beginning where that is a name in code (`stall-after`, `close_notify`, `murmur2`).
TITLE = re.compile(r'@Test\(\s*"([^"]*)')
CODE_NAME = re.compile(r"[a-z]\w*[-_:0-9]")
# A title that is a heading with a remark: one word, or words such as "Known seeds", and a colon.
HEADING = re.compile(r"(?:[\w-]+|Known \w+): ")
# The beginnings of comments, by the end of a file's name, or by all of it. A script without either begins with `#!`.
COMMENT_MARKS = {
    ".swift": ("///", "//"), ".py": ("#", '"""'), ".css": ("/*",), ".html": ("<!--",),
    **dict.fromkeys([".c", ".h", ".js", ".proto", ".go", ".java", ".modulemap"], ("//", "/*")),
    **dict.fromkeys([".sh", ".yaml", ".yml", ".txt", ".acl", "Makefile", "Dockerfile", ".dockerignore"], ("#",)),
    **dict.fromkeys([".gitignore", ".editorconfig"], ("#",)),
}
# Files of which no line is longer than a comment may be. Swift's own formatter sees to Swift's.
NARROW_SUFFIXES = {".c", ".h", ".js", ".proto", ".py", ".sh", ".yaml", ".yml"}
NAMELESS = re.compile(r"\s*(What|Whether|Where|Which|Whoever|Who|Why|Those|How)\b")
# Schemas as they were published stay as they were.
RELEASED = "Schemas/released/"
# Explains the marks in brackets by which comments cite the source of a rule.
RULE_SOURCES = "Sources/APNsProtocol/RuleSource.swift"
RULE_SOURCE = re.compile(r'\bcase \w+ = "(\w+)"')
# Neither a subscript nor a link.
MARK = re.compile(r"(?<![\w`])\[(\d\d|[a-z]+)\](?!\()")


def test_titles(tree):
    """Titles that are no sentence: they are rules, begin with a capital or a name in code, and need no heading."""
    findings = []
    for path in tree.under("Tests", ".swift"):
        text = tree.text(path)
        for match in TITLE.finditer(text):
            title = match.group(1)
            line = text.count("\n", 0, match.start(1)) + 1
            if title[:1].islower() and not CODE_NAME.match(title.split(" ")[0]):
                findings.append(Finding(path, line, f"a test's title begins with a capital: {title}"))
            if HEADING.match(title) or len(title.split()) < 3:
                findings.append(Finding(path, line, f"a test's title is a sentence: {title}"))
    return findings


def comment_marks(tree, path):
    """The beginnings of comments in a file; none if it is generated, or has no comments that are known."""
    if is_generated(path):
        return ()
    script = ("#",) if tree.text(path).startswith("#!") else ()
    name = Path(path)
    return COMMENT_MARKS.get(name.suffix) or COMMENT_MARKS.get(name.name) or script


def comment_mark(line, marks):
    """The mark by which a line begins a comment; None if it does not."""
    text = line.lstrip()
    return next((mark for mark in marks if text.startswith(mark)), None)


def long_comments(tree):
    """Lines that are too long: all of some languages, and comments in every one, since `swift format` spares these."""
    return [
        Finding(path, number, f"a line of {len(line)} columns; {COLUMN_LIMIT} at most")
        for path in tree.paths if (marks := comment_marks(tree, path))
        for number, line in tree.lines(path)
        if len(line) > COLUMN_LIMIT and (Path(path).suffix in NARROW_SUFFIXES or comment_mark(line, marks))
    ]


def nameless_comments(tree):
    """Comments whose first line asks instead of naming its subject."""
    findings = []
    for path in tree.paths:
        marks = () if path.startswith(RELEASED) else comment_marks(tree, path)
        inside = None
        for number, line in tree.lines(path) if marks else ():
            mark = comment_mark(line, marks)
            match = NAMELESS.match(line.lstrip()[len(mark):]) if mark else None
            if match and mark != inside:
                findings.append(Finding(path, number, f"a comment names its subject, not \"{match.group(1)}\""))
            inside = mark
    return findings


def long_prose(tree):
    """Lines of documents that are too long. Tables, code and lines of one long word, such as a link, may be longer."""
    findings = []
    for path in tree.paths:
        if not path.endswith(".md"):
            continue
        is_code = False
        for number, line in tree.lines(path):
            is_code ^= line.startswith("```")
            is_free = is_code or line.startswith(("|", "    ")) or " " not in line.lstrip("- ")
            if len(line) > COLUMN_LIMIT and not is_free:
                findings.append(Finding(path, number, f"a line of {len(line)} columns; {COLUMN_LIMIT} at most"))
    return findings


def unknown_marks(tree):
    """Marks that comments cite as the source of a rule and that stand for none."""
    known = RULE_SOURCE.findall(tree.text(RULE_SOURCES)) if RULE_SOURCES in tree.paths else []
    return [
        Finding(path, number, f"cites [{mark}], which {RULE_SOURCES} does not have")
        for path in swift_files(tree) for number, line in tree.lines(path) if line.lstrip().startswith("//")
        for mark in MARK.findall(line) if mark not in known
    ]


WORD_RULES = [test_titles, long_comments, nameless_comments, long_prose, unknown_marks]
