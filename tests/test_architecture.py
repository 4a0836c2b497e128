"""The plan of the package: which folder may import which, and what must not be imported at all."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import possibleworlds

ROOT = Path(possibleworlds.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
LAYERS = (
    ("errors", "display", "records", "storage", "parallel", "paper"),
    ("logic",),
    ("data",),
    ("language",),
    ("models",),
    ("training",),
    ("experiments",),
    ("report",),
    ("integrations", "playground"),
    ("cli", "__main__"),
)
"""A module imports from its own layer and those before it; `__init__` is above all but the last
two, which are its users."""
HEAVY = {"torch", "safetensors", "matplotlib", "ray"}


REPOSITORY = Path(__file__).parent.parent
SHARED = {
    *("entails", "evaluate", "export", "generate", "load", "score", "tasks", "train", "verify"),
    *("scores", "world_gradients"),
    *("all_four", "app", "T", "R"),
}
"""Top-level names that mean the same wherever they are defined: functions of the public API and
the commands that call them, what both engines compute, and what a tool finds by its name."""
VAGUE = {"found", "given", "asked", "wanted", "seen"}
"""Names that tell how a value came about instead of what it is."""


def name_of(path: Path) -> str:
    """The dotted name of a module, without the package's own: `logic.syntax`, `cli`, and `` for
    the package itself."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in MODULES}


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported anywhere in a file, lazily and for types included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                known = inner.removeprefix("possibleworlds.") in NAMES
                yield inner if known else node.module


def layer(name: str) -> int:
    first = name.split(".")[0]
    if not first:
        return len(LAYERS) - 3
    return next(number for number, folders in enumerate(LAYERS) if first in folders)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: name_of(path) or "__init__")
def test_imports_go_one_way(path: Path) -> None:
    name = name_of(path)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for imported in imports(tree):
        package, _, target = imported.partition(".")
        if package == "possibleworlds" and target:
            assert layer(target) <= layer(name), f"{name or '__init__'} imports {target}"
        elif package == "possibleworlds" and layer(name) < layer(""):
            assert uses_only_the_version(tree), f"{name} imports the public API"


def uses_only_the_version(tree: ast.AST) -> bool:
    """Whether `possibleworlds.__version__` is all that a module uses of the public API."""
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "possibleworlds"
    }
    named = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "possibleworlds"
        for alias in node.names
    }
    return used | named <= {"__version__"}


@pytest.mark.parametrize("folder", ["logic", "data"])
def test_logic_and_data_never_import_torch(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {imported.split(".")[0] for imported in imports(tree)}
        assert not used & (HEAVY - {"matplotlib"}), path


def test_no_two_modules_import_each_other() -> None:
    graph = {}
    for path in MODULES:
        body = ast.parse(path.read_text(encoding="utf-8")).body
        top = ast.Module([n for n in body if isinstance(n, (ast.Import, ast.ImportFrom))], [])
        targets = {i.removeprefix("possibleworlds.") for i in imports(top)} & NAMES
        graph[name_of(path)] = targets
    remaining = dict(graph)
    while ready := [name for name, needs in remaining.items() if not needs & remaining.keys()]:
        for name in ready:
            del remaining[name]
    assert not remaining, f"a cycle among {sorted(remaining)}"


def assigned_names(tree: ast.AST) -> Iterator[str]:
    """The name of every variable, parameter, function and class that a module defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "examples"])
def test_names_say_what_a_value_is(folder: str) -> None:
    for path in (REPOSITORY / folder).rglob("*.py"):
        names = {name.lower() for name in assigned_names(ast.parse(path.read_text("utf-8")))}
        assert not names & VAGUE, path


def top_level_names(tree: ast.Module) -> Iterator[str]:
    """The public names that a module itself defines at its top level."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for inner in (node for target in targets for node in ast.walk(target)):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id


def test_a_name_means_one_thing() -> None:
    modules: dict[str, set[str]] = {}
    for path in MODULES:
        for name in top_level_names(ast.parse(path.read_text("utf-8"))):
            modules.setdefault(name, set()).add(name_of(path))
    several = {
        name: places
        for name, places in modules.items()
        if len(places) > 1 and not name.startswith("_") and name not in SHARED
    }
    assert not several
