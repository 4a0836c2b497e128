"""Data cards and model cards, which need no package of the Hub."""

from dataclasses import replace
from pathlib import Path

import pytest

from possibleworlds.data.statistics import SplitStatistics
from possibleworlds.integrations.cards import data_card, model_card
from possibleworlds.training.checkpoint import SHIPPED, read_run


def test_the_card_of_a_run_describes_that_run() -> None:
    shipped = read_run(SHIPPED / "mlp-bow")
    assert shipped.metrics is not None
    metrics = replace(shipped.metrics, validation=0.6125)
    card = model_card(replace(shipped, accuracy=None, metrics=metrics))
    assert "pw.load" not in card
    assert "HubNetwork.from_pretrained(FOLDER).network()" in card
    assert "| validation in training | 61.3% |  |" in card
    assert 'pw.load("mlp-bow")' in model_card(shipped)
    assert "validation in training" not in model_card(shipped)


@pytest.mark.parametrize(
    ("rows", "size"),
    [
        (999, "n<1K"),
        (1_000, "1K<n<10K"),
        (100_000, "100K<n<1M"),
        (5_000_000, "1M<n<10M"),
        (50_000_000, "10M<n<100M"),
    ],
)
def test_the_size_of_data_is_that_of_the_hub(rows: int, size: str, tmp_path: Path) -> None:
    card = data_card([tmp_path / "train.txt"], {"train": SplitStatistics(rows, 5, 5, 9, 32)})
    assert f"\nsize_categories:\n- {size}\n" in card
