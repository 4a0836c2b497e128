"""Entailment in lm-evaluation-harness, with the real harness and models that know the answer."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

lm_eval = pytest.importorskip("lm_eval", reason="lm-eval is not installed")

from lm_eval.api.model import LM  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402

import possibleworlds.integrations as integrations  # noqa: E402
from possibleworlds.errors import UserError  # noqa: E402

FOLDER = Path(integrations.__file__).parent / "lm_eval"


class Oracle(LM):
    """A model that replies with the answer of the document, or with its opposite."""

    def __init__(self, right: bool) -> None:
        super().__init__()
        self.right = right

    def loglikelihood(self, requests: Any, **_: Any) -> list[tuple[float, bool]]:
        return [
            (0.0 if (r.args[1].strip() == r.doc["answer"]) is self.right else -9.0, True)
            for r in requests
        ]

    def loglikelihood_rolling(self, requests: Any, **_: Any) -> list[float]:
        raise AssertionError(f"{len(requests)} requests that no task makes")

    def generate_until(self, requests: Any, **_: Any) -> list[str]:
        return [f"So.\nAnswer: {r.doc['answer']}" if self.right else "dunno" for r in requests]


def results(model: LM, names: list[str], **metadata: Any) -> dict[str, dict[str, float]]:
    manager = TaskManager(include_path=str(FOLDER), include_defaults=False, metadata=metadata)
    evaluated = lm_eval.simple_evaluate(
        model=model, tasks=names, task_manager=manager, limit=16, bootstrap_iters=0
    )
    assert evaluated
    return dict(evaluated["results"])


def test_every_task_loads_and_knows_right_from_wrong() -> None:
    names = [f.stem for f in FOLDER.glob("entailment_*.yaml")]
    assert len(names) > 15
    small = [name for name in names if not re.search("giant|massive|big|sat", name)]
    for right in (True, False):
        for name, values in results(Oracle(right), small).items():
            assert values["acc,none"] == float(right), name
            assert values["all_four,none"] == float(right), name


def test_groups_and_metadata() -> None:
    by_task = results(Oracle(True), ["entailment_refute"], seed=5, style="words", size=12)
    assert by_task["entailment_refute"]["acc,none"] == 1.0
    assert {"entailment_refute_easy", "entailment_refute_exam"} <= by_task.keys()


def test_settings_reach_the_documents() -> None:
    from possibleworlds.integrations.lm_eval import utils

    defaults = {"kind": "refute", "source": "easy", "size": 400}
    data = utils.dataset(defaults, size=4, style="words", vocabulary="everyday", version=1.0)
    assert len(data["test"]) == 4
    assert json.loads(data["test"][0]["item"])["style"] == "words"
    assert utils.all_four([(0, 1.0), (0, 0.0), (1, 1.0)]) == 0.5
    for bad in ({"style": "runes"}, {"size": 0}, {"source": "moon"}, {"kind": "refute"}):
        with pytest.raises(UserError):
            utils.dataset(defaults, **bad)
