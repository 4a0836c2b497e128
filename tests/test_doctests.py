"""The examples in docstrings run, and give what they say."""

import doctest
import importlib
import pkgutil

import pytest

import possibleworlds

MODULES = [
    module.name
    for module in pkgutil.walk_packages(possibleworlds.__path__, "possibleworlds.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if (error.name or "").startswith("possibleworlds"):
            raise
        pytest.skip(f"needs {error.name}")  # of a package that is not required
    assert doctest.testmod(module).failed == 0
