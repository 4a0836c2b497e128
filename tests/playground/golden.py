"""What Python makes of formulas, pairs and worlds, for JavaScript to make the same of."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import possibleworlds
from possibleworlds.data.exam import ENTAILMENTS
from possibleworlds.data.own import to_letters
from possibleworlds.data.pairs import Pairs
from possibleworlds.logic import Formula, FormulaError, parse, to_text
from possibleworlds.logic.alphabet import ARITY, CONSTANTS
from possibleworlds.logic.formula import variables_of
from possibleworlds.logic.syntax import MEANING, parse_sequent
from possibleworlds.logic.truth import count_models
from possibleworlds.models.base import Options
from possibleworlds.models.guidedworldnet import GuidedWorldNet
from possibleworlds.models.possibleworldnet import PossibleWorldNet, all_worlds
from possibleworlds.playground.page import FALLACIES, samples
from possibleworlds.training.batches import Dataset

STYLES = ("published", "ascii", "unicode", "latex")
NAMES = [*"pqrstuvwxyz", "rain", "wet_2", "x'", "α", "Ж1", "constructor", "toString", "__proto__"]
JUNK = "pq()~&|>-<=!\\ negto{}[]_'10^,;.$\n\t\u00a0\x85\x1c\u202e\0²½Ⅷ٣α字𝒜😀é\"/"
STEPS = (0, 1, 2, 5, 24)


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
    corners += ["\\mathit{true}", "\\mathit{2x}", "\\mathit{1}", "~" * 3000 + "p", "(" * 3000]
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


def network(name: str, rng: random.Random) -> dict[str, Any]:
    """What a network says of pairs in given worlds, before and after steps of its search."""
    model = possibleworlds.load(name).model.eval()
    assert isinstance(model, PossibleWorldNet)
    worlds = np.random.default_rng(0).uniform(-1, 1, (6, model.settings.world_size))
    start = torch.from_numpy(worlds.astype(np.float32))
    drawn = [pair for pairs in samples().values() for pair in rng.sample(pairs, 12)]
    pairs = [
        *drawn,
        ["rain <-> wet", "1 | rain"],
        ["1", "0"],
        ["1", "q"],
        *([a, b] for _, a, b in ENTAILMENTS[:40]),
    ]
    rows = [evaluation(model, start, a, b) for a, b, *_ in pairs]
    return {"worlds": start.flatten().tolist(), "n": len(start), "rows": rows}


@torch.no_grad()
def evaluation(model: PossibleWorldNet, start: torch.Tensor, a: str, b: str) -> dict[str, Any]:
    """Move worlds in float64, in which errors do not add up, and score them in float32."""
    row, names = to_letters(a, b)
    _, batch = next(Dataset(Pairs.of([(*row, False)])).in_order_of_size())
    steps: dict[str, Any] = {}
    for count in STEPS if isinstance(model, GuidedWorldNet) else (0,):
        moved = start.double()[None]
        if isinstance(model, GuidedWorldNet):
            moved = model.double().search(batch, moved, count)
        at = moved.float()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(model.float(), "draw_worlds", lambda *_, at=at, **__: at)
            imagined = model.imagine(batch, Options(steps=0))
        steps[str(count)] = {
            "worlds": moved.flatten().tolist(),
            "z": imagined.z[0].tolist(),
            "log_p": float(all_worlds(imagined.z)[0, 1]),
            "read": model.assignments(imagined.worlds[0]).int().flatten().tolist(),
        }
    letters = {name: letter for letter, name in names.items()}
    return {"a": a, "b": b, "letters": letters, "steps": steps}


def write(path: Path) -> None:
    """Write everything to a file."""
    rng = random.Random(0)
    golden = {
        "meaning": MEANING,
        "readings": [reading(text) for text in texts(rng)],
        "sequents": sequents(rng),
        "truth": truth(rng),
        "networks": {name: network(name, rng) for name in ("possibleworldnet", "guidedworldnet")},
    }
    path.write_text(json.dumps(golden), encoding="utf-8")
