"""Show the examples of docstrings as code in the reference: Markdown would take them for quotes."""

import re

import griffe

EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> )(?!\s*$).*\n?)*)+", re.MULTILINE)


class Doctests(griffe.Extension):
    """Put each example into a fence."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring:
            fenced = EXAMPLE.sub(
                lambda m: f"```python\n{m[0].rstrip()}\n```\n", obj.docstring.value
            )
            obj.docstring.value = fenced
