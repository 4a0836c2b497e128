"""Write the cards of the pretrained networks and of the data into docs/cards/.

    python benchmarks/cards.py

The card of the data describes `possibleworlds generate DATA --preset small`, which this generates.
Also writes how much the networks' accuracies on our sets and on the published ones differ, into
docs/data.md.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from possibleworlds.data.files import data_files, read_pairs
from possibleworlds.data.splits import PRESETS, generate_folder
from possibleworlds.data.statistics import split_statistics
from possibleworlds.integrations.cards import data_card, model_card
from possibleworlds.models.registry import names, summary
from possibleworlds.storage import write_text
from possibleworlds.training.checkpoint import SHIPPED, read_run

CARDS = Path(__file__).parent.parent / "docs" / "cards"
ALIKE = ("validate", "test_easy", "test_hard", "test_massive")
"""Splits that follow the published files."""
GOAL = 1.5
"""How many points the accuracy of a network should differ at most, on ours and on theirs."""


def body(card: str) -> str:
    """A card without the settings at its top, which are for the Hub."""
    return card.split("---\n", 2)[2]


def pretrained_names() -> list[str]:
    """The networks that ship."""
    return [name for name in names() if (SHIPPED / name).is_dir()]


def differences(splits: Sequence[str]) -> dict[tuple[str, str], float]:
    """How far, in points, the accuracy of each network is on our splits from the published ones."""
    distances = {}
    for name in pretrained_names():
        accuracy = read_run(SHIPPED / name).accuracy or {}
        for split in splits:
            points = 100 * (accuracy["generated"][split] - accuracy["published"][split])
            distances[name, split] = round(abs(points), 2)
    return distances


def comparison() -> str:
    """Compare accuracies on our sets with those on the published ones, in some sentences."""
    alike, big = differences(ALIKE), differences(["test_big"])
    network, split = max(alike, key=alike.__getitem__)
    over = sum(points > GOAL for points in alike.values())
    return (
        f"On our {', '.join(ALIKE[:-1])} and {ALIKE[-1]}, the {len(pretrained_names())} pretrained "
        "networks are about as\naccurate as on the published ones: the difference is "
        f"{sum(alike.values()) / len(alike):.1f} points on average, and above the goal of\n"
        f"{GOAL} points in {over} of {len(alike)} cases ({alike[network, split]:.1f} at most, "
        f"for {network} on {split}). On\ntest_big, where we follow Table 1, it is up to "
        f"{max(big.values()):.1f} points."
    )


def cards() -> dict[str, str]:
    """Every card by the name of its file."""
    pretrained = pretrained_names()
    listed = "\n".join(f"- [{name}]({name}.md): {summary(name)}" for name in pretrained)
    made = {f"{name}.md": body(model_card(read_run(SHIPPED / name))) for name in pretrained}
    made["index.md"] = f"# Pretrained networks\n\n{listed}\n"
    with TemporaryDirectory() as folder:
        generate_folder(Path(folder), PRESETS["small"], 0)
        files = data_files([Path(folder)])
        statistics = {file.stem: split_statistics(read_pairs(file)) for file in files}
        made["data.md"] = body(data_card(files, statistics))
    return made


if __name__ == "__main__":
    CARDS.mkdir(exist_ok=True)
    for name, text in cards().items():
        write_text(CARDS / name, text)
    from pages import replace_part  # beside this file, where it is run as a program

    replace_part("data.md", "networks", comparison())
