"""Tests of a module in C, run with sanitizers for addresses and undefined behaviour."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

START = """
import importlib, importlib.machinery, importlib.util, sys, pytest
name, built, tests = sys.argv[1:]
loader = importlib.machinery.ExtensionFileLoader(name, built)
spec = importlib.util.spec_from_loader(name, loader)
module = importlib.util.module_from_spec(spec)
loader.exec_module(module)
parent, _, child = name.rpartition(".")
setattr(importlib.import_module(parent), child, module)
sys.modules[name] = module
sys.exit(pytest.main(["-q", "-x", "--capture=sys", "-p", "no:cacheprovider", tests]))
"""


def run_with_sanitizers(name: str, sources: Sequence[Path], tests: Path, folder: Path) -> None:
    """Build a module in C with sanitizers, and run a file of tests with it."""
    compiler = os.environ.get("CC", "gcc")
    built = folder / f"module{sysconfig.get_config_var('EXT_SUFFIX')}"
    flags = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    flags += ["-ffp-contract=fast", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}"]
    subprocess.run([compiler, *flags, *map(str, sources), "-o", str(built)], check=True)
    # With the library of C++, without which the sanitizer cannot let torch's exceptions through.
    libraries = " ".join(
        subprocess.check_output([compiler, f"-print-file-name={library}"], text=True).strip()
        for library in ("libasan.so", "libstdc++.so")
    )
    environment = {**os.environ, "LD_PRELOAD": libraries, "ASAN_OPTIONS": "detect_leaks=0"}
    environment["OMP_NUM_THREADS"] = "1"
    command = [sys.executable, "-c", START, name, str(built), str(tests)]
    done = subprocess.run(command, env=environment, timeout=1800)
    assert done.returncode == 0
