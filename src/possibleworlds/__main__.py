"""The command `possibleworlds`, also as `python -m possibleworlds`."""

import os
import sys


def run_command() -> None:
    """Run the command; Ctrl-C during imports exits without a traceback."""
    open_missing_streams()
    try:
        from possibleworlds import cli
    except KeyboardInterrupt:
        sys.exit(130)
    cli.main()


def open_missing_streams() -> None:
    """Open standard input and output, as 0 and 1, if the shell has closed them, as `>&-` does."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


if __name__ == "__main__":
    run_command()
