"""Find networks by the name that users type, or by module and class.

A class in a file of this folder that has a `name` is a network. Name, summary, family, citation and
published figures are read from the source, so that listing the networks does not import torch.
Other packages add networks by entry points of the group `possibleworlds.models`, such as

    [project.entry-points."possibleworlds.models"]
    mynet = "mypackage.mynet:MyNet"
"""

import ast
import importlib
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from possibleworlds.display import html_table
from possibleworlds.errors import UserError, quoted, reason
from possibleworlds.paper import SPLITS, TABLE_2

if TYPE_CHECKING:
    from possibleworlds.models.base import Model

ENTRY_POINTS = "possibleworlds.models"


@dataclass(frozen=True)
class Entry:
    """A network that is registered under a name."""

    name: str
    path: str
    """`module:Class`."""
    summary: str
    family: str
    """Its family in a report, if that has it."""
    citation: str
    published: dict[str, float]
    """Percent right on each published split, in the paper that it comes from."""


def declared(source: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each class of a source file with the constants that its body assigns.

    >>> list(declared('class Net(Model):\\n    name: ClassVar[str] = "net"'))
    [('Net', {'name': 'net'})]
    """
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            constants: dict[str, Any] = {}
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and statement.value:
                    targets: list[ast.expr] = [statement.target]
                elif isinstance(statement, ast.Assign):
                    targets = statement.targets
                else:
                    continue
                assert statement.value is not None
                with suppress(ValueError, TypeError):  # it is not a constant
                    value = ast.literal_eval(statement.value)
                    constants |= {t.id: value for t in targets if isinstance(t, ast.Name)}
            yield node.name, constants


@cache
def entries() -> dict[str, Entry]:
    """Return the networks of this folder and of other packages, in the order of `names`."""
    known: dict[str, Entry] = {}
    for file in Path(__file__).parent.glob("*.py"):
        for cls, constants in declared(file.read_text("utf-8")):
            if "name" in constants:
                path = f"{__package__}.{file.stem}:{cls}"
                known[constants["name"]] = make_entry(constants["name"], path, constants)
    for point in entry_points(group=ENTRY_POINTS):
        if point.name not in known:  # built-in networks cannot be replaced
            known[point.name] = make_entry(point.name, point.value, constants_of(point.value))
    in_paper = list(TABLE_2)
    rank = {name: in_paper.index(name) if name in in_paper else len(in_paper) for name in known}
    return {name: known[name] for name in sorted(known, key=lambda name: (rank[name], name))}


def is_built_in(name: str) -> bool:
    """Whether a name is that of a network of this package."""
    entry = entries().get(name)
    return entry is not None and entry.path.startswith(f"{__package__}.")


def make_entry(name: str, path: str, constants: dict[str, Any]) -> Entry:
    """Make an entry from what a class declares; the figures of Evans et al. are in paper.py."""
    texts = ("summary", "family", "citation")
    summary, family, citation = (str(constants.get(text, "")) for text in texts)
    published: Any = TABLE_2.get(name) or constants.get("published")
    is_valid = isinstance(published, dict) and all(
        isinstance(published.get(split), int | float) for split in SPLITS
    )
    return Entry(name, path, summary, family, citation, published if is_valid else {})


def constants_of(path: str) -> dict[str, Any]:
    """Return the constants that the class `module:Class` declares; empty if it is not found."""
    module, _, cls = path.partition(":")
    try:
        spec = find_spec(module)
        source = Path(spec.origin).read_text("utf-8") if spec and spec.origin else ""
        return dict(declared(source)).get(cls, {})
    except (ImportError, OSError, SyntaxError, ValueError):
        return {}


class ModelTable(list[Entry]):
    """The registered networks."""

    def __repr__(self) -> str:
        return "\n".join(f"{entry.name:20}{entry.summary}" for entry in self)

    def _repr_html_(self) -> str:
        """Show a table in notebooks."""
        columns = ("name", "summary", "citation")
        return html_table([{name: getattr(entry, name) for name in columns} for entry in self])


def names() -> list[str]:
    """Return the names of all networks: those of the paper in its order, then the others."""
    return list(entries())


def summary(name: str) -> str:
    """Return the one-line description of a network."""
    return entries()[name].summary


def resolve(name: str, trust: bool = False) -> "type[Model]":
    """Import the class of a network by its name or, if trusted, by `package.module:Class`.

    Importing a module runs its code. So only registered networks are imported by default; pass
    `trust` if the user has typed the name, never if it was read from a file.
    """
    from possibleworlds.models.base import Model

    path = entries()[name].path if name in entries() else name
    module, colon, attribute = path.partition(":")
    if not colon:
        raise UserError(f"no network called {quoted(name)}; known are {', '.join(names())}")
    if name not in entries():
        if not trust:
            raise UserError(
                f"{quoted(name)} is no network of this package: it would import the module "
                f"{quoted(module)}, which runs its code; --trust (in Python, trust=True) allows it"
            )
        if (folder := str(Path.cwd())) not in sys.path:
            sys.path.append(folder)
    try:
        cls = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise UserError(f"{quoted(name)}: {reason(error)}") from None
    if not (isinstance(cls, type) and issubclass(cls, Model)):
        raise UserError(f"{quoted(name)} is not a subclass of possibleworlds.models.Model")
    if not hasattr(cls, "settings_class"):
        raise UserError(f"{quoted(name)} has no settings_class")
    return cls
