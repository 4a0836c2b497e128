"""Write the cards of the pretrained networks and of the data into docs/cards/.

    python benchmarks/cards.py

The card of the data describes `possibleworlds generate DATA --preset small`, which this generates.
"""

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


def body(card: str) -> str:
    """A card without the settings at its top, which are for the Hub."""
    return card.split("---\n", 2)[2]


def cards() -> dict[str, str]:
    """Every card by the name of its file."""
    pretrained = [name for name in names() if (SHIPPED / name).is_dir()]
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
