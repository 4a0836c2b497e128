"""The command `possibleworlds`, also as `python -m possibleworlds`."""

import sys


def run_command() -> None:
    """Run the command; Ctrl-C during imports exits without a traceback."""
    try:
        from possibleworlds import cli
    except KeyboardInterrupt:
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    run_command()
