"""Errors that a user can cause: a clear line and exit code 2, never a traceback."""

SHOWN = 60
"""How many characters of user input an error repeats."""


class UserError(Exception):
    """Invalid user input; the message says what is wrong and where."""


class BusyError(UserError):
    """Another process is using a resource; a later attempt may succeed."""


class StorageError(UserError):
    """A file or folder cannot be read or written, for instance because the disk is full."""


class EngineError(UserError):
    """This host lacks the engine that a run was started with; another host may have it."""


class UndecidedError(UserError):
    """The time for an exact answer ran out; the command line exits with code 3."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"undecided after {seconds:g} s")


def install_command(extra: str) -> str:
    """Return the command that installs an extra of the package.

    It is the same for a clone and a release: pip finds that the package is installed, and only adds
    the dependencies of the extra.
    """
    return f"pip install 'possibleworlds[{extra}]'"


def missing_package(name: str | None, extra: str) -> UserError:
    """Make the error for a missing package that an extra installs."""
    return UserError(f"{name} is missing: {install_command(extra)}")


def printable(text: str) -> str:
    """Replace control characters, which could move the cursor."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in text)


def shortened(text: str, limit: int = SHOWN) -> str:
    """Shorten a text for an error message, and replace control characters."""
    return printable(text[:limit]) + ("..." if len(text) > limit else "")


def quoted(value: object) -> str:
    """Quote user input in an error message: its repr, shortened."""
    return shortened(repr(value[: SHOWN + 1] if isinstance(value, str) else value))


def reason(error: BaseException) -> str:
    """Return the first line of the message of another library's error."""
    return shortened(str(error).partition("\n")[0] or type(error).__name__, 5 * SHOWN)


def named(error: BaseException) -> str:
    """Return the same with the class of the error, unless it is a UserError."""
    kind, first = type(error).__name__, reason(error)
    return first if isinstance(error, UserError) or first == kind else f"{kind}: {first}"
