"""Generated Markdown: blocks in blocks, with and without empty lines between them."""

import re

from generated_documents.words import Words

# Blocks in blocks end at this depth. HTML of several lines is kept in quotes.
IN_QUOTE = 3


def markdown(words: Words) -> str:
    """A document of a few blocks."""
    matter = f"---\ntitle: {words.keep()}\n---\n" if words.chance(0.2) else ""
    text = matter + "\n".join(_Blocks(words).some(6, 0)) + "\n" * words.random.randint(0, 2)
    return text.replace("\n", words.random.choice(["\n", "\n", "\r\n"]))


class _Blocks:
    def __init__(self, words: Words) -> None:
        self._words = words
        self._random = words.random
        self._notes = 0

    def some(self, most: int, depth: int) -> list[str]:
        """The lines of some blocks; some have no empty line between them."""
        lines: list[str] = []
        was_open = False
        for _ in range(self._random.randint(1, most)):
            block, may_follow, may_be_followed = self._block(depth)
            if lines and not (may_follow and was_open and self._words.chance(0.5)):
                lines += [""] * self._random.randint(1, 2)
            lines += block
            was_open = may_be_followed
        return lines

    def _block(self, depth: int) -> tuple[list[str], bool, bool]:
        """Lines; whether they may directly follow any block, and be followed by such a one."""
        simple = [
            (self._paragraph, False, True), (self._heading, True, True),
            (self._setext, False, True), (self._fence, True, True), (self._table, False, True),
            (self._definition, True, True), (self._rule, True, True),
            (self._html, False, False), (self._comment, True, True), (self._code, False, False),
        ][: 7 if depth == IN_QUOTE else None]  # fmt: skip
        nested = [
            (self._items, True, False), (self._quote, True, False), (self._footnote, True, False),
            (self._footnotes, True, True), (self._terms, False, False),
            (self._admonition, True, False), (self._directive, True, True),
        ]  # fmt: skip
        maker, may_follow, may_be_followed = self._random.choice(
            simple + (nested if depth < IN_QUOTE else [])
        )
        return maker(depth), may_follow, may_be_followed

    def line(self) -> str:
        """A line of words and marks, with a word among them."""
        parts = [self._inline() for _ in range(self._random.randint(0, 5))]
        parts.insert(self._random.randrange(len(parts) + 1), self._words.word())
        return " ".join(parts) + self._random.choice([".", "", ":", "!"])

    def _inline(self) -> str:
        word, keep, inner = self._words.word, self._words.keep, self._words.words
        return self._words.pick([
            word, word, word,
            lambda: f"**{inner()}**", lambda: f"*{inner()}*", lambda: f"_{inner()}_",
            lambda: f"***{inner()}***", lambda: f"**{word()} *{inner()}* {word()}**",
            lambda: f"~~{inner()}~~", lambda: f"`{keep()}`", lambda: f"``{keep()} ` {keep()}``",
            lambda: f"[{inner()}](http://a.b/{keep()})",
            lambda: f'[{inner()}](<{keep()}> "{keep()}")', lambda: f"![{inner()}]({keep()}.png)",
            lambda: f"[![{word()}]({keep()})]({keep()})", lambda: f"[{inner()}]",
            lambda: f"<b>{inner()}</b>", lambda: f"{word()} <!-- {keep()} -->",
            lambda: f"<{keep()}@a.b>",
            lambda: f"<https://{keep()}.org>", lambda: f"{{{keep()}}}", lambda: f"${keep()}^2$",
            lambda: f"{word()}[^{keep()}]", lambda: f"{word()}^[{inner()}]",
            lambda: f"{word()} \\* {word()}", lambda: f"{word()} &amp; {word()}",
            lambda: f"({inner()})", lambda: f"{word()} * {word()} | {word()}",
            lambda: f"{word()}<br>{word()}", lambda: f"[*{word()}* {word()}](a_(b)_{keep()})",
            lambda: f"*[{word()}]({keep()}) {word()}*{word()}", lambda: f"{word()}-**{word()}**",
            lambda: f"<a href='{keep()}'>{inner()}</a>", lambda: f"1. {word()}", lambda: "3.5 %",
            lambda: f"*{word()}", lambda: f"[{word()}", lambda: f"{word()}]", lambda: "&copy;",
            lambda: f"<{word()} {word()}", lambda: f"{word()}: {word()}", lambda: f"({word()}",
            lambda: f"- {word()}", lambda: f"\\[{word()}\\]", lambda: f"<code>{keep()}</code>",
            lambda: f"{word()}_{word()}", lambda: f'"{inner()}"', lambda: f"#{word()}",
        ])  # fmt: skip

    def _paragraph(self, depth: int) -> list[str]:
        """Lines that may end anywhere, in hard breaks, too, and may have other indentations."""
        text = self.line()
        for _ in range(self._random.randint(0, 3)):
            text += self._random.choice(["\n", "\n", "  \n", "\\\n", " \n", "\n  "]) + self.line()
        if self._words.chance(0.3):
            words = re.split(r" (?=\w|[*_(\[`])", text)
            text = "".join(word + self._random.choice("   \n") for word in words).rstrip()
        return text.split("\n")

    def _heading(self, depth: int) -> list[str]:
        closing = self._random.choice(["", " ##", f" {{#{self._words.keep()}}}"])
        return ["#" * self._random.randint(1, 6) + " " + self.line() + closing]

    def _setext(self, depth: int) -> list[str]:
        return [*self._paragraph(depth), self._random.choice(["---", "==="])]

    def _fence(self, depth: int) -> list[str]:
        mark = self._random.choice(["```", "~~~~"])
        return [f"{mark}{self._words.keep()}", f"  {self._words.keep()}", "", "# x", mark]

    def _code(self, depth: int) -> list[str]:
        # Below a list without the line, it would be a paragraph of the list.
        return ["***", "", f"    {self._words.keep()}", f"      {self._words.keep()}"]

    def _table(self, depth: int) -> list[str]:
        columns = self._random.randint(1, 3)
        outer = columns == 1 or self._words.chance(0.7)

        def row(cells: list[str]) -> str:
            return "| " + " | ".join(cells) + " |" if outer else " | ".join(cells)

        def cell() -> str:
            return self._words.pick([
                self._words.words, self._words.words, lambda: f"`{self._words.keep()}`",
                lambda: f"{self._words.word()} \\| {self._words.word()}", lambda: "3.5",
                lambda: f"**{self._words.word()}** {self._words.word()}",
                *([lambda: ""] if outer else []),
            ])  # fmt: skip

        head = [self._words.word() for _ in range(columns)]
        rows = [row([cell() for _ in range(columns)]) for _ in range(self._random.randint(0, 3))]
        return [row(head), row(["---"] * columns), *rows]

    def _html(self, depth: int) -> list[str]:
        word = self._words.word
        if depth and self._words.chance(0.5):
            return [f"<p>{word()} <b>{word()}</b></p>"]
        if depth:
            return [f'<img alt="{word()}" src="{self._words.keep()}">']
        return self._random.choice([
            lambda: ["<div>", f"  {word()} <em>{word()}</em>", "</div>"],
            lambda: [f'<p align="center">{word()}', f"{word()}</p>"],
            lambda: ["<details>", f"<summary>{word()}</summary>", "", word(), "", "</details>"],
            lambda: [f"<pre>{self._words.keep()}", "", f"{self._words.keep()}</pre>"],
        ])()  # fmt: skip

    def _comment(self, depth: int) -> list[str]:
        return [f"<!-- {self._words.keep()}", self._words.keep() + " -->"]

    def _definition(self, depth: int) -> list[str]:
        keep = self._words.keep
        lines = [f"[{keep()}]: http://{keep()}.org" for _ in range(self._random.randint(1, 2))]
        return [line + self._random.choice(["", f' "{keep()}"']) for line in lines]

    def _rule(self, depth: int) -> list[str]:
        return [self._random.choice(["***", "* * *", "___"])]

    def _items(self, depth: int) -> list[str]:
        lines = []
        mark = self._random.choice(["-", "*", "+", "1.", "1)"])
        for number in range(self._random.randint(1, 3)):
            begin = f"{number + 1}{mark[1:]}" if mark[0] == "1" else mark
            begin += " " + self._random.choice(["", "", "[ ] ", "[x] "] if mark in "-*+" else [""])
            indentation = " " * (len(mark) + 1)
            first = [self.line()]
            rest = ["", *self.some(2, depth + 1)] if self._words.chance(0.5) else []
            lines += _prefixed([*first, *rest], begin, indentation)
            lines += [""] if rest else []
        return lines

    def _quote(self, depth: int) -> list[str]:
        head = ["[!NOTE]"] if self._words.chance(0.2) else []
        lines = [*head, *self._paragraph(depth)]
        if self._words.chance(0.5):
            lines += ["", *self.some(2, IN_QUOTE)]
        return [f"> {line}" if line else ">" for line in lines]

    def _footnote(self, depth: int) -> list[str]:
        rest = ["", *self.some(2, depth + 1)] if self._words.chance(0.5) else []
        return _prefixed([self.line(), *rest], f"[^{self._words.keep()}]: ", "    ")

    def _footnotes(self, depth: int) -> list[str]:
        return [f"[^{self._words.keep()}]: {self.line()}" for _ in range(3)]

    def _terms(self, depth: int) -> list[str]:
        lines = [self._words.words(), *(f": {self.line()}" for _ in range(2))]
        return [*lines, "", f"    {self.line()}"] if self._words.chance(0.3) else lines

    def _admonition(self, depth: int) -> list[str]:
        return [
            f'!!! note "{self._words.keep()}"',
            *_prefixed(self.some(2, depth + 1), "    ", "    "),
        ]

    def _directive(self, depth: int) -> list[str]:
        return [f"::: {self._words.keep()}", *self._paragraph(depth), ":::"]


def _prefixed(lines: list[str], first: str, others: str) -> list[str]:
    return [(others if index else first) + line if line else "" for index, line in enumerate(lines)]
