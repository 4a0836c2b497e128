"""The command `possibleworlds`: parse the arguments, call the package, print.

Data goes to standard output, messages for people to standard error. Exit codes: 0 for yes and for
success, 1 for no and for problems found, 2 for invalid input, 3 if an exact answer was not found in
time.
"""

import os
import select
import sys
from typing import Annotated, Any, NoReturn

import typer

import possibleworlds
from possibleworlds.cli import data, experiments, integrations, logic, training
from possibleworlds.cli.console import fail
from possibleworlds.errors import UndecidedError, UserError, missing_package

app = typer.Typer(
    name="possibleworlds", rich_markup_mode="markdown", pretty_exceptions_enable=False
)
for group in (logic, data, training, experiments, integrations):
    app.add_typer(group.app)

USAGE_ERROR: Any = typer.BadParameter.__base__
"""The exception for invalid arguments, which typer does not export."""


def main() -> None:
    """Run the command, and report any error that a user can cause in one clear line."""
    output = os.dup(1)  # rich replaces standard output if its pipe is broken
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)
    except UndecidedError as error:
        print(error)
        sys.exit(3)
    except UserError as error:
        fail(str(error))
    except USAGE_ERROR as error:
        fail(error.format_message().replace(": Value error, ", ": "))
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)  # Ctrl-C before there was anything to save
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "safetensors", "matplotlib"):
            raise
        fail(str(missing_package(error.name, "train")))
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # typer exits with 1, which means "no"
            end_broken_pipe(output)
        raise
    except BrokenPipeError:
        end_broken_pipe(output)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for unwritten output
        fail(f"{error.filename or 'standard output'}: {error.strerror}")
    except (MemoryError, OverflowError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):  # of torch
            if "Symlink loop" not in str(error):  # of Path.resolve before Python 3.13
                raise
            fail(str(error))
        fail("not enough memory for that")


def end_broken_pipe(output: int) -> NoReturn:
    """Exit quietly if nobody reads standard output any more, as after `| head`; else fail."""
    has_reader = False
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(output, select.POLLOUT)
        events = poll.poll(0)
        has_reader = not any(event & (select.POLLERR | select.POLLHUP) for _, event in events)
    if has_reader:
        fail("a worker process has died")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for unwritten output
    sys.exit(128 + 13)  # like a command that was ended by SIGPIPE


def version(is_requested: bool) -> None:
    """Print the version and exit."""
    if is_requested:
        print(possibleworlds.__version__)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Propositional entailment: exact answers, data with guarantees, networks that learn it."""
    if context.invoked_subcommand is None:
        print(context.get_help())
