"""Exports that need no tool: what comes out means what went in."""

import json
from pathlib import Path

import numpy as np
from hypothesis import given
from pysat.formula import CNF
from pysat.solvers import Solver

from possibleworlds.data.files import read_pairs
from possibleworlds.data.heuristics import heuristics
from possibleworlds.data.pairs import Pair
from possibleworlds.integrations.solvers import (
    dimacs,
    graph,
    graphs,
    write_dimacs,
    write_graphs,
    write_jsonl,
)
from possibleworlds.logic import entails
from possibleworlds.logic.alphabet import ARITY, SYMBOLS
from possibleworlds.logic.syntax import to_published
from tests.conftest import DATA_FORMULAS


def labelled(a: str, b: str) -> Pair:
    pair = Pair(a, b, False)
    return pair._replace(label=entails(pair.premise, pair.conclusion))


@given(a=DATA_FORMULAS, b=DATA_FORMULAS)
def test_a_cnf_is_satisfiable_where_a_does_not_entail_b(a: str, b: str) -> None:
    pair = labelled(a, b)
    text = dimacs(pair)
    cnf = CNF(from_string=text)
    with Solver(name="cadical153", bootstrap_with=cnf.clauses) as solver:
        assert solver.solve() is not pair.label
        model = set(solver.get_model() or [])
    header = text.split("p cnf ")[1].split("\n")[0]
    assert header == f"{cnf.nv} {len(cnf.clauses)}"
    if not pair.label:  # the variable map turns a model into a countermodel
        named = [line.split() for line in text.splitlines() if line.startswith("c variable ")]
        assignment = {name: int(number) in model for _, _, number, _, name in named}
        assert pair.premise.evaluate(assignment)
        assert not pair.conclusion.evaluate(assignment)


def unfold(symbols: list[int], edges: list[tuple[int, int, int]], root: int) -> str:
    arguments: dict[int, dict[int, int]] = {}
    for child, parent, place in edges:
        arguments.setdefault(parent, {})[place] = child
    texts: list[str] = []
    for node, code in enumerate(symbols):  # arguments come before their operators
        symbol = SYMBOLS[code]
        below = [texts[arguments[node][i]] for i in range(ARITY.get(symbol, 0))]
        texts.append("".join(below) + symbol)
    return texts[root]


@given(a=DATA_FORMULAS, b=DATA_FORMULAS)
def test_a_graph_unfolds_into_its_formulas(a: str, b: str) -> None:
    symbols, edges, root_a, root_b = graph(Pair(a, b, True))
    assert unfold(symbols, edges, root_a) == a
    assert unfold(symbols, edges, root_b) == b
    texts = [unfold(symbols, edges, node) for node in range(len(symbols))]
    assert len(set(texts)) == len(texts)  # equal sub-formulas are one node


def test_files(tmp_path: Path) -> None:
    pairs = [labelled("pq&", "q"), labelled("pq|", "q"), labelled("p~~", "pq>")]
    assert write_jsonl(pairs, tmp_path / "x.jsonl") == 3
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert [row["label"] for row in rows] == [True, False, False]
    lines = [",".join(str(row[k]) for k in ("A", "B", "E", "H1", "H2", "H3")) for row in rows]
    (tmp_path / "x.txt").write_text("\n".join(lines) + "\n")
    assert list(read_pairs(tmp_path / "x.txt")) == pairs
    assert rows[0]["A"] == to_published("pq&")
    assert [rows[1][f"H{i}"] for i in (1, 2, 3)] == [int(h) for h in heuristics("pq|", "q")]
    assert write_dimacs(pairs, tmp_path / "cnf") == 3
    assert sorted(p.name for p in (tmp_path / "cnf").iterdir())[0] == "000001.cnf"
    assert write_dimacs(pairs[:1], tmp_path / "cnf") == 1
    assert [p.name for p in (tmp_path / "cnf").iterdir()] == ["000001.cnf"]
    assert "A does not entail B, so this is satisfiable" in dimacs(Pair("p", "q", True))
    assert write_graphs(pairs, tmp_path / "x.npz") == 3
    with np.load(tmp_path / "x.npz", allow_pickle=False) as stored:
        arrays = dict(stored)
    assert arrays.keys() == graphs(pairs).keys()
    for i, pair in enumerate(pairs):
        first, last = arrays["node_offset"][i : i + 2]
        begin, end = arrays["edge_offset"][i : i + 2]
        edges = [
            (int(child - first), int(parent - first), int(place))
            for child, parent, place in zip(
                *arrays["edge_index"][:, begin:end], arrays["edge_argument"][begin:end], strict=True
            )
        ]
        symbols = arrays["symbol"][first:last].tolist()
        assert unfold(symbols, edges, int(arrays["premise"][i] - first)) == pair.a
        assert unfold(symbols, edges, int(arrays["conclusion"][i] - first)) == pair.b


def test_an_export_deletes_no_files_but_those_of_an_earlier_export(tmp_path: Path) -> None:
    pairs = [labelled("pq&", "q"), labelled("pq|", "q"), labelled("p", "q")]
    write_dimacs(pairs, tmp_path)
    mine = {"2024.cnf": dimacs(pairs[0]), "000002.cnf": "p cnf 1 0\n", "000007.cnf": ""}
    for name, text in mine.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "000008.cnf").mkdir()
    assert write_dimacs(pairs[:1], tmp_path) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"000001.cnf", "000008.cnf", *mine}
    assert all((tmp_path / name).read_text() == text for name, text in mine.items())


def test_no_pairs_at_all() -> None:
    assert graphs([])["edge_index"].shape == (2, 0)
