"""How often a reply to *conclude* that does not look at the premises is right.

    .venv/bin/python benchmarks/blind.py

For each kind of items: of all 256 functions of the first three variables, the one that is right
most often, however many connectives it takes. Writes a part of docs/language-models.md.
"""

from functools import reduce
from operator import and_
from typing import Any

from pages import replace_part

from possibleworlds.language import tasks
from possibleworlds.language.item import Item
from possibleworlds.logic.formula import Formula
from possibleworlds.logic.truth import table_bits

SIZE = 200
KINDS: dict[str, dict[str, Any]] = {
    "one premise": {"premises": 1},
    "one premise, level 1": {"premises": 1, "level": 1},
    "one premise, hard": {"source": "hard"},
    "two premises": {},
    "two premises, level 5": {"level": 5},
    "three premises": {"premises": 3},
}


def right_functions(item: Item) -> list[bool]:
    """Whether each function of the first three variables is a right conclusion."""
    names = item.variables
    everywhere = (1 << (1 << len(names))) - 1
    premises = [table_bits(premise, names) for premise in item.premises]
    together = reduce(and_, premises)
    others = [
        reduce(and_, premises[:i] + premises[i + 1 :], everywhere) for i in range(len(premises))
    ]
    columns = [table_bits(Formula.variable(name), names) for name in (names * 3)[:3]]
    cases = []
    for case in range(8):
        literals = (c if case >> i & 1 else everywhere & ~c for i, c in enumerate(columns))
        cases.append(reduce(and_, literals))
    right = []
    for function in range(256):
        table = sum(cases[i] for i in range(8) if function >> i & 1)
        true = table.bit_count()
        right.append(
            together & ~table == 0
            and table != together
            and all(other & ~table for other in others)
            and true <= 2 * together.bit_count()
            and 4 * true <= 3 << len(names)
        )
    return right


def best(**settings: Any) -> float:
    """Compute how often the best function is right."""
    of_items = [right_functions(item) for item in tasks("conclude", size=SIZE, **settings)]
    return max(map(sum, zip(*of_items, strict=True))) / SIZE


def main() -> None:
    lines = [f"| {SIZE} items with | best blind reply |", "| --- | ---: |"]
    lines += [f"| {name} | {best(**settings):.0%} |" for name, settings in KINDS.items()]
    print("\n".join(lines))
    replace_part("language-models.md", "blind", "\n".join(lines))


if __name__ == "__main__":
    main()
