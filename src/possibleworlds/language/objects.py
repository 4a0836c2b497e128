"""Read a JSON object, or a flat Python dict, in a reply, and what it says besides its answer."""

import json
import re
from functools import lru_cache
from typing import Any

from possibleworlds.language.marks import KEYS

MAX_OBJECTS = 20
"""How many braces are tried as the start of a JSON object."""
PYTHON_DICT = re.compile(r"\A[^{}]*(\{[^{}]*'(?:final_)?answer'\s*:[^{}]*\})\W*\Z")
PYTHON_PAIR = re.compile(
    r"'(\w[\w ]*)'\s*:\s*(?:'([^'{}]*)'|\"([^\"{}]*)\"|(True|False|None)\b)(?=\s*[,}])"
)
VERDICT_KEY = re.compile(
    r"\b(?:valid\w*|follows?|entail\w*|impl(?:y|ies|ied)|holds?|verdict|result|decision)\b"
)
REFUTED_KEY = re.compile(r"\b(?:not|invalid\w*|fails?|refut\w*|counter\w*|exists?)\b")
CASE_KEY = re.compile(r"counter|assign|valuation")
OTHER_KEY = re.compile(r"premis|conclusion")
OF_PREMISE = re.compile(r"premis(?!.*(?:entail|impl|conclusion))")
"""Keys that say whether it follows, that say the opposite, of a case, and of a part of the item."""
TRUTH = {"true": True, "yes": True, "false": False, "no": False}


class ObjectPairs(list[tuple[str, Any]]):
    """The keys and values of a JSON object, including repeated keys."""


def keys_and_values(value: Any) -> str:
    """Write an object as its keys and values; other values as they are."""
    if not isinstance(value, ObjectPairs):
        return str(value)
    texts = (tuple(json.dumps(part, ensure_ascii=False) for part in pair) for pair in value)
    return ", ".join(f"{key}: {of_key}" for key, of_key in texts)


DECODER = json.JSONDecoder(object_pairs_hook=ObjectPairs, strict=False)


@lru_cache(maxsize=2 * MAX_OBJECTS)  # the next position tries almost the same braces
def decode_object(reply: str, start: int) -> tuple[ObjectPairs | None, int]:
    """Decode the JSON object that starts at a brace, and return its end."""
    try:
        value, end = DECODER.raw_decode(reply, start)
    except (ValueError, RecursionError):
        return None, start
    return (value, end) if isinstance(value, ObjectPairs) else (None, start)


def outermost_object(reply: str, place: int) -> tuple[ObjectPairs, int, int] | None:
    """Find the outermost JSON object around a position, with its start and end."""
    start, outermost = place, None
    for _ in range(MAX_OBJECTS):
        if (start := reply.rfind("{", 0, start)) < 0:
            break
        pairs, end = decode_object(reply, start)
        if pairs is not None and end > place:
            outermost = pairs, start, end
    return outermost


def python_dict(reply: str) -> tuple[ObjectPairs, int, int] | None:
    """Find a flat Python dict that ends a reply, with its start and end.

    >>> python_dict("So {'valid': True, 'answer': 'yes'}")
    ([('valid', True), ('answer', 'yes')], 3, 35)
    """
    written = PYTHON_DICT.match(reply)
    if not written:
        return None
    pairs = ObjectPairs(
        (pair[1], pair[2] or pair[3] or {"True": True, "False": False}.get(pair[4]))
        for pair in PYTHON_PAIR.finditer(written[1])
    )
    return pairs, written.start(1), written.end(1)


def said_besides(pairs: ObjectPairs) -> str:
    """Write what an object says besides its answer: verdicts, values, cases, and later texts.

    >>> said_besides(ObjectPairs([("answer", "yes"), ("is_valid", False), ("p", True)]))
    'It does not follow.\\np = true'
    """
    lines, values, is_answered = [], [], False
    for written, value in pairs:
        key = written.lower().replace("_", " ")
        if key in KEYS:
            is_answered = True
            continue
        is_other, refuted = OTHER_KEY.search(key), bool(REFUTED_KEY.search(key))
        is_verdict = (refuted or VERDICT_KEY.search(key)) and not OF_PREMISE.search(key)
        truth = TRUTH.get(str(value).lower())
        if truth is not None and is_verdict:
            lines.append("It follows." if truth is not refuted else "It does not follow.")
        elif isinstance(value, bool):
            values += [] if is_other else [f"{written} = {str(value).lower()}"]
        elif value in ("none", "None", "null", ""):
            continue
        elif isinstance(value, str) and not CASE_KEY.search(key):
            lines += [value] if is_answered or is_verdict else []
        elif isinstance(value, str | ObjectPairs) and (is_answered or CASE_KEY.search(key)):
            lines.append(f"{key}: {keys_and_values(value)}")
    return "\n".join([*lines, *([", ".join(values)] if values else [])])
