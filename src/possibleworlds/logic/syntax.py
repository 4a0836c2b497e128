"""Parse and format formulas, in linear time and without recursion.

There are four notations: the published format of the data sets `~((p&q))`, ordinary ASCII
`~(p & q)`, Unicode `¬(p ∧ q)` and LaTeX `\\neg (p \\wedge q)`. The parser accepts any mixture of
them, and words, with the usual precedence: ¬, ∧, ⊕, ∨, → and ← , ↔; → and ↔ associate to the right.
Two more operators are rewritten: p ⊕ q as ¬(p ↔ q), and p ← q as q → p. LaTeX's spaces and the
delimiters of its math mode, $ \\( \\) \\[ \\], count as spaces.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal, get_args

from possibleworlds.errors import UserError, quoted, shortened
from possibleworlds.logic.alphabet import AND, ARITY, FALSE, IFF, IMPLIES, NOT, OR, TRUE
from possibleworlds.logic.formula import NAME, WORDS, Formula, spans

Notation = Literal["unicode", "ascii", "latex", "published"]

XOR, CONVERSE = "^", "<"
SPELLINGS = {
    NOT: r"~ ! ¬ ∼ \neg \lnot \sim not",
    AND: r"& && ∧ · /\ \wedge \land \cdot and",
    OR: r"| || ∨ \/ \vee \lor or",
    IMPLIES: r"> -> => --> ==> → ⇒ ⟶ ⟹ ⊃ \rightarrow \Rightarrow \longrightarrow \Longrightarrow "
    r"\to \implies \supset implies",
    XOR: r"^ ⊕ ⊻ \oplus \veebar xor",
    CONVERSE: r"<- <= ← ⇐ \leftarrow \Leftarrow",
    IFF: r"<-> <=> <--> <==> ↔ ⇔ ⟷ ⟺ ≡ \leftrightarrow \Leftrightarrow \longleftrightarrow "
    r"\Longleftrightarrow \iff \equiv iff",
    TRUE: r"⊤ \top true 1",
    FALSE: r"⊥ \bot false 0",
    "(": "( [",
    ")": ") ]",
}
MEANING = {spelling: symbol for symbol, all_ in SPELLINGS.items() for spelling in all_.split()}
MEANING |= {word: MEANING[word.lower()] for word in WORDS}
SIGNS = sorted((s for s in MEANING if not re.search("[A-Za-z0-9]", s)), key=len, reverse=True)
TOKEN = re.compile(
    r"(?P<space>(?:\s|\\(?:left|right)(?![A-Za-z])|\\[ ,;()\[\]]|\$)+)"
    r"|(?P<latex>(?:\\(?:math(?:it|rm|sf|tt|bf)|text(?:it|rm|sf|tt|bf)?)\{(?:[^\W_]|\\?_)+\}"
    r"|[^\W\d]\w*_\{\w+\})'*)"
    rf"|(?P<sign>{'|'.join(map(re.escape, SIGNS))}|\\[A-Za-z]+|\d\w*)"
    r"|(?P<word>[^\W\d]\w*'*)"
    r"|(?P<bad>.)",
    re.DOTALL,
)
LATEX_MARKUP = re.compile(r"\\[a-z]*|[{}]")
BINDING = {IFF: 1, IMPLIES: 2, CONVERSE: 2, OR: 3, XOR: 4, AND: 5, NOT: 6}
RIGHT_ASSOCIATIVE = (IMPLIES, IFF)
SHOWN_AROUND_ERROR = 30
SHORT = 1000


class FormulaError(UserError, ValueError):
    """A syntax error in a formula, with a caret under its position."""

    def __init__(self, problem: str, text: str, place: int) -> None:
        start = max(0, place - SHOWN_AROUND_ERROR)
        before = "..." if start else ""
        after = "..." if place + SHOWN_AROUND_ERROR < len(text) else ""
        shown = shortened(text[start : place + SHOWN_AROUND_ERROR])
        caret = " " * (len(before) + place - start) + "^"
        super().__init__(f"{problem}\n  {before}{shown}{after}\n  {caret}")
        self.problem, self.place = problem, place


MAX_CHARACTERS = 4_000_000
"""The longest formula that is parsed, which takes a few seconds and up to 630 MiB."""


def tokens(text: str) -> Iterator[tuple[str, int]]:
    """Split a text into symbols with their positions."""
    for match in TOKEN.finditer(text):
        kind, token, place = match.lastgroup, match.group(), match.start()
        if kind == "space":
            continue
        if kind == "latex":
            name = LATEX_MARKUP.sub("", token)
            if not NAME.fullmatch(name):  # \mathit{1} must not pass for the constant 1
                raise FormulaError(f"not the name of a variable: {quoted(name)}", text, place)
            yield name, place
        elif token in MEANING:
            yield MEANING[token], place
        elif kind == "word":
            yield token, place
        else:
            if TURNSTILE.match(text, place - (text[place - 1 : place] == "|")):
                raise FormulaError("premises and conclusion, not one formula", text, place)
            raise FormulaError(f"cannot read {quoted(token)}", text, place)


def parse(text: str | Formula) -> Formula:
    """Parse a formula in any notation."""
    if isinstance(text, Formula):
        return text
    if not isinstance(text, str):
        raise UserError(f"a formula is a text or a Formula, not {quoted(text)}")
    if len(text) > MAX_CHARACTERS:
        raise UserError(f"{len(text):,} characters; a formula has up to {MAX_CHARACTERS:,}")
    rpn: list[str] = []
    pending: list[tuple[str, int]] = []
    operand_expected = True
    for symbol, place in tokens(text):
        if operand_expected:
            if symbol in (NOT, "("):
                pending.append((symbol, place))
            elif symbol in BINDING or symbol == ")":
                raise FormulaError(f"expected a formula before {quoted(symbol)}", text, place)
            else:
                rpn.append(symbol)
                operand_expected = False
        elif symbol == ")":
            while pending and pending[-1][0] != "(":
                rpn.append(pending.pop()[0])
            if not pending:
                raise FormulaError("this bracket was never opened", text, place)
            _, opened = pending.pop()
            if (text[opened] == "[") != (text[place] == "]"):
                raise FormulaError(f"this bracket does not close {text[opened]!r}", text, place)
        elif symbol in BINDING and symbol != NOT:
            weakest = BINDING[symbol] + (symbol in RIGHT_ASSOCIATIVE)
            while pending and pending[-1][0] != "(" and BINDING[pending[-1][0]] >= weakest:
                rpn.append(pending.pop()[0])
            pending.append((symbol, place))
            operand_expected = True
        else:
            raise FormulaError(f"expected an operator before {quoted(symbol)}", text, place)
    if operand_expected:
        problem = "the formula ends too early" if rpn or pending else "an empty formula"
        raise FormulaError(problem, text, len(text))
    while pending:
        symbol, place = pending.pop()
        if symbol == "(":
            raise FormulaError("this bracket is never closed", text, place)
        rpn.append(symbol)
    return Formula(tuple(rpn if {XOR, CONVERSE}.isdisjoint(rpn) else expand(rpn)))


def expand(rpn: Sequence[str]) -> list[str]:
    """Rewrite p ⊕ q as ¬(p ↔ q) and p ← q as q → p.

    >>> expand(["p", "q", "^"]), expand(["p", "q", "<"])
    (['p', 'q', '=', '~'], ['q', 'p', '>'])
    """
    arity = dict.fromkeys(BINDING, 2) | {NOT: 1}
    starts = spans(rpn, arity)
    out: list[str] = []  # in reverse order
    todo = [len(rpn) - 1]
    while todo:
        place = todo.pop()
        symbol = rpn[place]
        out += {XOR: (NOT, IFF), CONVERSE: (IMPLIES,)}.get(symbol, (symbol,))
        if arity.get(symbol) == 1:
            todo.append(place - 1)
        elif symbol in arity:
            left, right = starts[place - 1] - 1, place - 1
            todo += (right, left) if symbol == CONVERSE else (left, right)
    out.reverse()
    return out


TURNSTILE = re.compile(
    r"\|/?=|\|-|[⊨⊭⊢⊬∴]"
    r"|(?:\\not\s*)?\\(?:models|n?vDash|n?vdash|therefore)(?![A-Za-z])"
)
PREMISE_SEPARATOR = re.compile(r"(?<!\\)[,;\n]")  # after a backslash they are LaTeX spaces


def parse_premises(text: str) -> list[Formula]:
    """Parse formulas separated by commas.

    >>> [str(formula) for formula in parse_premises("p, p -> q")]
    ['p', 'p → q']
    """
    return [parse(part) for part in PREMISE_SEPARATOR.split(text)] if text.strip() else []


def parse_sequent(text: str) -> tuple[list[Formula], Formula]:
    """Parse premises and conclusion with a turnstile between them.

    >>> premises, conclusion = parse_sequent("p, p -> q |= q")
    >>> [str(formula) for formula in premises], str(conclusion)
    (['p', 'p → q'], 'q')
    """
    parts = TURNSTILE.split(text)
    if len(parts) != 2:
        raise UserError("premises and conclusion are written like p, p -> q |= q")
    return parse_premises(parts[0]), parse(parts[1])


def to_text(
    formula: Formula | str, style: Notation = "unicode", *, all_brackets: bool = False
) -> str:
    """Format a formula in one of four styles: unicode, ascii, latex or published.

    With `all_brackets`, no reading depends on precedence or on the associativity of →.

    >>> to_text("~(p & q) -> r", "published")
    '(~((p&q))>r)'
    >>> to_text("p & q & r -> ~p -> q", all_brackets=True)
    '(p ∧ q ∧ r) → (¬p → q)'
    """
    if style not in (known := get_args(Notation)):
        raise UserError(f"no style called {quoted(style)}; there are {', '.join(known)}")
    if not isinstance(formula, Formula):
        formula = parse(formula)
    if style == "published":
        return to_published(formula.rpn)
    names = {name: latex_name(name) for name in formula.variables} if style == "latex" else {}
    return render(formula.rpn, style, names, all_brackets)


def to_published(rpn: Sequence[str]) -> str:
    """Convert reverse Polish notation to the format of the published data sets."""
    if len(rpn) <= SHORT and IFF not in rpn:
        # Several times as fast as the general case, but quadratic in the depth of the formula.
        stack: list[str] = []
        for symbol in rpn:
            if symbol == NOT:
                stack[-1] = f"~({stack[-1]})"
            elif symbol in ARITY:
                right = stack.pop()
                stack[-1] = f"({stack[-1]}{symbol}{right})"
            else:
                stack.append(symbol)
        return stack[0]
    out: list[str] = []
    waiting: list[str] = []  # text to the left, innermost last
    for symbol in reversed(rpn):
        if symbol == NOT:
            out.append(")")
            waiting.append("~(")
        elif symbol in ARITY:
            out.append(")")
            waiting += "(", "<->" if symbol == IFF else symbol
        else:
            out.append(symbol)
            while waiting:
                text = waiting.pop()
                out.append(text)
                if text[-1] != "(":
                    break  # a binary operator: its left argument comes next
    out.reverse()
    return "".join(out)


def latex_name(name: str) -> str:
    """Format a variable for LaTeX, with a long name as one word."""
    word = name.rstrip("'")
    if len(word) == 1 and word.isalpha():
        return name
    return "\\mathit{" + word.replace("_", "\\_") + "}" + name[len(word) :]


def render(
    rpn: Sequence[str], style: Notation, names: dict[str, str], all_brackets: bool = False
) -> str:
    """Format a formula in reverse Polish notation, with few brackets or all, from its end."""
    brackets, signs = layout(style, all_brackets)
    out: list[str] = []
    waiting: list[tuple[str, str]] = []
    context = ""
    for symbol in reversed(rpn):
        arity = ARITY.get(symbol, 0)
        if arity:
            opening, closing = brackets[context, symbol]
            out.append(closing)
            if arity == 1:
                waiting.append((opening + signs[symbol], ""))
                context = symbol
            else:
                waiting.append((opening, ""))
                waiting.append((signs[symbol], symbol + "left"))
                context = symbol + "right"
            continue
        out.append(names.get(symbol) or signs.get(symbol, symbol))
        while waiting:
            text, context = waiting.pop()
            out.append(text)
            if context:
                break
    out.reverse()
    return "".join(out)


@cache
def layout(
    style: Notation, all_brackets: bool
) -> tuple[dict[tuple[str, str], tuple[str, str]], dict[str, str]]:
    """Look up the brackets around each operator in each context, and the sign of each symbol."""
    written = {
        "ascii": "~ & | -> <-> true false",
        "unicode": "¬ ∧ ∨ → ↔ ⊤ ⊥",
        "latex": r"\neg \wedge \vee \rightarrow \leftrightarrow \top \bot",
    }[style]
    signs = dict(zip((*ARITY, TRUE, FALSE), written.split(), strict=True))
    signs |= {symbol: f" {signs[symbol]} " for symbol in ARITY if symbol != NOT}
    if style == "latex":
        signs[NOT] += " "
    brackets = {}
    for symbol in ARITY:
        for parent in ("", *ARITY):
            for side in ("left", "right") if ARITY.get(parent) == 2 else ("",):
                around = (
                    ("(", ")") if needs_brackets(symbol, parent, side, all_brackets) else ("", "")
                )
                brackets[parent + side, symbol] = around
    return brackets, signs


def needs_brackets(symbol: str, parent: str, side: str, all_brackets: bool) -> bool:
    """Whether an operator has brackets as an argument of another."""
    if not parent or symbol == NOT:
        return False
    if symbol == parent:
        is_arrow = symbol in RIGHT_ASSOCIATIVE
        return side != ("right" if is_arrow else "left") or (all_brackets and is_arrow)
    return all_brackets or BINDING[symbol] < BINDING[parent]
