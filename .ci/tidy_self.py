"""The house rule about `self.`: only where the compiler demands it, or something near has the member's name.

Found by braces alone, so it judges the bodies of functions, accessors and statements, and no closure: there `self.` may
be demanded.
"""

import re

from tidy_tree import NO_CODE, Finding, swift_files

EVENT = re.compile(r"[{}()\[\];\n]|(?<![\w.`])self\.`?(?P<member>\w+)")
# The beginnings of blocks: of a type, of a function, of an accessor or computed property, of a statement.
TYPE_HEAD = re.compile(r"\b(?:struct|class|enum|extension|protocol|actor)\s+[\w.]")
FUNCTION_HEAD = re.compile(r"\b(?:func|init|deinit|subscript)\b")
ACCESSOR_HEAD = re.compile(r"^\s*(?:\w+\s+)*(?:get|set|willSet|didSet|_read|_modify)\b[^{}=]*$|\bvar\s+\w+\s*:[^={]+$")
STATEMENT_HEAD = re.compile(r"^\s*(?:\w+:\s*)?(?:if|guard|while|for|switch|do|else|catch|defer|repeat)\b")
# A statement goes on behind the end of a line.
UNFINISHED_LINE = re.compile(r"(?:[,=(?:+]|&&|\|\||->|\bin)\s*$")
CONTINUATION = re.compile(r"\s*(?:[.{?:&|=+]|else\b|throws\b|where\b|->)")
DECLARATION = r"\b(?:let|var|for|case|catch|func)\b[^\n=]*\b{0}\b|\b{0}\b\s*:"


def block_kind(head, is_argument):
    if is_argument or re.search(r"=\s*$", head):
        return "closure"
    for kind, pattern in [
        ("type", TYPE_HEAD), ("function", FUNCTION_HEAD), ("function", ACCESSOR_HEAD), ("statement", STATEMENT_HEAD),
    ]:
        if pattern.search(head):
            return kind
    return "closure"


def needless_uses(code):
    """The places and names of members behind a `self.` that nothing demands."""
    blocks, depth, start = [], 0, 0
    for event in EVENT.finditer(code):
        text, place = event.group(), event.start()
        outer = blocks[-1][2] if blocks else 0
        if text in "([":
            depth += 1
        elif text in ")]":
            depth -= 1
        elif text == "{":
            head = code[start:place]
            blocks.append((block_kind(head, depth > outer), start, depth))
            start = place + 1
        elif text == "}":
            if blocks:
                depth = blocks.pop()[2]
            start = place + 1
        elif text == ";":
            start = place + 1
        elif text == "\n":
            goes_on = UNFINISHED_LINE.search(code[start:place]) or CONTINUATION.match(code, place + 1)
            if depth == outer and not goes_on:
                start = place + 1
        else:
            function = next((block for block in reversed(blocks) if block[0] != "statement"), None)
            if function and function[0] == "function":
                member = event["member"]
                end = code.find("\n", place)
                near = re.sub(r"\bself\.`?\w+", "", code[function[1]:end])
                if member != "init" and not re.search(DECLARATION.format(member), near):
                    yield place, member


def needless_self(tree):
    """Members behind a `self.` that they do not need."""
    findings = []
    for path in swift_files(tree):
        code = NO_CODE.sub(lambda gap: re.sub(r"[^\n]", " ", gap.group()), tree.text(path))
        for place, member in needless_uses(code):
            findings.append(Finding(path, code.count("\n", 0, place) + 1, f"self. is not needed before {member}"))
    return findings
