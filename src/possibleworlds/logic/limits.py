"""Exact answers within a time limit, in a separate process that can be killed.

A solver runs in C and cannot be interrupted from Python, so no other way stops all of them.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from possibleworlds.errors import UndecidedError, UserError, quoted

STARTUP_SECONDS = 60.0
"""How long the process may take to start on a busy machine, before its time limit begins."""


def check_timeout(timeout: float | None) -> None:
    """Raise UserError if a timeout is not a number of seconds."""
    if timeout is None:
        return
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not is_number or not 0 < timeout < 1e9:
        raise UserError(f"timeout must be a number of seconds above 0, not {quoted(timeout)}")


def run_limited(function: str, arguments: list[Any], timeout: float) -> Any:
    """Call a function in a separate process; raise UndecidedError if it takes too long."""
    code = "from possibleworlds.logic.limits import serve; serve()"
    child = subprocess.Popen(
        [
            sys.executable,
            "-P",
            "-c",
            code,
        ],  # no modules from the current folder, which may not be trusted
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    try:
        request = json.dumps([function, arguments, timeout]).encode() + b"\n"
        answer, _ = child.communicate(request, timeout=timeout + STARTUP_SECONDS)
    except subprocess.TimeoutExpired:
        answer = b'{"undecided": true}'
    finally:
        child.kill()
        child.wait()
    if not answer:
        if child.returncode == -getattr(signal, "SIGALRM", 0):
            raise UndecidedError(timeout)
        raise UserError("the process that decides has died (out of memory?)")
    reply = json.loads(answer)
    if "error" in reply:
        raise UserError(reply["error"])
    if "undecided" in reply:
        raise UndecidedError(timeout)
    return reply["result"]


def serve() -> None:
    """Read a request from standard input and write the reply: the child of `run_limited`."""
    from possibleworlds.logic import entailment, truth

    function, arguments, timeout = json.loads(sys.stdin.buffer.readline())
    if hasattr(signal, "setitimer"):
        # By default the alarm ends the process, also within a solver or without a parent.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, timeout)
    functions: dict[str, Callable[..., Any]] = {
        "countermodel": entailment.countermodel,
        "count_models": truth.count_rows,
    }
    try:
        reply = {"result": functions[function](*arguments)}
    except UserError as error:
        reply = {"error": str(error)}
    sys.stdout.write(json.dumps(reply))
    sys.stdout.flush()
