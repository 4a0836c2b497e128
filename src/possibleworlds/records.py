"""Check JSON values against declared types, so that a damaged file causes one clear error.

Every file that the package writes is described by a dataclass. `from_json` builds it from the
output of `json.loads`, or raises UserError with the place and the expected type.
"""

import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from possibleworlds.errors import UserError, quoted, shortened

T = TypeVar("T")


@dataclass(frozen=True)
class Range:
    """The range of a number in a file: `Annotated[int, Range(0, 9)]`."""

    low: float = -sys.float_info.max
    high: float = sys.float_info.max


def is_number(value: Any) -> bool:
    """Whether a JSON value is a finite number that fits a float."""
    is_numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return is_numeric and abs(value) <= sys.float_info.max


SCALARS: dict[Any, tuple[Callable[[Any], bool], str]] = {
    bool: (lambda value: isinstance(value, bool), "true or false"),
    int: (lambda value: is_number(value) and isinstance(value, int), "a whole number"),
    float: (is_number, "a number"),
    str: (lambda value: isinstance(value, str), "a text"),
}


def from_json(value: Any, kind: type[T], where: str) -> T:
    """Build a value of a declared type; raise UserError with the place if it does not fit.

    Types are numbers, texts, lists, tuples, dicts, `Literal`, `X | None`,
    `Annotated[X, Range(...)]`, dataclasses of these, and Any. Keys that a dataclass does not have
    are ignored, so that a later version may add some.

    >>> from_json([1, 2.5], tuple[int, float], "x.json")
    (1, 2.5)
    >>> from_json({"a": "1"}, dict[str, int], "x.json")
    Traceback (most recent call last):
    possibleworlds.errors.UserError: x.json: a must be a whole number, not '1'
    """
    built: T = _build(value, kind, where, "")
    return built


def check_argument(name: str, value: Any, kind: Any) -> None:
    """Raise UserError if an argument of a function is not of its declared type.

    >>> check_argument("seed", "a", int)
    Traceback (most recent call last):
    possibleworlds.errors.UserError: seed must be a whole number, not 'a'
    """
    value = as_python(value)
    from_json(list(value) if isinstance(value, tuple) else value, kind, name)


def as_python(value: Any) -> Any:
    """Convert numbers and arrays of numpy, also within a tuple or list, to those of Python.

    >>> import numpy as np
    >>> as_python(np.int64(8)), as_python((np.int8(1), 10)), as_python(np.array([1, 10]))
    (8, (1, 10), [1, 10])
    """
    if isinstance(value, tuple | list):
        return type(value)(map(as_python, value))
    is_numpy = hasattr(value, "tolist") and not isinstance(value, type)
    return value.tolist() if is_numpy else value


def _build(value: Any, kind: Any, where: str, place: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if kind in SCALARS:
        is_right, expected = SCALARS[kind]
        return value if is_right(value) else refuse(where, place, expected, value)
    if is_dataclass(kind):
        return _build_record(value, kind, where, place)
    if origin is Annotated:
        built, limits = _build(value, arguments[0], where, place), arguments[1]
        if built is not None and not limits.low <= built <= limits.high:
            is_open = limits.high == sys.float_info.max
            limit = (
                f"at least {limits.low:g}" if is_open else f"from {limits.low:g} to {limits.high:g}"
            )
            refuse(where, place, limit, value)
        return built
    if origin in (Union, UnionType):
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        return None if value is None else _build(value, inner, where, place)
    if origin is Literal:
        if not any(value == option and type(value) is type(option) for option in arguments):
            refuse(where, place, " or ".join(map(repr, arguments)), value)
        return value
    if origin is dict:
        if not isinstance(value, dict):
            refuse(where, place, "an object", value)
        return {k: _build(v, arguments[1], where, inside(place, k)) for k, v in value.items()}
    if not isinstance(value, list):
        refuse(where, place, "a list", value)
    if origin is list or arguments[-1] is ...:
        arguments = arguments[:1] * len(value)
    if len(value) != len(arguments):
        refuse(where, place, f"a list of {len(arguments)}", value)
    items = zip(value, arguments, strict=True)
    return origin(_build(v, k, where, inside(place, i)) for i, (v, k) in enumerate(items))


def _build_record(value: Any, kind: Any, where: str, place: str) -> Any:
    if not isinstance(value, dict):
        refuse(where, place, "an object", value)
    hints = get_type_hints(kind, include_extras=True)
    values = {}
    for field in fields(kind):
        if field.name in value:
            inner = inside(place, field.name)
            values[field.name] = _build(value[field.name], hints[field.name], where, inner)
        elif field.default is MISSING and field.default_factory is MISSING:
            of = f" of {place}" if place else ""
            raise UserError(f"{where} lacks {field.name}{of}")
    try:
        return kind(**values)
    except UserError as error:  # of a __post_init__ that checks more than types
        raise UserError(f"{where}: {error}") from None


def inside(place: str, key: object) -> str:
    """Name a place within another one."""
    return f"{place}.{shortened(str(key))}".lstrip(".")


def refuse(where: str, place: str, expected: str, value: Any) -> Any:
    """Raise UserError for a value that is not as expected."""
    subject = f"{where}: {place}" if place else where
    raise UserError(f"{subject} must be {expected}, not {quoted(value)}")
