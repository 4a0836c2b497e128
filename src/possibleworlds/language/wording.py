"""Formulas as a language model reads them: in symbols, or in unambiguous English.

In symbols, they have brackets wherever their reading would depend on a convention.
In words, every connective starts with its own word, so that sentences need no brackets, have only
one reading, and can be parsed:

    ~x       it is not the case that x
    x & y    both x and y
    x | y    either x or y, or both
    x > y    if x, then y

>>> from possibleworlds.logic import parse
>>> wording = Wording("words", {"p": "the lamp is on", "q": "the door is open"})
>>> wording.write(parse("p -> ~(p & q)"))
'if the lamp is on, then it is not the case that both the lamp is on and the door is open'
>>> wording.read(wording.write(parse("p -> ~(p & q)")))
parse('p → ¬(p ∧ q)')
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from possibleworlds.errors import UserError, quoted
from possibleworlds.logic.formula import Formula
from possibleworlds.logic.syntax import FormulaError, parse, to_text

Style = Literal["unicode", "ascii", "latex", "words"]
Vocabulary = Literal["letters", "nonsense", "everyday"]
STYLES: tuple[Style, ...] = get_args(Style)
VOCABULARIES: tuple[Vocabulary, ...] = get_args(Vocabulary)

CONNECTIVES = {
    "~": ("it is not the case that ", ""),
    "&": ("both ", " and ", ""),
    "|": ("either ", " or ", ", or both"),
    ">": ("if ", ", then ", ""),
}
"""The words before, between and after the arguments of each operator."""

EVERYDAY = (
    "the lamp is on",
    "the door is open",
    "it is raining",
    "the cat is asleep",
    "Anna is at home",
    "the train is late",
    "the soup is hot",
    "the shop is closed",
    "Ben plays the piano",
    "the radio is broken",
    "the lake is frozen",
    "Clara has a ticket",
    "the bread is fresh",
    "the bridge is safe",
    "the moon is full",
    "David wears a hat",
    "the garden is wet",
    "the clock is fast",
    "the phone is ringing",
    "Emma speaks Greek",
    "the window is dirty",
    "the milk is sour",
    "the market is busy",
    "Felix owns a boat",
    "the tower is tall",
    "the engine is running",
)
NONSENSE = (
    "the wug glims",
    "the dax tarks",
    "the blicket plooms",
    "the fep frets",
    "the zorp zibbles",
    "the gorf morps",
    "the snib skanes",
    "the plome drups",
    "the torv veeks",
    "the mib lorbs",
    "the yalp yats",
    "the krat krints",
    "the vosh voles",
    "the lunt lums",
    "the quib quarps",
    "the spog spiffs",
    "the drel drools",
    "the hask hants",
    "the jom jibs",
    "the nurp nopes",
    "the oolt oaks",
    "the prev prants",
    "the reft rells",
    "the tasp tivs",
    "the uvel umps",
    "the wilm wobs",
)
STATEMENTS: dict[str, tuple[str, ...]] = {"everyday": EVERYDAY, "nonsense": NONSENSE}


def folded(name: str) -> str:
    """Convert a name to lower case; ı, İ and ſ match i and s if case is ignored."""
    return name.lower().translate({0x131: "i", 0x307: None, 0x17F: "s"})


@dataclass(frozen=True)
class Wording:
    """A notation for formulas, and the name of each variable in it."""

    style: Style = "unicode"
    statements: Mapping[str, str] = field(default_factory=dict)
    """The statement that stands for each variable; variables without one stand for themselves."""

    @classmethod
    def draw(
        cls,
        rng: np.random.Generator,
        variables: Iterable[str],
        style: Style = "unicode",
        vocabulary: Vocabulary = "letters",
    ) -> "Wording":
        """Draw a random statement for each variable."""
        if style not in STYLES:
            raise UserError(f"no style called {quoted(style)}; there are {', '.join(STYLES)}")
        if vocabulary not in VOCABULARIES:
            known = ", ".join(VOCABULARIES)
            raise UserError(f"no vocabulary called {quoted(vocabulary)}; there are {known}")
        if vocabulary == "letters":
            return cls(style)
        if style != "words":
            raise UserError(f"the vocabulary {vocabulary!r} needs the style 'words'")
        names = list(variables)
        if len(names) > len(statements := STATEMENTS[vocabulary]):
            raise UserError(f"{len(names)} variables; there are {len(statements)} statements")
        order = rng.permutation(len(statements))
        return cls(style, {v: statements[i] for v, i in zip(names, order, strict=False)})

    def name(self, variable: str) -> str:
        """Return the name of a variable."""
        return self.statements.get(variable, variable)

    def write(self, formula: Formula) -> str:
        """Write a formula."""
        if self.style != "words":
            return to_text(formula, self.style, all_brackets=True)
        stack: list[str] = []
        for symbol in formula.basic().rpn:
            if symbol not in CONNECTIVES:
                stack.append(self.name(symbol))
                continue
            before, *between, after = CONNECTIVES[symbol]
            if between:
                right, left = stack.pop(), stack.pop()
                stack.append(before + left + between[0] + right + after)
            else:
                stack.append(before + stack.pop() + after)
        return stack[0]

    def read(self, text: str) -> Formula:
        """Parse a formula, in the words of this wording or in any notation."""
        if self.style != "words":
            return parse(text)
        try:
            return Formula(tuple(self._read_words(text)))
        except UnreadableWordsError as error:
            if self.statements:
                raise FormulaError("not a statement in these words", text, error.place) from None
            return parse(text)

    @cached_property
    def _token(self) -> re.Pattern[str]:
        """Match the next token of a sentence: a word of a connective, or a statement."""
        pieces = {piece.strip() for parts in CONNECTIVES.values() for piece in parts} - {""}
        names = [re.escape(name) for name in sorted(self.statements.values(), key=len)[::-1]]
        atom = "|".join(names) if names else r"[A-Za-z]\w*'*"
        words = "|".join(
            re.escape(piece) + (r"\b" if piece[-1].isalnum() else "")
            for piece in sorted(pieces, key=len)[::-1]
        )
        words = words.replace(r"\ ", r"\s+")
        atom = atom.replace(r"\ ", r"\s+")
        return re.compile(rf"\s*(?:(?P<word>{words})|(?P<atom>{atom})\b)", re.IGNORECASE)

    @cached_property
    def _variables(self) -> dict[str, str]:
        """The variable of each statement in lower case."""
        return {statement.lower(): variable for variable, statement in self.statements.items()}

    def _tokens(self, text: str) -> Iterator[tuple[str, str, int]]:
        """Split a sentence into tokens (kind, normalised text, position)."""
        place = 0
        sentence = text.rstrip().rstrip(".").rstrip()
        while place < len(sentence):
            match = self._token.match(sentence, place)
            if not match or not match.lastgroup:
                raise UnreadableWordsError(place)
            yield match.lastgroup, re.sub(r"\s+", " ", match[match.lastgroup]), match.start()
            place = match.end()
        yield "end", "", len(sentence)

    def _read_words(self, text: str) -> Iterator[str]:
        """Parse a sentence into reverse Polish notation, with one token of look-ahead."""
        openers = {parts[0].strip(): symbol for symbol, parts in CONNECTIVES.items()}
        # What is still expected: tokens to read, and operators to write.
        expected: list[tuple[str, str]] = [("end", ""), ("formula", "")]
        tokens = self._tokens(text)
        kind, token, place = next(tokens)
        while expected:
            what, value = expected.pop()
            if what == "write":
                yield value
                continue
            if what == "formula" and kind == "atom":
                variable = self._variables.get(folded(token)) if self.statements else token
                if variable is None:  # a letter that differs by more than its case
                    raise UnreadableWordsError(place)
                yield variable
            elif what == "formula" and kind == "word" and token.lower() in openers:
                symbol = openers[token.lower()]
                _, *between, after = CONNECTIVES[symbol]
                todo = [("formula", "")]
                for piece in between:
                    todo += [("word", piece.strip()), ("formula", "")]
                if after:
                    todo.append(("word", after.strip()))
                expected += [("write", symbol), *reversed(todo)]
            elif what == "end" and kind == "end":
                return
            elif not (what == "word" and kind == "word" and token.lower() == value):
                raise UnreadableWordsError(place)
            kind, token, place = next(tokens, ("end", "", len(text)))


class UnreadableWordsError(Exception):
    """A sentence that cannot be parsed, with the position of the first wrong token."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place
