"""What is shipped: a wheel that installs and works, and files about the project that are true."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import possibleworlds

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def build_wheel(folder: Path, **variables: str) -> Path:
    """Build a wheel from the tree, without the network and without what was built before."""
    pytest.importorskip("setuptools")
    tree = folder / "tree"
    without = shutil.ignore_patterns("*.egg-info", "__pycache__", "*.so")
    shutil.copytree(ROOT / "src", tree / "src", ignore=without)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "-w", str(folder), str(tree)]
    subprocess.run(command, check=True, timeout=300, env={**os.environ, **variables})
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def kernels(wheel: Path) -> list[str]:
    return sorted(name for name in zipfile.ZipFile(wheel).namelist() if ".abi3." in name)


@pytest.mark.skipif(os.name == "nt" or not shutil.which("cc"), reason="needs a C compiler")
def test_the_wheel_has_the_kernels_and_serves_all_versions_of_python(wheel: Path) -> None:
    assert kernels(wheel) == [
        "possibleworlds/data/_native.abi3.so",
        "possibleworlds/models/trees/_kernel.abi3.so",
    ]
    assert "-cp311-abi3-" in wheel.name


@pytest.mark.skipif(os.name == "nt", reason="the compiler is named otherwise")
def test_the_wheel_is_built_without_the_kernels_where_the_compiler_fails(tmp_path: Path) -> None:
    assert kernels(build_wheel(tmp_path, CC="false")) == []


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    files = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "possibleworlds").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }
    assert files <= set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_installs_in_a_clean_environment_and_works(wheel: Path, tmp_path: Path) -> None:
    clean = tmp_path / "clean"
    venv.create(clean, with_pip=False)
    scripts = clean / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / f"python{'.exe' if os.name == 'nt' else ''}"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    install = [*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, timeout=300)

    def run(*command: str | Path) -> str:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        environment["PYTHONUTF8"] = "1"
        done = subprocess.run(
            list(map(str, command)),
            check=True,
            capture_output=True,
            cwd=tmp_path,
            env=environment,
            encoding="utf-8",
            timeout=300,
        )
        return done.stdout.strip()

    purelib = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))
    # The dependencies of this environment, but not the package itself, which it installs from a
    # .pth file: those of folders that are added like this are not read.
    libraries = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    (purelib / "dependencies.pth").write_text("\n".join(libraries), encoding="utf-8")
    where = run(python, "-c", "import possibleworlds; print(possibleworlds.__file__)")
    assert Path(where).is_relative_to(clean)
    command = scripts / "possibleworlds"
    assert run(command, "--version") == possibleworlds.__version__
    assert run(command, "entails", "p & q", "q") == "yes: p ∧ q ⊨ q"
    run(command, "generate", "data", "--rows", "400", "--workers", "1")
    assert "none" in run(command, "verify", "data", "--workers", "1")
    pytest.importorskip("torch")
    assert "\ntreenet" in run(command, "entails", "p & q", "q", "--model", "treenet")


def test_the_version_is_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {possibleworlds.__version__}" in changelog


def requirements() -> set[str]:
    """The names of everything that pyproject.toml names."""
    project = PROJECT["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    lists += PROJECT["dependency-groups"].values()
    texts = [text for one in lists for text in one if isinstance(text, str)]
    return {re.split(r"[^\w.-]", text)[0].lower().replace("_", "-") for text in texts}


def test_every_requirement_is_pinned_by_version_alone() -> None:
    pinned = set()
    for path in ROOT.glob("constraints*.txt"):
        lines = path.read_text(encoding="utf-8").splitlines()
        pins = [line for line in lines if not line.startswith("#")]
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in pins)
        names = [line.partition("==")[0].lower().replace("_", "-") for line in pins]
        assert len(set(names)) == len(names)
        pinned |= set(names)
    assert requirements() <= pinned


def test_the_tree_in_the_readme_is_true() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tree = readme.partition("## What is where")[2].split("```")[1]
    listed = re.findall(r"^  (\w[\w.]*)(/?)  ", tree, flags=re.MULTILINE)
    assert len(listed) >= 10
    package = ROOT / "src" / "possibleworlds"
    entries = {
        (path.name, "/" if path.is_dir() else "")
        for path in package.iterdir()
        if path.name not in ("__pycache__", "__main__.py", "py.typed")
    }
    assert set(listed) == entries
    for folder in re.findall(r"^(\w+)/  ", tree, flags=re.MULTILINE):
        assert (ROOT / folder).is_dir()


def test_the_page_of_files_lists_every_module() -> None:
    page = (ROOT / "docs" / "files.md").read_text(encoding="utf-8").split("```")[1]
    listed, folders = set(), [""]
    for indent, name in re.findall(r"^( +)(\S+)", page, flags=re.MULTILINE):
        del folders[len(indent) // 2 :]
        if name.endswith("/"):
            folders.append(name)
        else:
            listed.add("".join(folders) + name)
    package = ROOT / "src" / "possibleworlds"
    modules = {
        path.relative_to(package).as_posix()
        for path in [
            *package.rglob("*.py"),
            *package.glob("data/*.c"),
            *package.glob("playground/*.js"),
        ]
        if path.name not in ("__init__.py", "__main__.py") and path.parent.name != "lm_eval"
    }
    assert listed - {"__init__.py", "parallel/__init__.py"} == modules
