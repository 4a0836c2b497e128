"""The one kind of error a user can cause: a clear line, exit code 2, never a traceback."""

SHOWN = 60
"""How many characters of what a user gave an error repeats."""


class UserError(Exception):
    """Something the user gave cannot be used; the message says what and where."""


class BusyError(UserError):
    """Another process is at work there, and may be done later."""


class StorageError(UserError):
    """A file cannot be written, say because the disk is full: no fault of what was to be in it."""


class UndecidedError(UserError):
    """The time for an exact answer ran out; the command line exits with code 3."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"undecided after {seconds:g} s")


def install_command(extra: str) -> str:
    """The command that adds an extra to the package.

    It is the same for a clone and a release: pip finds that the package is installed, and only adds
    what its metadata names for the extra.
    """
    return f"pip install 'possibleworlds[{extra}]'"


def missing_package(name: str | None, extra: str) -> UserError:
    """The error where a package is not installed that an extra brings."""
    return UserError(f"{name} is missing: {install_command(extra)}")


def printable(text: str) -> str:
    """A text with nothing that would move the cursor."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in text)


def shortened(text: str, most: int = SHOWN) -> str:
    """A text for an error: the beginning of it, with nothing that would move the cursor."""
    return printable(text[:most]) + ("..." if len(text) > most else "")


def quoted(value: object) -> str:
    """A value that a user gave, for an error: as Python would write it, and not all of it."""
    return shortened(repr(value[: SHOWN + 1] if isinstance(value, str) else value))


def reason(error: BaseException) -> str:
    """What another library says of an error: its first line."""
    return shortened(str(error).partition("\n")[0] or type(error).__name__, 5 * SHOWN)


def named(error: BaseException) -> str:
    """The same with the kind of the error, if the user is not to blame for it."""
    kind, first = type(error).__name__, reason(error)
    return first if isinstance(error, UserError) or first == kind else f"{kind}: {first}"
