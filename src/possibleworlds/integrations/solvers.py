"""Export pairs: DIMACS for SAT solvers, graphs for graph networks, JSON Lines.

None of these needs another package.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from possibleworlds.data.heuristics import heuristics
from possibleworlds.data.pairs import Pair
from possibleworlds.errors import StorageError
from possibleworlds.logic.alphabet import ARITY, CODES
from possibleworlds.logic.entailment import entails
from possibleworlds.logic.sat import tseitin
from possibleworlds.logic.syntax import to_published, to_text
from possibleworlds.storage import atomic_write

FIRST_LINE = "c A = "
"""How a DIMACS file that is written here starts."""


def record(pair: Pair) -> dict[str, Any]:
    """Convert a pair to JSON values: the published columns, and the label as a truth value.

    >>> record(Pair("pq&", "q", True))["A"], record(Pair("pq&", "q", True))["label"]
    ('(p&q)', True)
    """
    h1, h2, h3 = heuristics(pair.a, pair.b)
    return {
        "A": to_published(pair.a),
        "B": to_published(pair.b),
        "E": int(pair.label),
        "H1": int(h1),
        "H2": int(h2),
        "H3": int(h3),
        "label": bool(pair.label),
    }


def write_jsonl(pairs: Iterable[Pair], path: Path) -> int:
    """Write a line of JSON for each pair, and return their number."""
    count = 0
    with atomic_write(path) as file:
        for pair in pairs:
            file.write(json.dumps(record(pair)) + "\n")
            count += 1
    return count


def dimacs(pair: Pair) -> str:
    """Write the CNF that is satisfiable if and only if A does not entail B.

    >>> print(dimacs(Pair("pq&", "q", True)))
    c A = p & q
    c B = q
    c A entails B, so this is unsatisfiable
    c variable 1 is p
    c variable 2 is q
    p cnf 3 5
    -3 1 0
    -3 2 0
    3 -1 -2 0
    3 0
    -2 0
    <BLANKLINE>
    """
    clauses, numbers = tseitin((pair.premise, True), (pair.conclusion, False))
    last = max((abs(literal) for clause in clauses for literal in clause), default=0)
    is_entailment = entails(pair.premise, pair.conclusion)  # whatever the label says
    verdict = "A entails B, so this is un" if is_entailment else "A does not entail B, so this is "
    lines = [
        f"{FIRST_LINE}{to_text(pair.premise, 'ascii')}",
        f"c B = {to_text(pair.conclusion, 'ascii')}",
        f"c {verdict}satisfiable",
        *(f"c variable {number} is {name}" for name, number in numbers.items()),
        f"p cnf {max(last, len(numbers))} {len(clauses)}",
        *(" ".join(map(str, (*clause, 0))) for clause in clauses),
    ]
    return "\n".join(lines) + "\n"


def write_dimacs(pairs: Iterable[Pair], folder: Path) -> int:
    """Write a file for each pair, numbered from 1, and return their number."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for count, pair in enumerate(pairs, 1):
        path = folder / f"{count:06}.cnf"
        # Not atomically: syncing many thousand small files would take hours.
        try:
            path.unlink(missing_ok=True)  # a symlink is replaced, not followed
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(dimacs(pair))
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}") from None
    for path in folder.glob("*.cnf"):  # of an earlier export of more pairs
        try:
            if is_exported(path) and int(path.stem) > count:
                path.unlink()
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}") from None
    return count


def is_exported(path: Path) -> bool:
    """Whether `write_dimacs` wrote a file, as its name and its first bytes tell."""
    name = path.stem
    if not name.isdecimal() or name != f"{int(name):06}" or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(FIRST_LINE)) == FIRST_LINE.encode()


def graph(pair: Pair) -> tuple[list[int], list[tuple[int, int, int]], int, int]:
    """Build the directed acyclic graph of a pair, in which equal subformulas share a node.

    Return the symbol code of each node (`logic.alphabet.CODES`), the edges (argument, operator,
    index of the argument: 0 or 1), and the nodes of A and B. Arguments precede their operators:

    >>> graph(Pair("ab&", "b", True))
    ([4, 5, 1], [(0, 2, 0), (1, 2, 1)], 2, 1)
    """
    nodes: dict[tuple[str, ...], int] = {}
    symbols: list[int] = []
    edges: list[tuple[int, int, int]] = []

    def build(rpn: str) -> int:
        stack: list[int] = []
        for symbol in rpn:
            arity = ARITY.get(symbol, 0)
            arguments = stack[len(stack) - arity :]
            del stack[len(stack) - arity :]
            key = (symbol, *map(str, arguments))
            if key not in nodes:
                nodes[key] = len(symbols)
                symbols.append(CODES[symbol])
                edges.extend((child, nodes[key], i) for i, child in enumerate(arguments))
            stack.append(nodes[key])
        return stack[0]

    a, b = build(pair.a), build(pair.b)
    return symbols, edges, a, b


def graphs(pairs: Iterable[Pair]) -> dict[str, NDArray[np.int64]]:
    """Build the graphs of pairs as arrays, with nodes numbered consecutively.

    `symbol` (nodes,), `edge_index` (2, edges) from argument to operator, `edge_argument` (edges,),
    `node_offset` and `edge_offset` (pairs + 1,), `premise`, `conclusion` and `label` (pairs,).
    """
    symbols: list[int] = []
    edges: list[tuple[int, int, int]] = []
    ends, labels, node_offset, edge_offset = [], [], [0], [0]
    for pair in pairs:
        first = len(symbols)
        pair_symbols, pair_edges, a, b = graph(pair)
        symbols += pair_symbols
        edges += [(first + child, first + parent, i) for child, parent, i in pair_edges]
        ends.append((first + a, first + b))
        labels.append(int(pair.label))
        node_offset.append(len(symbols))
        edge_offset.append(len(edges))
    edge = np.array(edges, np.int64).reshape(-1, 3)
    end = np.array(ends, np.int64).reshape(-1, 2)
    return {
        "symbol": np.array(symbols, np.int64),
        "edge_index": edge[:, :2].T.copy(),
        "edge_argument": edge[:, 2].copy(),
        "node_offset": np.array(node_offset, np.int64),
        "edge_offset": np.array(edge_offset, np.int64),
        "premise": end[:, 0].copy(),
        "conclusion": end[:, 1].copy(),
        "label": np.array(labels, np.int64),
    }


def write_graphs(pairs: Iterable[Pair], path: Path) -> int:
    """Write the graphs of pairs as a compressed .npz file, and return their number."""
    arrays = graphs(pairs)
    with atomic_write(path, binary=True) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return len(arrays["label"])
