"""The small language of conditions: text in, expression out. Nothing is ever executed.

condition  is  and-terms joined by "or";  an and-term is tests joined by "and";  "not", "maybe( )" and ( ) stand
               before or around a test
test       is  value < value (also <= > >= == !=)  |  state is "text"  |  state in ("text", "text")
               |  value has 0x60  |  absent(reading)  |  differs(reading where condition)
                   |  differs("fact")
value      is  numbers with units, readings, peers(value where condition), joined by + - * / and ( )
reading    is  metric  |  metric{label="text"}  |  mean(metric[60s]), likewise min, max, increase, rate, change,
               usual
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from alerts import expression as ex
from alerts.check import dimension_of
from alerts.given import GIVEN
from alerts.places import PLACES
from alerts.tokens import LanguageError, Token, TooMuchError, tokens
from alerts.units import BASES, SPELLED, Dimension, seconds_of
from telemetry import catalog
from telemetry.model import Kind, Unit

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
DEEPEST = 20
"""Brackets inside brackets at most."""
MOST_OPERATORS = 100
"""Of + - * / in one condition: each is a level of the expression, and of the stack of whoever walks through it."""
MOST_BITS = 53
"""Of a mask: values are float64, which hold no more."""
AFTER_NUMBERS = ("and", "or", "is", "in", "has", "where")
"""Words that may stand behind a number and are no unit."""
T = TypeVar("T")
WANTED = {"text": 'a text in "quotes"', "hex": "bits such as 0x60", "name": "a metric"}


def parse(text: str, settings: Mapping[str, str] | None = None) -> ex.Condition:
    """The condition that a text says. LanguageError with a sentence and a place when it says none.

    settings: numbers with their units, which stand in the text as $name.

    >>> parse("gpu_temperature_celsius >= 85 °C").operator
    '>='
    """
    reader = _Reader(tokens(text), {name: number(value) for name, value in (settings or {}).items()})
    found = reader.condition()
    reader.end()
    return found


def number(text: str) -> ex.Number:
    """A number with or without a unit, and nothing else. LanguageError for other texts."""
    reader = _Reader(tokens(text), {})
    found = reader.value()
    reader.end()
    if not isinstance(found, ex.Number):
        raise LanguageError(f"{text!r} is no number", 0)
    return found


class _Reader:
    """Recursive descent over the tokens."""

    def __init__(self, words: list[Token], settings: Mapping[str, ex.Number]) -> None:
        self._words = words
        self._settings = settings
        self._next = 0
        self._depth = 0
        self._operators = 0
        self._against: ex.Value | None = None

    # Conditions ---------------------------------------------------------------------------------------------------

    def condition(self) -> ex.Condition:
        """Terms joined by "or"."""
        terms = [self._every()]
        while self._take("name", "or"):
            terms.append(self._every())
        return terms[0] if len(terms) == 1 else ex.Some(tuple(terms))

    def _every(self) -> ex.Condition:
        terms = [self._one()]
        while self._take("name", "and"):
            terms.append(self._one())
        return terms[0] if len(terms) == 1 else ex.All(tuple(terms))

    def _one(self) -> ex.Condition:
        if self._take("name", "not"):
            return ex.Not(self._deeper(self._one))
        if self._take("name", "maybe"):
            return ex.Maybe(self._inside(self.condition))
        if self._take("name", "absent"):
            return ex.Absent(self._inside(self._reading))
        if self._take("name", "differs"):
            return self._inside(self._differing)
        if self._here.text == "(" and self._is_condition_in_brackets():
            return self._inside(self.condition)
        return self._test()

    def _is_condition_in_brackets(self) -> bool:
        """Whether the bracket that opens here holds a condition and not a value."""
        before = self._next, self._depth, self._operators, self._against
        try:
            self._test()
        except TooMuchError:
            raise
        except LanguageError:
            return True
        finally:
            self._next, self._depth, self._operators, self._against = before
        return False

    def _test(self) -> ex.Condition:
        left = self.value()
        if self._take("name", "is"):
            return self._states(left, [self._expect("text")])
        if self._take("name", "in"):
            return self._states(left, self._inside(self._texts))
        if self._take("name", "has"):
            return ex.Has(left, self._bits())
        if self._here.text not in COMPARISONS:
            raise self._wrong("a comparison such as < or >=")
        operator = self._step().text
        self._against = left
        right = self.value()
        self._against = None
        return ex.Compare(cast(Any, operator), left, right)

    def _bits(self) -> int:
        word = self._expect("hex")
        bits = int(word.text, 16)
        if not 0 < bits < 1 << MOST_BITS:
            raise LanguageError(f"a mask has one of {MOST_BITS} bits at least, and none beyond", word.at)
        return bits

    def _texts(self) -> list[Token]:
        found = [self._expect("text")]
        while self._take("sign", ","):
            found.append(self._expect("text"))
        return found

    def _states(self, value: ex.Value, names: list[Token]) -> ex.Condition:
        if not isinstance(value, ex.Reading) or value.metric.kind is not Kind.STATE or value.how != "now":
            raise LanguageError('"is" and "in" are for states, such as engine_phase', names[0].at)
        states = cast(Any, value.metric).states
        for name in names:
            if name.text not in states:
                raise LanguageError(f"{value.metric.name} is never {name.text!r}: it is {', '.join(states)}", name.at)
        return ex.Is(value, tuple(states.index(name.text) for name in names))

    def _differing(self) -> ex.Differs:
        if self._here.kind == "text":
            return ex.Differs(self._step().text)
        reading = self._reading()
        return ex.Differs(reading, self.condition() if self._take("name", "where") else None)

    # Values -------------------------------------------------------------------------------------------------------

    def value(self) -> ex.Value:
        """Products joined by + and -."""
        found = self._product()
        while self._here.kind == "sign" and self._here.text in "+-":
            found = ex.Arithmetic(self._operator(), found, self._product())
        return found

    def _product(self) -> ex.Value:
        found = self._factor()
        while self._here.kind == "sign" and self._here.text in "*/":
            found = ex.Arithmetic(self._operator(), found, self._factor())
        return found

    def _operator(self) -> Any:
        word = self._step()
        self._operators += 1
        if self._operators > MOST_OPERATORS:
            raise TooMuchError(f"a condition has at most {MOST_OPERATORS} of + - * /", word.at)
        return word.text

    def _factor(self) -> ex.Value:
        word = self._here
        if word.kind == "number":
            return self._number()
        if word.kind == "sign" and word.text == "-":
            self._step()
            number = self._number()
            return ex.Number(-number.value, number.unit)
        if word.kind == "sign" and word.text == "(":
            return self._inside(self.value)
        if word.kind == "setting":
            return self._setting()
        if self._take("name", "peers"):
            return self._inside(self._peers)
        if self._take("name", "count"):
            return ex.Count(self._inside(self.condition))
        if self._take("name", "across"):
            return self._inside(self._across)
        if word.text in ("warning", "critical") and self._take("name", word.text):
            return self._inside(lambda: self._limit(word))
        return self._reading()

    def _setting(self) -> ex.Number:
        word = self._step()
        if word.text not in self._settings:
            raise LanguageError(f"there is no setting {word.text}: {', '.join(self._settings) or 'none'}", word.at)
        return self._settings[word.text]

    def _limit(self, which: Token) -> ex.Number:
        metric = self._plain(self._expect("name")).metric
        limit = getattr(metric.limits, which.text, None)
        if limit is None:
            raise LanguageError(f"{metric.name} has no limit {which.text!r} in the catalogue", which.at)
        return ex.Number(float(limit), metric.unit)

    def _number(self) -> ex.Number:
        word = self._expect("number")
        self._refuse_unit(word, None if self._against is None else dimension_of(self._against))
        unit, size = SPELLED[word.unit] if word.unit else (None, 1.0)
        value = float(word.text) * size
        if not math.isfinite(value):
            raise LanguageError(f"{word.text} is more than a number can be", word.at)
        return ex.Number(value, unit)

    def _refuse_unit(self, word: Token, fitting: Dimension | None) -> None:
        """LanguageError where a word after a number is no unit. fitting: what dimension it may have, where known."""
        here = self._here
        if not word.unit and (here.kind == "unit" or (here.kind == "name" and here.text not in AFTER_NUMBERS)):
            raise LanguageError(f"there is no unit {here.text}: {_units(fitting)}", here.at)

    def _peers(self) -> ex.Peers:
        value = self.value()
        return ex.Peers(value, self.condition() if self._take("name", "where") else None)

    def _across(self) -> ex.Across:
        word = self._expect("name")
        if word.text not in PLACES:
            raise LanguageError(f"there is no place {word.text}: {', '.join(PLACES)}", word.at)
        self._sign(",")
        return ex.Across(PLACES[word.text], self.value())

    def _reading(self) -> ex.Reading:
        word = self._expect("name")
        if word.text in ex.WINDOWED and self._here.text == "(":
            return self._inside(lambda: self._windowed(cast(Any, word.text)))
        return self._plain(word)

    def _windowed(self, how: ex.How) -> ex.Reading:
        reading = self._plain(self._expect("name"))
        self._sign("[")
        word = self._expect("number")
        self._refuse_unit(word, BASES[Unit.SECONDS])
        try:
            window_s = seconds_of(word.text + word.unit)
        except ValueError as error:
            raise LanguageError(str(error), word.at) from error
        if window_s <= 0:
            raise LanguageError("a window is longer than nothing", word.at)
        self._sign("]")
        return ex.Reading(reading.metric, how, window_s, reading.labels)

    def _plain(self, word: Token) -> ex.Reading:
        metric = catalog.find(word.text) or GIVEN.get(word.text)
        if metric is None:
            raise LanguageError(_unknown(word.text), word.at)
        labels = self._labels() if self._take("sign", "{") else ()
        for label, _ in labels:
            if label not in metric.by:
                raise LanguageError(f"{metric.name} has no label {label}: {', '.join(metric.by) or 'none'}", word.at)
        return ex.Reading(metric, labels=labels)

    def _labels(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        found: dict[str, tuple[str, ...]] = {}
        while True:
            word = self._expect("name")
            name = word.text
            if name in found:
                raise LanguageError(f'the label {name} stands there twice: write {name} in ("…", "…")', word.at)
            if self._take("name", "in"):
                found[name] = tuple(word.text for word in self._inside(self._texts))
            else:
                self._sign("=")
                found[name] = (self._expect("text").text,)
            if not self._take("sign", ","):
                break
        self._sign("}")
        return tuple(sorted(found.items()))

    # Words --------------------------------------------------------------------------------------------------------

    @property
    def _here(self) -> Token:
        return self._words[self._next]

    def _step(self) -> Token:
        word = self._here
        self._next += word.kind != "end"
        return word

    def _take(self, kind: str, text: str) -> bool:
        found = self._here.kind == kind and self._here.text == text
        self._next += found
        return found

    def _expect(self, kind: str) -> Token:
        if self._here.kind != kind:
            raise self._wrong(WANTED.get(kind, f"a {kind}"))
        return self._step()

    def _sign(self, text: str) -> None:
        if not self._take("sign", text):
            raise self._wrong(f"{text!r}")

    def _inside(self, what: Callable[[], T]) -> T:
        self._sign("(")
        found = self._deeper(what)
        self._sign(")")
        return found

    def _deeper(self, what: Callable[[], T]) -> T:
        self._depth += 1
        if self._depth > DEEPEST:
            raise TooMuchError(f"brackets stand in brackets more than {DEEPEST} deep", self._here.at)
        found = what()
        self._depth -= 1
        return found

    def end(self) -> None:
        """LanguageError when something follows."""
        if self._here.kind != "end":
            raise self._wrong("the end, or and, or")

    def _wrong(self, wanted: str) -> LanguageError:
        found = repr(self._here.text) if self._here.kind != "end" else "the end"
        return LanguageError(f"here should be {wanted}, not {found}", self._here.at)


def _units(fitting: Dimension | None) -> str:
    """Which units there are, of a dimension where one is known."""
    if fitting is None:
        return f"there are {', '.join(SPELLED)}"
    found = [name for name, (unit, _) in SPELLED.items() if BASES[unit] == fitting]
    return f"here it may be {', '.join(found)}" if found else "here a number stands alone"


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, [*GIVEN, *(metric.name for metric in catalog.METRICS)], 3)
    return f"there is no metric {name}" + (f"; near are {', '.join(near)}" if near else "")
