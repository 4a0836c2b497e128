"""What Python makes of formulas, pairs and worlds, for JavaScript to make the same of."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import possibleworlds
from possibleworlds.data.exam import ENTAILMENTS
from possibleworlds.data.pairs import Pairs
from possibleworlds.data.user_pairs import to_letters
from possibleworlds.logic import Formula, FormulaError, parse, to_text
from possibleworlds.logic.alphabet import ARITY, CONSTANTS, decode, encode
from possibleworlds.logic.formula import variables_of
from possibleworlds.logic.syntax import MEANING, parse_sequent
from possibleworlds.logic.truth import count_models
from possibleworlds.models.base import Options
from possibleworlds.models.guidedworldnet import GuidedWorldNet
from possibleworlds.models.possibleworldnet import PossibleWorldNet, all_worlds
from possibleworlds.models.tabu import Chains
from possibleworlds.models.trees.balance import balance
from possibleworlds.playground.page import FALLACIES, NETWORKS, samples
from possibleworlds.training.batches import Dataset
from possibleworlds.training.loop import single_thread

STYLES = ("published", "ascii", "unicode", "latex")
NAMES = [*"pqrstuvwxyz", "rain", "wet_2", "x'", "α", "Ж1", "constructor", "toString", "__proto__"]
JUNK = "pq()~&|>-<=!\\ negto{}[]_'10^,;.$\n\t\u00a0\x85\x1c\u202e\0²½Ⅷ٣α字𝒜😀é\"/"
STEPS = (0, 1, 2, 5, 24)
N_SEARCHED, SEARCH_EVALUATIONS = 6, 200
"""So few worlds that some searches need many moves, and evaluations for each variable."""


def random_formula(rng: random.Random, operators: int, names: list[str]) -> Formula:
    """Draw a formula by combining random ones from the bottom up."""
    leaves = [*names, *names, *CONSTANTS]
    stack = [[rng.choice(leaves)] for _ in range(operators + 1)]
    for _ in range(operators):
        operator = rng.choice(list(ARITY))
        one = stack.pop(rng.randrange(len(stack)))
        if ARITY[operator] == 1 or not stack:
            stack.append([*one, "~"])
        else:
            stack.append([*stack.pop(rng.randrange(len(stack))), *one, operator])
    return Formula(tuple(stack[-1]))


def texts(rng: random.Random) -> list[str]:
    """Formulas in every style, the same with a character changed, words, and nonsense."""
    valid = []
    for _ in range(800):
        formula = random_formula(rng, rng.randrange(12), rng.sample(NAMES, rng.randint(1, 5)))
        valid += [to_text(formula, style) for style in STYLES]  # type: ignore[arg-type]
    spaced = [" ".join(rng.choices([*MEANING, *NAMES], k=rng.randint(1, 9))) for _ in range(1500)]
    joined = ["".join(rng.choices([*MEANING, *NAMES], k=rng.randint(1, 6))) for _ in range(500)]
    changed = []
    for text in rng.sample(valid, 1500):
        place = rng.randrange(len(text))
        changed.append(text[:place] + rng.choice(["", rng.choice(JUNK)]) + text[place + 1 :])
    nonsense = ["".join(rng.choices(JUNK, k=rng.randint(0, 12))) for _ in range(1500)]
    corners = ["", " ", "p" * 9000 + " q", "9" * 9000, "x" * 500 + " & & " + "y" * 500]
    corners += ["$p \\to q$", "\\(p \\to q\\)", "$$p$$", "\\[p & [q]\\]", "\\(p)", "$"]
    corners += [
        "\\mathit{true}",
        "\\mathit{2x}",
        "\\mathit{1}",
        "\\text{wet}_{1}",
        "p_{1}'",
        "1_{2}",
        "p |= q",
        "p ∴ q",
        "=",
        "~" * 3000 + "p",
        "(" * 3000,
    ]
    return [*valid, *spaced, *joined, *changed, *nonsense, *corners]


def reading(text: str) -> dict[str, Any]:
    """What reading a text gives: a formula in every style, or an error and its place."""
    try:
        formula = parse(text)
    except FormulaError as error:
        return {"text": text, "message": str(error), "place": error.place}
    styles = {style: to_text(formula, style) for style in STYLES}  # type: ignore[arg-type]
    return {"text": text, "rpn": list(formula.rpn), "styles": styles}


def sequents(rng: random.Random) -> list[dict[str, Any]]:
    """Arguments in one line, with every turnstile, and their premises and conclusion."""
    rows = []
    for turnstile in ("|=", "|/=", "⊨", "⊭", "⊢", "∴", "|-", r"\models", r"\not\models", r"\vdash"):
        for _ in range(20):
            style = rng.choice(STYLES)
            formulas = [random_formula(rng, rng.randrange(5), [*"pqr"]) for _ in range(4)]
            texts = [to_text(f, style) for f in formulas[rng.randrange(4) :]]  # type: ignore[arg-type]
            text = rng.choice([", ", ";", r"\; ,"]).join(texts[:-1]) + f" {turnstile} {texts[-1]}"
            premises, conclusion = parse_sequent(text)
            rows.append({"text": text, "rpns": [list(f.rpn) for f in [*premises, conclusion]]})
    return rows


def truth(rng: random.Random) -> list[dict[str, Any]]:
    """Pairs with their first countermodel and the number of models of the premise."""
    pairs = [(a, b) for _, a, b in [*ENTAILMENTS, *FALLACIES]]
    for _ in range(1000):
        names = rng.sample(NAMES, rng.randint(1, 8))
        a, b = (random_formula(rng, rng.randrange(16), names) for _ in range(2))
        pairs.append((to_text(a), to_text(b)))
    rows = []
    for a, b in pairs:
        countermodel = possibleworlds.countermodel(a, b)
        extra = set(variables_of(parse(a).rpn, parse(b).rpn)) - set(parse(a).variables)
        models = count_models(a) << len(extra)
        rows.append({"a": a, "b": b, "countermodel": countermodel, "models": models})
    return rows


def balanced(rng: random.Random) -> list[dict[str, str]]:
    """Formulas with runs of one operator, and the same as balanced trees."""
    rows = []
    for _ in range(500):
        formula = random_formula(rng, rng.randrange(40), [*"abcd"])
        # Mostly one operator, and no constants, so that there are long runs.
        likely = {"=": rng.choice("&>"), ">": rng.choice("&|>"), "~": rng.choice(["~", ""])}
        likely |= {"1": "e", "0": "f"} | ({"&": ">", "|": ">"} if rng.random() < 0.3 else {})
        rpn = "".join(likely.get(symbol, symbol) for symbol in formula.rpn)
        other, restored = (decode(np.uint8(balance(encode(rpn), flag))) for flag in (False, True))
        rows.append({"rpn": rpn, "balanced": other, "restored": restored})
    return rows


def letters_of(pairs: list[list[str]]) -> tuple[Dataset, list[dict[str, str]]]:
    """Pairs as data, and the letter of each variable."""
    rows = [to_letters(a, b) for a, b, *_ in pairs]
    letters = [{name: letter for letter, name in names.items()} for _, names in rows]
    return Dataset(Pairs.of([(*row, False) for row, _ in rows])), letters


@torch.no_grad()
def network(name: str, rng: random.Random) -> dict[str, Any]:
    """What a network says of pairs in given worlds, before and after steps down the gradient.

    Worlds move in float64, in which errors do not add up, and are scored in float32.
    """
    model = possibleworlds.load(name).model.eval()
    assert isinstance(model, PossibleWorldNet)
    worlds = np.random.default_rng(0).uniform(-1, 1, (6, model.settings.world_size))
    start = torch.from_numpy(worlds.astype(np.float32))
    drawn = [pair for pairs in samples().values() for pair in rng.sample(pairs, 8)]
    constants = [["rain <-> wet", "1 | rain"], ["1", "0"], ["1", "q"]]
    pairs = [*drawn, *constants, *([a, b] for _, a, b in ENTAILMENTS[:40])]
    data, letters = letters_of(pairs)
    rows: list[dict[str, Any]] = [
        {"a": a, "b": b, "letters": names, "steps": {}}
        for (a, b, *_), names in zip(pairs, letters, strict=True)
    ]
    for numbers, batch in data.in_order_of_size():
        moved, done = start.double().expand(len(numbers), -1, -1), 0
        for count in STEPS if isinstance(model, GuidedWorldNet) else (0,):
            if isinstance(model, GuidedWorldNet):
                moved = model.double().search(batch, moved, count - done)
                rounded = model.float().round_worlds(moved.float())
                z = model.evaluate(batch, rounded)
            else:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(model, "draw_worlds", lambda *_, **__: start[None])
                    imagined = model.imagine(batch)
                rounded, z = imagined.worlds.expand(len(numbers), -1, -1), imagined.z
            log_p, read, done = all_worlds(z)[:, 1], model.assignments(rounded), count
            for i, row in enumerate(numbers):
                rows[row]["steps"][str(count)] = {
                    "worlds": moved[i].flatten().tolist(),
                    "z": z[i].tolist(),
                    "log_p": float(log_p[i]),
                    "read": read[i].int().flatten().tolist(),
                }
    return {"worlds": start.flatten().tolist(), "n": len(start), "rows": rows}


@torch.no_grad()
def searched(rng: random.Random) -> dict[str, Any]:
    """Where the default search of guidedworldnet arrives from given worlds, and when it ends."""
    torch.manual_seed(0)
    model = possibleworlds.load("guidedworldnet").model.eval().double()
    assert isinstance(model, GuidedWorldNet)
    model.settings = replace(model.settings, search_evaluations=SEARCH_EVALUATIONS)
    pairs = [pair for pairs in samples().values() for pair in rng.sample(pairs, 4)]
    pairs += [["1", "0"], ["rain <-> wet", "1 | rain"]]
    for missing in (0, 1):  # arguments by 17 cases, where some worlds are judged again
        *v, last = "abcdefghijklmnopqr"
        cases = [" | ".join(v), *(f"({x} -> {last})" for x in v[missing:])]
        pairs.append([" & ".join(f"({case})" for case in cases), last])
    drawn = np.random.default_rng(1).random((N_SEARCHED, model.settings.world_size))
    worlds = 2 * torch.from_numpy(drawn) - 1
    data, rows = letters_of(pairs)[0], []
    for i, (a, b, *_) in enumerate(pairs):
        turns: list[dict[int, list[float]]] = []  # what each draws, by the number of dimensions

        def draw(chains: Chains, *shape: int, kept: list[Any] = turns) -> Tensor:
            uniform = torch.rand(shape, generator=chains.random).double()
            m, k = chains.worlds.shape[1:]
            if len(kept) < chains.turns:
                kept.append({1: [0.5] * m, 2: [0.5] * m * k, 3: []})
            kept[-1][len(shape) or 2] = uniform.flatten().tolist()
            return uniform

        ((_, batch),) = data.in_order_of_size(np.array([i]))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(model, "draw_worlds", lambda *_, **__: worlds[None])
            patch.setattr(Chains, "draw", draw)
            imagined = model.imagine(batch, Options(worlds=N_SEARCHED))
        assert imagined.evaluations is not None
        rows.append(
            {
                "a": a,
                "b": b,
                "numbers": [[*turn[1], *turn[2], *turn[3]] for turn in turns],
                "evaluations": int(imagined.evaluations[0]),
                "world": imagined.worlds[0, imagined.z[0].argmin()].tolist(),
                "z": float(imagined.z.amin()),
                "p": float(imagined.log_probs[0, 1].exp()),
            }
        )
    return {
        "drawn": drawn.flatten().tolist(),
        "search_evaluations": SEARCH_EVALUATIONS,
        "rows": rows,
    }


def write(path: Path) -> None:
    """Write everything to a file."""
    rng = random.Random(0)
    golden: dict[str, Any] = {
        "meaning": MEANING,
        "readings": [reading(text) for text in texts(rng)],
        "sequents": sequents(rng),
        "truth": truth(rng),
        "balanced": balanced(rng),
    }
    with single_thread():
        golden["networks"] = {name: network(name, rng) for name in NETWORKS}
        golden["searched"] = searched(rng)
    path.write_text(json.dumps(golden), encoding="utf-8")
