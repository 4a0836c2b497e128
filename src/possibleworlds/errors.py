"""The one kind of error a user can cause: a clear line, exit code 2, never a traceback."""


class UserError(Exception):
    """Something the user gave cannot be used; the message says what and where."""
