import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import possibleworlds
from possibleworlds import cli
from possibleworlds.cli.console import Bars, TimeLeftColumn
from tests.conftest import run_here as run
from tests.conftest import started, wait_for_file


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "small"
    assert run("generate", str(folder), "--preset", "small", "--workers", "2").returncode == 0
    return folder


def test_entails_yes_and_no() -> None:
    yes = run("entails", "p & q", "q")
    assert (yes.returncode, yes.stdout) == (0, "yes: p ∧ q ⊨ q\n")
    no = run("entails", "p | q", "q")
    assert no.returncode == 1
    assert no.stdout == "no: p ∨ q ⊭ q\ncountermodel: p true, q false\n"


@pytest.mark.parametrize(
    ("premise", "answer"), [("p & q", b"yes: p & q |= q"), ("p | q", b"no: p | q |/= q")]
)
def test_a_terminal_without_the_signs_gets_ascii(premise: str, answer: bytes) -> None:
    command = [sys.executable, "-m", "possibleworlds", "entails", premise, "q"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, capture_output=True, env=environment)
    assert done.stdout.splitlines()[0] == answer


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_an_answer_that_cannot_be_written_is_not_taken_for_no() -> None:
    command = [sys.executable, "-m", "possibleworlds", "entails", "p & q", "q"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (
        2,
        "error: standard output: No space left on device\n",
    )


@pytest.mark.skipif(sys.platform == "win32", reason="streams are closed by a POSIX shell")
@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("entails 'p & q' q >&-", 0, ""),
        ("entails p q >&-", 1, ""),
        ("label - <&-", 2, "error: -: an empty file\n"),
    ],
)
def test_a_closed_stream_does_not_change_the_answer(command: str, code: int, message: str) -> None:
    shell = ["sh", "-c", f'"$0" -m possibleworlds {command}', sys.executable]
    done = subprocess.run(shell, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (code, message)


def test_entails_with_premises_json_and_solver() -> None:
    both = ("--premise", "rain -> wet", "--premise", "rain")
    done = run("entails", "wet", *both, "--json", "--solver", "glucose4")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"entails": True, "countermodel": None}
    done = run("entails", "p", "wet", *both[:2], "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["countermodel"] == {"p": True, "rain": False, "wet": False}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["entails", "p & ) q", "q"], "error: expected a formula before ')'\n  p & ) q\n      ^\n"),
        (["entails", "[/p]", "q"], "error: cannot read '/'\n  [/p]\n   ^\n"),
        (["entails", "p"], "error: no premise"),
        (["entails", "p", "q", "r"], "error: more than two formulas"),
        (["entails", "p", "q", "--solver", "none"], "error: python-sat has no solver"),
        (["show", ""], "error: an empty formula"),
        (["verify", "/no/\x1b[31m"], "error: /no/�[31m: No such file or directory"),
        (["verify", "/no/such/file"], "error: /no/such/file: No such file or directory"),
        (["stats", "/no/such/file"], "error: /no/such/file: No such file or directory"),
        (["generate", "never", "--variables", "ten"], "not a range"),
        (["generate", "never", "--rows", "7"], "error: 7 rows"),
        (["generate", "never", "--variables", "1-"], "not a range"),
        (["generate", "never", "--variables", "1-" + 5000 * "9"], "not a range"),
        (["generate", "never", "--operators", "٣"], "not a range"),
        (["generate", "never", "--rows", "many"], "'many' is not a number of rows like"),
        (["entails", "p, q |= r |= s"], "error: premises and conclusion are written like"),
        (["generate", "never", "--rows", "8", "--preset", "small"], "not both"),
        (["entails", "p", "q", "--solver", "cms"], "error: python-sat has no solver"),
        (["generate", "never", "--preset", "huge"], "huge"),
        (["generate", "/proc/never"], "error: /proc/never"),
        (["evaluate", "treenet", "x", "--out", "y"], "--out is for a language model"),
        (["evaluate", "treenet", "x", "--concurrency", "3"], "--concurrency is for a language"),
        (["sweep", "treenet", "--status", "x"], "error: --status shows a sweep that exists"),
        (["playground", "--save", "user.txt"], "error: user.txt: the playground is a page; "),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_playground_replaces_only_a_playground(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<title>mine</title>")
    refused = run("playground", "--save", str(page))
    assert (refused.returncode, page.read_text()) == (2, "<title>mine</title>")
    assert "--force" in refused.stderr
    assert run("playground", "--save", str(page), "--force").returncode == 0
    assert run("playground", "--save", str(page)).returncode == 0  # it is ours now


def test_show() -> None:
    facts = json.loads(run("show", "p <-> q", "--basic", "--json").stdout)
    assert facts["published"] == "((p>q)&(q>p))"
    assert (facts["models"], facts["operators"], facts["variables"]) == (2, 3, ["p", "q"])


def test_every_command_has_help_with_an_example() -> None:
    commands = ["entails", "show", "generate", "label", "published", "verify", "stats"]
    commands += ["train", "evaluate", "predict", "models", "sweep", "report"]
    listed = run("--help").stdout
    for command in commands:
        assert command in listed
        shown = run(command, "--help").stdout
        assert f"possibleworlds {command}" in shown.split("Options")[0]


def test_generate_verify_stats(small: Path) -> None:
    again = run("generate", str(small), "--preset", "small")
    assert again.returncode == 0
    refused = run("generate", str(small), "--preset", "small", "--seed", "1")
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    done = run("verify", str(small))
    assert done.returncode == 0
    assert done.stdout.count("none") == 7
    table = json.loads(run("stats", str(small), "--json").stdout)
    assert table["train"]["rows"] == 2000
    assert "paper" in run("stats", str(small)).stdout


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "possibleworlds", "generate", "data", "--rows", "4000000"]
    with started(command, cwd=tmp_path, stderr=subprocess.PIPE) as running:
        wait_for_file(running, tmp_path, ".train.txt.*.part")
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=300)
    assert running.returncode == 130
    assert "Traceback" not in said
    assert "given again, finishes the rest" in said
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["dataset.json"]


INTERRUPTED = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["possibleworlds", "models"]
"""


@pytest.mark.parametrize(
    "start",
    [
        "import runpy; runpy.run_module('possibleworlds', run_name='__main__')",
        "from possibleworlds.__main__ import run_command; run_command()",
    ],
)
def test_ctrl_c_while_the_command_is_imported_is_no_traceback(start: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED + start]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_verify_names_what_is_wrong(small: Path, tmp_path: Path) -> None:
    lines = (small / "train.txt").read_text().splitlines()
    lines[4] = lines[4].replace(",1,", ",0,", 1)
    bad = tmp_path / "bad.txt"
    bad.write_text("\n".join(lines[:40]))
    done = run("verify", str(bad))
    assert done.returncode == 1
    assert f"{bad}:5: label: the label is 0, but A entails B" in done.stdout
    results = [json.loads(line) for line in run("verify", str(bad), "--json").stdout.splitlines()]
    assert results[0]["check"] == "label"
    assert results[-1]["problems"]["label"] == 1


def test_stats_of_a_file(small: Path, tmp_path: Path) -> None:
    plot = tmp_path / "plot.png"
    done = run("stats", str(small / "train.txt"), "--plot", str(plot))
    assert done.returncode == 0
    assert plot.stat().st_size > 10_000
    for word in ("num_at(0,&)", "#sat", "new variables", "H3", "256"):
        assert word in done.stdout
    described = json.loads(run("stats", str(small / "train.txt"), "--json").stdout)
    assert described["features"]["length"]["A"]["chi_squared"] == 0
    refused = run("stats", str(small), "--plot", str(plot))
    assert refused.returncode == 2


@pytest.mark.parametrize("name", ["nowhere/plot.png", "plot.xyz"])
def test_a_plot_that_cannot_be_drawn_is_refused_at_once(
    name: str, small: Path, tmp_path: Path
) -> None:
    refused = run("stats", str(small / "train.txt"), "--plot", str(tmp_path / name))
    assert refused.returncode == 2
    assert refused.stdout == ""


def test_a_file_that_is_named_twice_is_checked_once(small: Path) -> None:
    done = run("verify", str(small / "train.txt"), str(small))
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("train.txt") == 1


def test_a_formula_that_the_published_form_lacks_is_not_shown_in_it() -> None:
    shown = {text: json.loads(run("show", text, "--json").stdout) for text in ("p <-> q", "p > X")}
    assert all(facts["published"] is None for facts in shown.values())
    basic = json.loads(run("show", "p <-> q", "--basic", "--json").stdout)
    assert basic["published"] == "((p>q)&(q>p))"


HEAVY = ("torch", "matplotlib", "ray", "sympy", "safetensors", "pandas", "pyarrow", "datasets")


@pytest.mark.parametrize(
    ("code", "avoided"),
    [
        ("import possibleworlds", (*HEAVY, "rich", "typer", "pysat", "multiprocessing.pool")),
        ("import possibleworlds.data.splits, possibleworlds.data.verify", (*HEAVY, "rich")),
        ("import possibleworlds.cli", HEAVY),
        ("from possibleworlds.cli import app; app(['entails', 'p', 'q'])", HEAVY),
        ("from possibleworlds.cli import app; app(['models', '--json'])", HEAVY[1:]),
    ],
)
def test_what_is_imported_is_light(code: str, avoided: tuple[str, ...]) -> None:
    ended = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\n"
    shown = f"print(*sorted({set(avoided)} & sys.modules.keys()), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", ended + shown], check=True, capture_output=True, text=True
    )
    assert done.stderr.split() == []


def test_the_app_holds_every_command_once_it_is_imported() -> None:
    code = (
        "import sys, typer; from possibleworlds.cli import app;"
        "print(*typer.main.get_command(app).commands);"
        "assert not {'torch', 'matplotlib', 'ray'} & sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    commands = "entails show generate label published verify stats train evaluate predict models"
    others = ["export", "tasks", "score", "integrations", "playground"]
    assert done.stdout.split() == [*commands.split(), "sweep", "reproduce", "report", *others]


def test_premises_and_conclusion_in_one_text() -> None:
    assert run("entails", "p, p -> q |= q").stdout == "yes: p, p → q ⊨ q\n"
    assert run("entails", "p, p -> q", "q").stdout == "yes: p, p → q ⊨ q\n"
    assert run("entails", "|= p | ~p").stdout == "yes: ⊨ p ∨ ¬p\n"
    answer = run("entails", "p | q |= q").stdout.splitlines()[0]
    assert run("entails", answer.removeprefix("no: ")).stdout.splitlines()[0] == answer


def test_replies_to_items_are_scored(tmp_path: Path) -> None:
    lines = run("tasks", "decide", "--size", "4", "--json").stdout.splitlines()
    items = [json.loads(line) for line in lines]
    replies = [f"Answer: {item['answer']}" for item in items[:3]] + ["I do not know."]
    texts = [json.dumps({**i, "reply": r}) for i, r in zip(items, replies, strict=True)]
    file = tmp_path / "replies.jsonl"
    file.write_text("\n".join(texts), encoding="utf-8")
    header, row = run("score", str(file)).stdout.splitlines()
    assert header.split()[:5] == ["kind", "items", "right", "wrong", "unreadable"]
    assert row.split() == ["decide", "4", "3", "0", "1", "75.00%", "0.00%"]
    scored = [
        json.loads(line)
        for line in run("score", "-", "--json", stdin=file.read_text()).stdout.splitlines()
    ]
    assert [one["verdict"] for one in scored] == ["right"] * 3 + ["unreadable"]
    for text, message in (
        ("{", "Expecting property name"),
        (lines[0], 'not an item with a "reply"'),
        ('{"reply": "yes"}', "item lacks kind"),
        (json.dumps({**items[0], "reply": "yes", "prompt": None}), "item: prompt must be a text"),
        (json.dumps({**items[0], "reply": None}), "a reply is a text, not NoneType"),
    ):
        file.write_text(f"{texts[0]}\n{text}\n", encoding="utf-8")
        done = run("score", str(file))
        assert (done.returncode, done.stdout) == (2, "")
        assert f"replies.jsonl:2: {message}" in done.stderr
    file.write_text("", encoding="utf-8")
    assert "an empty file" in run("score", str(file)).stderr


OWN = "rain -> wet, ~wet -> ~rain\np, q, yes\np ^ q, p | q\np, p -> q |= q\n"
LABELLED = (
    "(a>b),(~(b)>~(a)),1,0,1,1\np,q,0,1,0,0\n~(((p>q)&(q>p))),(p|q),1,1,1,1\n(p&(p>q)),q,1,1,1,1\n"
)


def test_pairs_of_ones_own_are_labelled(tmp_path: Path) -> None:
    done = run("label", "-", stdin=OWN)
    assert (done.returncode, done.stdout) == (0, LABELLED)
    assert done.stderr == "-:2: the label was 1, but A does not entail B\n"
    own = tmp_path / "own.txt"
    own.write_text(OWN, encoding="utf-8")
    assert run("label", str(own)).stdout == LABELLED
    labelled = tmp_path / "labelled.txt"
    labelled.write_text(LABELLED, encoding="utf-8")
    assert "none" in run("verify", str(labelled)).stdout
    assert run("label", str(labelled)).stdout == LABELLED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p,q\np,q,maybe", "-:2: a label is 1 or 0, yes or no, not 'maybe'"),
        ("p & ,q", "-:1: the formula ends too early"),
        ("", "-: an empty file"),
        ("p,q,1,1", "-:1: 4 fields where a line has A,B,E,H1,H2,H3"),
    ],
)
def test_a_bad_pair_of_ones_own_is_named(text: str, message: str) -> None:
    done = run("label", "-", stdin=text)
    assert done.returncode == 2
    assert message in done.stderr


def test_networks_take_pairs_of_ones_own_from_standard_input() -> None:
    pytest.importorskip("torch")
    lines = run("predict", "treenet", "-", "--json", stdin=OWN).stdout.splitlines()
    assert [(line["file"], line["line"]) for line in map(json.loads, lines)] == [
        ("-", number) for number in (1, 2, 3, 4)
    ]
    result = json.loads(run("evaluate", "treenet", "-", "--json", stdin=OWN).stdout)
    assert (result["file"], result["rows"]) == ("-", 4)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for command in (["stats"], ["verify"], ["evaluate", "treenet"], ["label"]):
        done = run(*command, str(tmp_path / "pipe"))
        assert done.returncode == 2
        assert "not a file; standard input is written -" in done.stderr


def test_rows_may_be_given_in_thousands(tmp_path: Path) -> None:
    assert run("generate", "data", "--rows", "0.4k", cwd=tmp_path).returncode == 0
    assert len((tmp_path / "data" / "train.txt").read_text().splitlines()) == 400


WITHOUT_TORCH = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "safetensors"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Finder())
import importlib.util
found = importlib.util.find_spec
def find_spec(name, package=None):
    return None if name in ("torch", "safetensors") else found(name, package)
importlib.util.find_spec = find_spec
"""


def without_torch(code: str) -> subprocess.CompletedProcess[str]:
    """Run Python where torch and safetensors are not installed."""
    command = [sys.executable, "-c", WITHOUT_TORCH + code]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=600)


def test_networks_are_listed_without_torch() -> None:
    main = "from possibleworlds.cli import main; sys.argv = ['possibleworlds', 'models']; main()"
    done = without_torch(main)
    assert done.returncode == 0, done.stderr
    assert "guidedworldnet" in done.stdout
    assert "pip install 'possibleworlds[train]'" in done.stdout


@pytest.mark.parametrize(
    "call", ["pw.load('treenet')", "pw.train('treenet', 'x')", "pw.evaluate('treenet', 'x')"]
)
def test_what_needs_torch_says_so_without_it(call: str) -> None:
    code = f"""
import possibleworlds as pw
try:
    {call}
except pw.UserError as error:
    print(error)
"""
    assert without_torch(code).stdout == "torch is missing: pip install 'possibleworlds[train]'\n"
    arguments = "['possibleworlds', 'entails', 'p', 'q', '--model', 'treenet']"
    done = without_torch(f"from possibleworlds.cli import main; sys.argv = {arguments}; main()")
    assert done.returncode == 2
    assert done.stderr == "error: torch is missing: pip install 'possibleworlds[train]'\n"


def test_the_time_of_an_evaluation_is_estimated_from_a_warm_sample(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    from possibleworlds.cli import training
    from possibleworlds.data.pairs import Pairs

    pairs = possibleworlds.generate(rows=4000, seed=0)
    clock = {"seconds": 0.0, "calls": 0}
    monkeypatch.setattr(training, "time", SimpleNamespace(perf_counter=lambda: clock["seconds"]))

    def evaluate_on(sample: Pairs) -> Any:
        assert len(sample.code) < len(pairs.code) / 10  # no formulas but its own
        clock["calls"] += 1
        clock["seconds"] += 0.01 * len(sample) + (0.5 if clock["calls"] == 1 else 0.0)

    training.announce("file", pairs, evaluate_on)
    assert clock["calls"] == 2
    assert capsys.readouterr().err == "file: about 40 s\n"


@pytest.fixture(scope="module")
def trained(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("runs") / "bow"
    options = ("--data", str(small), "--out", str(folder), "--epochs", "1")
    assert run("train", "linear-bow", *options).returncode == 0
    return folder


def test_a_finished_run_is_trained_on(small: Path, trained: Path) -> None:
    options = ("linear-bow", "--data", str(small), "--out", str(trained), "--resume")
    steps = json.loads((trained / "run.json").read_text())["metrics"]["step"]
    assert run("train", *options, "--epochs", "2").returncode == 0
    record = json.loads((trained / "run.json").read_text())
    assert record["training"]["epochs"] == 2
    assert record["metrics"]["step"] == 2 * steps
    assert record["metrics"]["finished"]
    shorter = run("train", *options, "--epochs", "1")
    assert shorter.returncode == 2
    assert "has epochs=2.0; only a finished run can be extended" in shorter.stderr
    assert record["extended_from"] == [{"epochs": 1.0}]


def test_the_length_of_a_run_stays_in_epochs_or_in_minutes(small: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from possibleworlds.report.material import Material, ReportRequest
    from possibleworlds.report.recipes import train_command

    def train(**options: Any) -> None:
        possibleworlds.train("linear-bow", small, out=tmp_path / "bow", resume=True, **options)

    train(minutes=0.0001)
    with pytest.raises(possibleworlds.UserError, match="has its length in minutes, not in epochs"):
        train(epochs=20)
    train(minutes=0.0002)
    material = Material(ReportRequest([tmp_path], [small], ""))
    command = train_command(material.runs[0], material)
    assert "--set minutes=0.0001 --seed 0 && " in command
    assert command.endswith("--set minutes=0.0002 --resume")
    assert "epochs" not in command


def test_seeds_from_python_and_from_the_command_line_are_compared(
    small: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    from possibleworlds.report.runs import find_runs, select

    for seed, epochs in enumerate((1, 1.0)):
        out = tmp_path / str(seed)
        possibleworlds.train("linear-bow", small, epochs=epochs, seed=seed, out=out)
        assert '"epochs": 1.0,' in (out / "run.json").read_text()
    record = (tmp_path / "1" / "run.json").read_text().replace('"epochs": 1.0,', '"epochs": 1,')
    (tmp_path / "1" / "run.json").write_text(record)  # as version 0.2.0 wrote it
    (group,) = select(find_runs([tmp_path])[0])
    assert group.seeds == [0, 1]


def test_the_commands_of_a_report_repeat_an_extended_run(small: Path, tmp_path: Path) -> None:
    options = ("--data", str(small), "--out", str(tmp_path / "bow"), "--seed", "1")
    assert run("train", "linear-bow", *options, "--epochs", "1").returncode == 0
    assert run("train", "linear-bow", *options, "--epochs", "2", "--resume").returncode == 0
    assert (
        run("report", str(tmp_path), "--out", str(tmp_path), "--data", str(small)).returncode == 0
    )
    (recipe,) = json.loads((tmp_path / "report.json").read_text())["repeat"]
    commands = recipe["command"].split(" && ")
    assert len(commands) == 2
    for command in commands:
        words = command.replace("RUN", str(tmp_path / "again")).split()
        assert run(*words[1:]).returncode == 0
    first, again = (tmp_path / name / "metrics.jsonl" for name in ("bow", "again"))
    accuracies = [re.findall(r'"validation": (\S+)}', path.read_text()) for path in (first, again)]
    assert accuracies[0] == accuracies[1]
    weights = [next(path.parent.glob("model-*")).read_bytes() for path in (first, again)]
    assert weights[0] == weights[1]


def test_files_and_folders_in_the_place_of_each_other(small: Path, trained: Path) -> None:
    for words, message in (
        (
            ("train", "lstm", "--data", f"{small}/train.txt", "--out", "x"),
            "is a file; give a folder",
        ),
        (("report", str(trained), "--out", str(small)), "holds a data set; choose another folder"),
    ):
        done = run(*words)
        assert done.returncode == 2
        assert message in done.stderr
    with pytest.raises(possibleworlds.UserError, match="is a folder; give one of its files"):
        possibleworlds.read(small)


def test_evaluate_names_the_training_file_and_fits_80_columns(small: Path, trained: Path) -> None:
    done = run("evaluate", str(trained), str(small))
    for name in ("train.txt", "validate.txt"):
        assert f"{name}: the network was trained or selected on this file" in done.stderr
    assert "test_easy.txt: the" not in done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert len(done.stdout.splitlines()) == 8
    assert "accuracy by size: with --json, or for at most 3 files" in done.stderr
    names = ("test_big", "test_massive", "test_hard")
    done = run("evaluate", str(trained), *(str(small / f"{name}.txt") for name in names))
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "variables of a pair" in done.stdout


def test_evaluate_keeps_the_files_that_were_done(small: Path) -> None:
    pytest.importorskip("torch")
    files = [str(small / name) for name in ("test_exam.txt", "train.txt")]
    options = ["--worlds", "20000", "--json"]
    command = [sys.executable, "-m", "possibleworlds", "evaluate", "possibleworldnet"]
    expected = run("evaluate", "possibleworldnet", files[0], "--json").stdout
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started([*command, *files, *options], **streams) as running:
        assert running.stdout
        first = json.loads(running.stdout.readline())
        running.send_signal(signal.SIGINT)
        _, log = running.communicate(timeout=300)
    assert first["rows"] == json.loads(expected)["rows"]
    assert running.returncode == 130
    assert "interrupted; 1 of 2 files were evaluated" in log


def test_a_report_of_pretrained_networks_leaves_the_package_alone(
    small: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    package = Path(possibleworlds.__file__).parent / "checkpoints"
    before = {path: path.stat().st_mtime_ns for path in package.rglob("*")}
    options = ("--out", str(tmp_path / "report"), "--data", str(small), "--evaluate")
    done = run("report", "linear-bow", str(package / "mlp-bow"), *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = json.loads((tmp_path / "report" / "report.json").read_text())
    assert {row["model"] for row in page["results"]} == {"linear-bow", "mlp-bow"}
    assert {path: path.stat().st_mtime_ns for path in package.rglob("*")} == before


def test_shells_can_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert "complete" in run("--show-completion", "bash").stdout


def test_the_time_left_does_not_depend_on_when_the_first_pieces_ended() -> None:
    bars, now = Bars(unit="settings"), 0.0
    bars.get_time = lambda: now
    column = bars.columns[-1]
    assert isinstance(column, TimeLeftColumn)
    bars.show("speed", 0, 27)
    (task,) = bars.tasks
    assert column.render(task).plain == "-:--:--"
    for now, done in ((19.9, 1), (20.0, 2)):  # noqa: B007
        bars.show("speed", done, 27)
    assert column.render(task).plain == "0:04:10"
    bars.show("speed", 27, 27)
    assert column.render(task).plain == "0:00:00"
    bars.show("resumed", 0.5, 1.0)  # as much was done before
    now = 30.0
    bars.show("resumed", 0.75, 1.0)
    assert column.render(bars.tasks[1]).plain == "0:00:10"


def test_shares_in_json_have_no_noise(capsys: pytest.CaptureFixture[str]) -> None:
    cli.app(["models", "--json"], standalone_mode=False)
    for line in map(json.loads, capsys.readouterr().out.splitlines()):
        for share in (line["paper"] or {}).values():
            assert share == round(share, 3)


def test_standard_input_is_data_like_any_other(small: Path) -> None:
    rows = (small / "test_easy.txt").read_text()
    for command in ("stats", "verify"):
        piped = run(command, "-", stdin=rows)
        file = run(command, str(small / "test_easy.txt"))
        assert piped.returncode == file.returncode == 0, piped.stderr
        assert piped.stdout.split() == file.stdout.replace("test_easy.txt", "-").split()
    wrong = run("verify", "-", stdin="p,q,1\n")
    assert wrong.returncode == 1
    assert wrong.stdout.startswith("-:1: label: ")
    lines = run("verify", "-", "--json", stdin="p,q,1\n").stdout.splitlines()
    assert [json.loads(line)["path"] for line in lines] == ["-", "-"]


def test_files_of_the_same_name_are_told_apart(small: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "test_easy.txt").write_text((small / "test_hard.txt").read_text())
    done = run("verify", str(small / "test_easy.txt"), str(other / "test_easy.txt"))
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == [
        "small/test_easy.txt",
        "other/test_easy.txt",
    ]


def test_an_error_before_any_progress_is_one_line(tmp_path: Path) -> None:
    for command in (
        ("train", "treenet", "--data", "nowhere", "--out", "run"),
        ("stats", "nowhere.txt"),
        ("evaluate", "treenet", "nowhere.txt"),
    ):
        done = run(*command, cwd=tmp_path)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", ["train tre", "sweep lstm tre", "evaluate tre"])
def test_a_shell_completes_networks(words: str) -> None:
    typed = ["possibleworlds", *words.split()]
    completion = {
        "_POSSIBLEWORLDS_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(typed),
        "COMP_CWORD": str(len(typed) - 1),
    }
    code = "from possibleworlds.cli import app; app(prog_name='possibleworlds')"
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env={**os.environ, **completion}, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.split() == ["treenet", "treelstm"], done.stderr
