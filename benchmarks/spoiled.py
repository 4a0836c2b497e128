"""Inputs for whatever reads what a user gives: random ones, and good ones that were spoiled.

They come in families, as a good input takes longer to make than to spoil.
"""

import json
import os
import random
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import torch

import possibleworlds
from possibleworlds.data.files import format_rows
from possibleworlds.data.pairs import Pairs
from possibleworlds.data.splits import MANIFEST, free_splits, generate_folder
from possibleworlds.experiments.grid import (
    Budget,
    Candidate,
    Rung,
    SearchPlan,
    SearchRequest,
    with_defaults,
)
from possibleworlds.experiments.selection import SELECTED
from possibleworlds.experiments.sweep import SWEEP, NetworkRecord, Selection, SweepRecord
from possibleworlds.experiments.trials import FAILED, LOCKS, TRIALS, TrialProgress
from possibleworlds.integrations.chat import Reply, ReplyCache
from possibleworlds.language.item import KINDS, Item
from possibleworlds.logic.syntax import MEANING, render, to_published
from possibleworlds.models.registry import names, resolve
from possibleworlds.storage import lock_message
from possibleworlds.training.batches import Dataset
from possibleworlds.training.checkpoint import RUN, RunRecord
from possibleworlds.training.evaluation import Evaluation
from possibleworlds.training.evaluations import EVALUATION
from possibleworlds.training.loop import Trainer
from possibleworlds.training.settings import RunSettings, TrainingSettings

Text = TypeVar("Text", str, bytes)


def below(rng: random.Random, limit: int) -> int:
    """A number below a limit, at a third of the cost of `randrange`."""
    return int(rng.random() * limit)


def spoiled(rng: random.Random, text: Text, pieces: list[Text]) -> Text:
    """A text with a few things done to it: cut out, put in, moved, repeated, cut off."""
    for _ in range((1, 1, 1, 2, 3, 8)[below(rng, 6)]):
        places = len(text) + 1
        start, middle, end = sorted((below(rng, places), below(rng, places), below(rng, places)))
        if rng.random() < 0.7:  # most changes are small ones
            middle, end = min(middle, start + 2), min(end, start + 5)
        a, b, c, d = text[:start], text[start:middle], text[middle:end], text[end:]
        piece = pieces[below(rng, len(pieces))]
        match below(rng, 7):
            case 0:
                text = a + c + d
            case 1:
                text = a + piece + b + c + d
            case 2:
                text = a + c + b + d
            case 3:
                text = a + b + b + c + d
            case 4:
                text = a
            case 5:
                text = a + piece + c + d
            case 6 if rng.random() < 0.002:
                times = rng.choice((10, 1000, 30_000))
                text = a + (b or piece)[:20] * times + c + d
    return text


def random_rpn(rng: random.Random, names: str | list[str], operators: str) -> list[str]:
    """A formula in reverse Polish order."""
    stack: list[list[str]] = []
    left = rng.choice((0, 1, 1, 2, 2, 3, 3, 5, 5, 8, 13, 30))
    stack = [[rng.choice(names)] for _ in range(left + 1)]
    while len(stack) > 1 or rng.random() < 0.3:
        place = below(rng, len(stack))
        operator = rng.choice(operators)
        if operator == "~" or len(stack) == 1:
            stack[place].append("~")
        else:
            right = stack.pop(place)
            stack[place - 1] += [*right, operator]
    return stack[0]


NAMES = [*"pqrsabxyz", "rain", "x_1", "q'", "é", "名", "1", "0"]
SIGNS = [*MEANING, *NAMES, " ", "\\", "\\left", "\\mathit{", "}", "'", "_", "\\_", "[/p]", "[b]"]
STRANGE = [
    "\0",
    "\n",
    "\x1b[31m",
    "\udcff",
    "\ud800",
    "\u202e",
    "\ufeff",
    "𝒑",
    "१",
    "9" * 5000,
    ",",
]


def formula_inputs(rng: random.Random) -> Iterator[str]:
    """Things for the formula reader."""
    rpn = random_rpn(rng, NAMES, "~&|>=")
    style = rng.choice(("unicode", "ascii", "latex", "published"))
    good = to_published(rpn) if style == "published" else render(rpn, style, {})
    yield good
    yield "".join(chr(below(rng, 0x11_0000)) for _ in range(below(rng, 20)))
    yield os.fsdecode(rng.randbytes(below(rng, 40)))  # as it comes from a command line
    for size in (1, 2, 3, 5, 10, 30):
        yield "".join(SIGNS[below(rng, len(SIGNS))] for _ in range(size))
    while True:
        yield spoiled(rng, good, STRANGE if rng.random() < 0.2 else SIGNS)


SHORT_TOKENS = [*"pq~&|>()=, ", "\\to"]
MOST_SHORT_TOKENS = 6
SHORT_FORMULAS = sum(len(SHORT_TOKENS) ** length for length in range(MOST_SHORT_TOKENS + 1))


def short_formula(number: int) -> str:
    """One of all texts of a few tokens, in the order of their lengths."""
    text = ""
    while number:
        number, token = divmod(number - 1, len(SHORT_TOKENS))
        text += SHORT_TOKENS[token]
    return text


BYTES = [
    *(
        b"\0",
        b"\xff",
        b"\xc3",
        b"\xef\xbb\xbf",
        b"\r",
        b"\r\n",
        b"\n",
        b",",
        b"~(",
        b"(",
        b")",
        b"&",
    ),
    *(b"\xed\xa0\x80", b"1", b"2", b"p", b"9" * 5000, b"\x1b[31m", b"\xe2\x88\xa7", b"[/p]", b" "),
]


def file_inputs(rng: random.Random) -> Iterator[bytes]:
    """Things for the file reader."""
    rows = [
        (
            "".join(random_rpn(rng, "abcpqz", "~&|>")),
            "".join(random_rpn(rng, "abcpqz", "~&|>")),
            rng.randrange(2),
        )
        for _ in range(rng.choice((1, 1, 2, 4)))
    ]
    data = format_rows(rows).encode()
    if rng.random() < 0.3:  # as people write pairs
        data = data.replace(b",1,", b",yes#").replace(b",0,", b",no#")
        data = b"\n".join(line.partition(b"#")[0] for line in data.splitlines())
    yield data
    yield rng.randbytes(below(rng, 300))
    while True:
        yield spoiled(rng, data, BYTES)


VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 64, 1000, 65_537, 10**6, 10**9, 2**31, 2**63, 10**18),
    *(2**64, 10**400, -(2**63), 0.5, -0.0, 1e-320, 1e308, float("inf"), float("nan"), "", "x"),
    *("\0", "both", "left", "F32", "a\nb", "\ud800", "x" * 5000, [], {}, [1], [[]], {"x": 1}, ":"),
    *("BF16", "F16", "F64", "I8", "U8", "I64", "BOOL", "F8_E4M3", "F8_E5M2", "C64", "U64", "F4"),
    *(*names(), "os:system", "possibleworlds.models.base:Model", "possibleworlds:load", "a:b:c"),
    *(".:x", "..models:Model", "x" * 5000 + ":y", "\0:x", "\ud800:x", "possibleworlds.models:"),
]
DEEP = [
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"1" * 5000,
    b"1e999",
    b"-",
    b"NaN",
    b"\\ud800",
    b"null",
]


def spoil_json(rng: random.Random, value: Any) -> None:
    """Change, drop, add or rename something anywhere in a JSON object."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = rng.choice(keys) if keys else None
        if key is None or not (isinstance(value[key], dict | list) and rng.random() < 0.8):
            break
        value = value[key]
    what = rng.random()
    if key is None or what < 0.1:
        if isinstance(value, dict):
            value[str(rng.choice(VALUES))] = deepcopy(rng.choice(VALUES))
        else:
            value.append(deepcopy(rng.choice(VALUES)))
    elif what < 0.2:
        del value[key]
    elif what < 0.3 and isinstance(value, dict):
        value[str(rng.choice(VALUES))] = value.pop(key)
    elif what < 0.5 and isinstance(value[key], int) and not isinstance(value[key], bool):
        value[key] += rng.choice((-1, 1, 8, 64, 10**6))
    else:
        value[key] = deepcopy(rng.choice(VALUES))


def spoiled_json(rng: random.Random, data: bytes, also_text: bool = True) -> bytes:
    """JSON with other values in it, or with something done to its text."""
    if also_text and rng.random() < 0.3:
        return spoiled(rng, data, DEEP if rng.random() < 0.3 else BYTES)
    value = json.loads(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        spoil_json(rng, value)
    return json.dumps(value).encode()


def spoiled_tensors(rng: random.Random, data: bytes) -> bytes:
    """A safetensors file with something done to its header, to its length or to any of its bytes.

    It is a length, 8 bytes; a header of JSON: dtype, shape, offsets of each tensor; the numbers.
    """
    size = int.from_bytes(data[:8], "little")
    header, body = data[8 : 8 + size], data[8 + size :]
    kind = rng.random()
    if kind < 0.3:
        return spoiled(rng, data, BYTES)
    if kind < 0.4:
        length = rng.choice((0, 1, size - 1, size + 1, len(data), 10**8, 2**31, 2**63, 2**64 - 1))
        return length.to_bytes(8, "little") + header + body
    if kind < 0.5:
        return data[:8] + header + spoiled(rng, body, BYTES)
    header = spoiled_json(rng, header)
    return len(header).to_bytes(8, "little") + header + body


TINY: dict[str, dict[str, int]] = {
    "linear-bow": {"size": 4},
    "convnet": {"size": 4, "channels": 4, "mlp_size": 4},
    "transformer": {"size": 4, "layers": 1, "heads": 2, "filter_size": 4},
    "bilstm": {"size": 4, "mlp_size": 4},
    "treenet": {"size": 4, "mlp_size": 4},
    "guidedworldnet": {"size": 4, "world_size": 4},
}


@cache
def good_run(name: str) -> dict[str, bytes]:
    """The files of a run that can be loaded and resumed, by their names."""
    kind = resolve(name)
    settings = kind.settings_class(**TINY[name])
    torch.manual_seed(0)
    trainer = Trainer(kind(settings), TrainingSettings(), few_rows(), few_rows(), 0)
    trainer.train_step(*next(trainer.batches()))
    trainer.evaluate_and_keep_best()
    run_settings = RunSettings(settings, TrainingSettings())
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        trainer.save(
            folder,
            RunRecord.new(name, run_settings, 0, {}, kind.engine("cpu", run_settings.network)),
        )
        return {path.name: path.read_bytes() for path in folder.iterdir()}


@cache
def few_rows() -> Dataset:
    """Data to train on for a step."""
    return Dataset(Pairs.of([("p", "q", 0), ("pq&", "p", 1), ("p~", "pq|~", 0), ("p", "p", 1)]))


def run_inputs(rng: random.Random) -> Iterator[dict[str, bytes]]:
    """Things for the loader: the files of a run."""
    while True:
        files = dict(good_run(rng.choice(list(TINY))))
        which = rng.random()
        if which < 0.5:
            files[RUN] = spoiled_json(rng, files[RUN])
        elif which < 0.95:
            name = rng.choice([name for name in files if name.endswith(".safetensors")])
            files[name] = spoiled_tensors(rng, files[name])
        elif which < 0.98:
            del files[rng.choice(list(files))]
        yield files


@cache
def good_folder() -> dict[str, bytes]:
    """The JSON files of a sweep, of its locks, of evaluations and of a data set."""
    rungs = [Rung(3, 1, 5), Rung(1, 3, 20)]
    base = with_defaults(resolve("treenet"), {})
    points = [{}, {"size": 32}, {"learning_rate": 1e-4}]
    candidates = [Candidate(point, [1.0, 3.0], [10.0, 30.0]) for point in points]
    plan = SearchPlan(base, rungs, candidates, 0, 24, 1.5)
    seeds = {"treenet-0": 0.75, "treenet-1": 0.5}
    selection = Selection("treenet-0", 0.75, base, seeds)
    request = SearchRequest(Budget(9.0, "epochs"), 10.0, 0)
    networks = {"treenet": NetworkRecord(request, plan, selection)}
    record = SweepRecord({"train.txt": "a"}, 100, networks)
    pairs = few_rows().pairs
    evaluation = Evaluation.of(pairs.label == 1, pairs).to_json()
    lock = lock_message(asdict(TrialProgress(0.5, 10, 0.7)))
    with tempfile.TemporaryDirectory() as temporary:
        data = Path(temporary)
        generate_folder(data, free_splits(8, (1, 3), (1, 3), "fourtuples"), seed=0)
        manifest = (data / MANIFEST).read_bytes()
    values = {
        SWEEP: asdict(record),
        EVALUATION: {"data/test_easy": {**evaluation, "sha256": "a", "errors": [1]}},
        SELECTED: {"selected": ["a"]},
        f"{TRIALS}/treenet-0/{FAILED}": {"reason": "MemoryError"},
    }
    encoded = {name: json.dumps(value).encode() for name, value in values.items()}
    return {**encoded, MANIFEST: manifest, f"{LOCKS}/treenet-0.0": lock}


def folder_inputs(rng: random.Random) -> Iterator[tuple[str, str, bytes]]:
    """Things for the readers of JSON: which file is spoiled, its name then, and its content."""
    while True:
        name = rng.choice(list(good_folder()))
        data, new = spoiled_json(rng, good_folder()[name]), name
        if name.startswith(LOCKS) and rng.random() < 0.2:
            number = rng.choice(("7", "9" * 4000, "२", "-1", "1e3", ""))
            new = f"{LOCKS}/treenet-0.{number}"[:200]
        yield name, new, data


@cache
def good_items() -> list[Item]:
    """Questions of every kind, in symbols and in words."""
    styles: list[dict[str, Any]] = [{}, {"style": "words", "vocabulary": "everyday"}]
    return [
        item
        for kind in KINDS
        for style in styles
        for item in possibleworlds.tasks(kind, size=8, seed=0, **style)
    ]


@cache
def good_response() -> bytes:
    """What an endpoint sends."""
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    message = {"role": "assistant", "content": "Answer: yes"}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return json.dumps({"id": "x", "choices": [choice], "usage": usage}).encode()


@cache
def good_replies() -> bytes:
    """A file of replies that are kept."""
    with tempfile.TemporaryDirectory() as temporary:
        replies = ReplyCache(Path(temporary) / "replies.jsonl")
        for number in range(3):
            replies.add(f"{number}", Reply("yes\nAnswer: no", number, 2))
        return replies.path.read_bytes()


WORDS = [
    *("Answer: ", "answer is", "\\boxed{", "}", "{", '{"answer": ', '"', "'", "**", "yes", "no"),
    *(
        "not",
        "follows",
        "cannot",
        " ",
        "\n",
        "\n\n",
        "p",
        "q",
        "=",
        "true",
        "false",
        "1",
        "&",
        "->",
    ),
    *("<think>", "</think>", "\\text{", "none", "if", "?", ",", "(", ")", "¬", "∧", ":", "İ", "ß"),
    *("\ud800", "\0", "\x1b[31m", "\u2028", "9" * 5000, "therefore", "it is not the case that"),
]


def reply_inputs(rng: random.Random) -> Iterator[tuple[str, Item | None, Any]]:
    """Things that come from a language model: which reader gets it, the question, and the thing."""
    item = rng.choice(good_items())
    yield "score", item, item.answer
    yield "score", item, "".join(rng.choice(WORDS) for _ in range(below(rng, 40)))
    yield "item", None, json.loads(spoiled_json(rng, json.dumps(item.to_json()).encode(), False))
    yield "response", None, spoiled_json(rng, good_response())
    yield "cache", None, spoiled(rng, good_replies(), BYTES)
    first, newline, rest = good_replies().partition(b"\n")
    yield "cache", None, spoiled_json(rng, first) + newline + rest
    text = f"Let me see. It is not valid.\n\nAnswer: {item.answer}"
    while True:
        yield "score", item, spoiled(rng, text, WORDS)


OPTIONS = [
    *("", " ", "-", "--", "-1", "0", "1", "2", "3", "0.5", "nan", "1e-320", "9" * 5000, "1-", "-3"),
    *("3-1", "1-3-5", "1-99", "0-0", "x", "\x1b[31m", "é", "\udcff", "\n", "a\nb", "[/p]", "none"),
    *("true", "p&", "~", "..", "/dev/null", "missing", "x" * 300, "%s", "{}", "0x10", "1_0", "१"),
    *(
        "size=",
        "size=-1",
        "size=1e9",
        "=",
        "a=b=c",
        "\ud800",
        "cuda",
        "mps",
        "meta",
        "k",
        "-0",
        "h",
    ),
    *("DATA", "DATA/train.txt", "RUN", "SWEEP", "--help", "--json", "--seed", "--rows", "p |= q"),
]
"""What is put in the place of a word of a command; large numbers would only mean a long run."""
COMMANDS = [
    "entails p&q p --solver minisat22 --timeout 1",
    "entails p&q p --model RUN --json",
    "show p->q --json",
    "generate OUT --rows 8 --variables 1-3 --operators 1-3 --method naive --seed 1 --workers 1",
    "generate OUT --rows 8 --exact-variables --variables 2 --prune pairs --workers 1",
    "label DATA/train.txt",
    "verify DATA --workers 1 --json",
    "stats DATA --json",
    "stats DATA/train.txt",
    "train linear-bow --data DATA --out OUT --epochs 0.1 --set size=4 --seed 1",
    "evaluate RUN DATA/validate.txt --json",
    "predict RUN DATA/validate.txt --json",
    "models --json",
    "sweep --status SWEEP",
    "sweep treenet --data missing --out OUT --budget 1epochs --workers 1",
    "tasks refute --size 2 --style words --vocabulary nonsense --json",
    "tasks decide --size 1 --level 3 --source exam --shots 1 --chain-of-thought --premises 2",
    "export jsonl DATA OUT",
    "export dimacs DATA/train.txt OUT",
    "export graph DATA OUT",
]


def option_inputs(rng: random.Random) -> Iterator[list[str]]:
    """Things for the command line: a command with a word that does not belong there."""
    while True:
        words = rng.choice(COMMANDS).split()
        for _ in range(rng.choice((1, 1, 2))):
            place = rng.randrange(1, len(words) + 1)
            match rng.randrange(4):
                case 0:
                    words.insert(place, rng.choice(OPTIONS))
                case 1:
                    del words[place : place + 1]
                case _:
                    words[place : place + 1] = [rng.choice(OPTIONS)]
        yield words
