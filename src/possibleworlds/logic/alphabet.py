"""The symbols of formulas: operators, constants, and the 30 symbols of the data with their codes.

A formula of the data is text in reverse Polish notation, one character per symbol, or an array of
codes:

>>> encode("pq&").tolist()
[19, 20, 1]
>>> decode(encode("pq&"))
'pq&'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # parsing and deciding formulas does not load numpy
    import numpy as np
    from numpy.typing import NDArray

NOT, AND, OR, IMPLIES, IFF = "~", "&", "|", ">", "="
TRUE, FALSE = "1", "0"
ARITY = {NOT: 1, AND: 2, OR: 2, IMPLIES: 2, IFF: 2}
CONSTANTS = (TRUE, FALSE)

OPERATORS = (NOT, AND, OR, IMPLIES)
"""The operators of the paper, the only ones of the data and the networks."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
"""The variables of the data."""
SYMBOLS = (*OPERATORS, *LETTERS)
CODES = {symbol: code for code, symbol in enumerate(SYMBOLS)}
N_OPERATORS, N_VARIABLES = len(OPERATORS), len(LETTERS)

_TO_CODES = bytes(CODES.get(chr(byte), 255) for byte in range(256))
_TO_TEXT = "".join(SYMBOLS).encode().ljust(256, b"?")


def encode(rpn: str) -> NDArray[np.uint8]:
    """Convert a formula of the data from text to codes."""
    import numpy as np

    return np.frombuffer(rpn.encode().translate(_TO_CODES), np.uint8)


def decode(codes: NDArray[np.uint8]) -> str:
    """Convert a formula of the data from codes to text."""
    return codes.tobytes().translate(_TO_TEXT).decode()
