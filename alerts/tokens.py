"""Words of the expression language."""

from __future__ import annotations

import re
from dataclasses import dataclass

from alerts.units import SPELLED

UNIT = "|".join(sorted((re.escape(unit) for unit in SPELLED), key=len, reverse=True))
PATTERN = re.compile(
    rf"""\s*(?:
    (?P<hex>0[xX][0-9a-fA-F]+)(?![\w.])
  | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s?(?P<unit>{UNIT})?(?![\w.])
  | \$(?P<setting>[a-z][a-z0-9_]*)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<text>"[^"\n]*")
  | (?P<sign><=|>=|==|!=|[<>()\[\]{{}},+*/=-])
    )""",
    re.VERBOSE,
)
ATTACHED = re.compile(r"\s*(?P<number>(?!0[xX])[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?=[^\W\d_])")
"""A number with a word at it that is no unit."""
WORD = re.compile(r"\s*(?P<word>[^\W\d_][^\s()\[\]{}<>=!,\"$]*|[^\x00-\x7f][^\s()\[\]{}<>=!,\"$]*)")
LONGEST = 2_000
"""Characters of an expression at most."""


class LanguageError(ValueError):
    """Why a text is no condition; `at` is the character where it goes wrong, from 0."""

    def __init__(self, sentence: str, at: int) -> None:
        super().__init__(sentence)
        self.at = at


class TooMuchError(LanguageError):
    """A text that is too large to be one, however it goes on."""


@dataclass(frozen=True, slots=True)
class Token:
    """kind: number, hex, setting, name, text, sign, unit (of a number, one that there is not) or end. unit: of a number
    that was written with one."""

    kind: str
    text: str
    at: int
    unit: str = ""


def tokens(text: str) -> list[Token]:
    """The words of a text, with an end after them. LanguageError where something is none."""
    if len(text) > LONGEST:
        raise LanguageError(f"a condition has at most {LONGEST:,} characters", LONGEST)
    found, at = list[Token](), 0
    while text[at:].strip():
        match = PATTERN.match(text, at)
        if match is None and (strange := _strange(text, at, found)):
            found += strange
            at = strange[-1].at + len(strange[-1].text)
            continue
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise LanguageError(f"{text[at : at + 12].split()[0]!r} is nothing that a condition is made of", at)
        found.append(_token(match))
        at = match.end()
    return [*found, Token("end", "", len(text))]


def settings_in(text: str) -> list[str]:
    """Names of the settings that stand in an expression."""
    return [word.text for word in tokens(text) if word.kind == "setting"]


def _strange(text: str, at: int, found: list[Token]) -> list[Token]:
    """A number with a unit that there is not, or such a unit after the number that was found last; [] for else."""
    number = ATTACHED.match(text, at)
    if number is not None:
        at = number.end()
    elif not found or found[-1].kind != "number" or found[-1].unit:
        return []
    word = WORD.match(text, at)
    if word is None:
        return []
    unit = Token("unit", word["word"], word.start("word"))
    return [unit] if number is None else [Token("number", number["number"], number.start("number")), unit]


def _token(match: re.Match[str]) -> Token:
    kind = "number" if match["number"] else str(match.lastgroup)
    word = match[kind]
    return Token(
        kind, word[1:-1] if kind == "text" else word, match.start(kind) - (kind == "setting"), match["unit"] or ""
    )
