"""The inner loops of the generator in C (`native.c`), if built.

Otherwise, or with POSSIBLEWORLDS_NATIVE=0, numpy and Python do the same at three times the cost.
"""

import os
from types import ModuleType

try:
    from possibleworlds.data import _native
except ImportError:  # not built
    _native = None  # type: ignore[assignment]

kernel: ModuleType | None = None if os.environ.get("POSSIBLEWORLDS_NATIVE") == "0" else _native
"""The functions in C; None if they are not used."""
