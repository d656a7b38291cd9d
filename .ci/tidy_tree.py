"""The files of a working tree, for the house rules of tidy.py to look at."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

# The parts of a Swift file that are no code. Whatever stands in the brackets of a string counts as string.
NO_CODE = re.compile(r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)

@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}"


class Tree:
    """The files of a working tree that git does not ignore, by path relative to its top."""

    def __init__(self, top):
        self.top = Path(top)
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
            cwd=self.top, check=True, capture_output=True, text=True,
        ).stdout
        self.paths = sorted(path for path in listing.split("\0") if path and (self.top / path).is_file())
        self.texts = {}

    def text(self, path):
        if path not in self.texts:
            # A file that is not text has no lines to judge.
            self.texts[path] = (self.top / path).read_bytes().decode("utf-8", errors="replace")
        return self.texts[path]

    def lines(self, path):
        return enumerate(self.text(path).splitlines(), start=1)

    def under(self, folder, suffix=""):
        return [path for path in self.paths if path.startswith(folder + "/") and path.endswith(suffix)]

    def grep(self, paths, pattern, rule):
        return [
            Finding(path, number, f"{rule}: {line.strip()}")
            for path in paths for number, line in self.lines(path) if pattern.search(line)
        ]


def is_generated(path):
    return "/Generated/" in path


def swift_files(tree):
    return [path for path in tree.under("Sources", ".swift") + tree.under("Tests", ".swift") if not is_generated(path)]
