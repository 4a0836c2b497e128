"""What every network declares, and how networks are discovered."""

import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from possibleworlds.errors import UserError
from possibleworlds.models import Model, Options, names, resolve
from possibleworlds.models.registry import entries, summary
from possibleworlds.paper import SPLITS, TABLE_2
from possibleworlds.report.figures import OTHERS, family_of
from possibleworlds.training.settings import RunSettings


def test_networks_of_the_paper_come_first_and_in_its_order() -> None:
    assert names()[: len(TABLE_2)] == list(TABLE_2)
    assert names()[len(TABLE_2) :] == sorted(set(names()) - set(TABLE_2))
    assert "guidedworldnet" in names()


@pytest.mark.parametrize("name", names())
def test_what_a_network_declares(name: str) -> None:
    cls = resolve(name)
    assert cls.__module__.startswith("possibleworlds.models.")
    assert (cls.name, cls.summary, cls.family, cls.citation) == (
        name,
        summary(name),
        entries()[name].family,
        entries()[name].citation,
    )
    assert family_of(name) == cls.family != OTHERS
    assert 10 < len(cls.summary) < 60
    assert any(character.isdigit() for character in cls.citation)
    assert cls.__doc__
    assert cls.__doc__ != Model.__doc__
    assert is_dataclass(cls.settings_class)
    assert cls.settings_class.__dataclass_params__.frozen
    assert cls.settings_class()  # every field has a default
    assert cls.may_be_zero <= {field.name for field in fields(cls.settings_class)}
    assert cls.search_share >= 0
    assert set(cls.published) <= set(SPLITS)
    assert not (cls.published and name in TABLE_2)
    assert entries()[name].published == TABLE_2.get(name, cls.published)
    assert RunSettings.read(cls, {}).training


def test_options_that_a_network_lacks_are_refused() -> None:
    for options, supporting in (
        (Options(worlds=3), {"possibleworldnet", "guidedworldnet"}),
        (Options(steps=3), {"guidedworldnet"}),
    ):
        for name in names():
            if name in supporting:
                resolve(name).validate_options(options)
            else:
                with pytest.raises(UserError, match="is for networks with"):
                    resolve(name).validate_options(options)
    for options in (Options(worlds=0), Options(steps=-1), Options(worlds=10**13)):
        with pytest.raises(UserError, match="must be from"):
            resolve("guidedworldnet").validate_options(options)


def run(code: str, folder: Path) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_listing_imports_no_torch(tmp_path: Path) -> None:
    code = """
import sys
from possibleworlds.models import names
from possibleworlds.models.registry import summary
assert all(summary(name) for name in names())
assert "torch" not in sys.modules
"""
    run(code, tmp_path)


OTHER = """
from dataclasses import dataclass
import torch
from possibleworlds.models import Classifier, Model

@dataclass(frozen=True)
class Settings:
    size: int = 4

class Other(Model):
    name = "othernet"
    summary = "a network of another package"
    settings_class = Settings

    def __init__(self, settings):
        super().__init__(settings)
        self.classifier = Classifier(30, settings.size, 2)
        self.rate = torch.tensor(0.5).item()  # impossible on the device "meta"

    def forward(self, batch):
        x = batch.symbol_frequencies
        return self.classifier(x[batch.left], x[batch.right])
"""


def test_another_package_adds_its_network_by_an_entry_point(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(OTHER)
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[possibleworlds.models]\nothernet = other:Other\nlstm = other:Other\n"
        "broken = no.such.module:Net\n"
    )
    code = """
import sys
sys.path.insert(0, "")
from possibleworlds.models.registry import entries, names, resolve, summary
assert {"othernet", "broken"} <= set(names())
assert summary("othernet") == "a network of another package"
assert "torch" not in sys.modules
assert resolve("othernet").__module__ == "other"
assert resolve("lstm").__module__ == "possibleworlds.models.lstm"
try:
    resolve("broken")
except Exception as error:
    print(type(error).__name__, error)
import possibleworlds as pw
pairs = pw.generate(rows=80, variables=(1, 3), operators=(1, 3), seed=0)
pw.train("othernet", pairs, epochs=1, out="run")
assert pw.load("run").model.rate == 0.5
"""
    assert run(code, tmp_path).startswith("UserError 'broken': No module named 'no'")
