"""FileCheck: patterns that a text must hold, in order."""

__all__ = ["FileCheck"]


class FileCheck:
    """Collects checks by chained calls; `run(text)` raises RuntimeError for the first that fails.

    `check`: anywhere after the match before; `check_same`: on the same line; `check_next`: on the
    next line; `check_count`: so many times; `check_not`: not before the next match; `check_dag`:
    in any order with neighbouring ones.
    """

    def __init__(self):
        self._checks = []

    def _add(self, kind, text, more=None):
        self._checks.append((kind, str(text), more))
        return self

    def check(self, test_string):
        return self._add("check", test_string)

    def check_same(self, test_string):
        return self._add("same", test_string)

    def check_next(self, test_string):
        return self._add("next", test_string)

    def check_not(self, test_string):
        return self._add("not", test_string)

    def check_dag(self, test_string):
        return self._add("dag", test_string)

    def check_count(self, test_string, count, exactly=False):
        return self._add("count", test_string, (count, exactly))

    def check_source_highlighted(self, test_string):
        raise NotImplementedError("FileCheck.check_source_highlighted")

    def run(self, test_file):
        """Checks the text; a text with lines `# CHECK: ...` may stand for the calls."""
        text = str(test_file)
        checks = self._checks or self._from_comments(text)
        at, pending, i = 0, [], 0
        while i < len(checks):
            kind, wanted, more = checks[i]
            if kind == "not":
                pending.append(wanted)
                i += 1
                continue
            start = at
            if kind == "dag":
                ends = []
                while i < len(checks) and checks[i][0] == "dag":
                    found = text.find(checks[i][1], at)
                    if found < 0:
                        self._fail("CHECK-DAG", checks[i][1], text, at)
                    ends.append((found, found + len(checks[i][1])))
                    i += 1
                begin, at = min(e[0] for e in ends), max(e[1] for e in ends)
            else:
                begin, at = self._match(kind, wanted, more, text, at)
                i += 1
            for unwanted in pending:
                found = text.find(unwanted, start, begin)
                if found >= 0:
                    self._fail("CHECK-NOT", unwanted, text, found, "is there")
            pending = []
        for unwanted in pending:
            found = text.find(unwanted, at)
            if found >= 0:
                self._fail("CHECK-NOT", unwanted, text, found, "is there")

    def _match(self, kind, wanted, more, text, at):
        if kind == "count":
            count, exactly = more
            first = None
            for _ in range(count):
                found = text.find(wanted, at)
                if found < 0:
                    self._fail(f"CHECK-COUNT-{count}", wanted, text, at)
                first = found if first is None else first
                at = found + len(wanted)
            if exactly and text.find(wanted, at) >= 0:
                self._fail(f"CHECK-COUNT-EXACTLY-{count}", wanted, text, at, "is there once more")
            return first if first is not None else at, at
        low, high = at, len(text)
        if kind == "same":
            line = text.find("\n", at)
            high = line if line >= 0 else high
        elif kind == "next":
            line = text.find("\n", at)
            if line < 0:
                self._fail("CHECK-NEXT", wanted, text, at)
            low = line + 1
            end = text.find("\n", low)
            high = end if end >= 0 else high
        found = text.find(wanted, low, high)
        if found < 0:
            self._fail({"check": "CHECK", "same": "CHECK-SAME", "next": "CHECK-NEXT"}[kind],
                       wanted, text, at)
        return found, found + len(wanted)

    @staticmethod
    def _from_comments(text):
        kinds = {"CHECK": "check", "CHECK-SAME": "same", "CHECK-NEXT": "next", "CHECK-NOT": "not",
                 "CHECK-DAG": "dag"}
        checks = []
        for line in text.splitlines():
            stripped = line.strip()
            if stripped.startswith("#") and ":" in stripped:
                name, wanted = stripped[1:].strip().split(":", 1)
                if name in kinds:
                    checks.append((kinds[name], wanted.strip(), None))
        if not checks:
            raise RuntimeError("there is nothing to check: call check(), or write # CHECK: lines")
        return checks

    @staticmethod
    def _fail(name, wanted, text, at, what="is not there"):
        line = text.count("\n", 0, at) + 1
        excerpt = "\n".join(text.splitlines()[max(0, line - 2):line + 6])
        raise RuntimeError(f"{name}: {wanted!r} {what}, from line {line} on:\n{excerpt}")
