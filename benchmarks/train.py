"""What a training step costs: ratios of CPU time in one run, on one thread, batches of 64 rows.

    .venv/bin/python benchmarks/train.py [--write]

Run it with nothing else running: others take no CPU time from it, but they do take its cache. With
--write the figures go into docs/models.md.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import recursion
import torch
from pages import replace_part

from possibleworlds.data.files import read
from possibleworlds.data.splits import free_splits, generate_folder
from possibleworlds.models import Batch, Model, names, resolve
from possibleworlds.models.conv import ConvNet
from possibleworlds.models.possibleworldnet import (
    PossibleWorldNet,
    PossibleWorldNetSettings,
    all_worlds,
)
from possibleworlds.models.sequences import Sequences
from possibleworlds.models.trees import native
from possibleworlds.models.trees.forest import Forest, Ints
from possibleworlds.training.batches import Dataset
from possibleworlds.training.loop import Trainer
from possibleworlds.training.settings import TrainingSettings

UNITS = 16
BATCHES = 8
ROUNDS = 7
LABELS = torch.tensor([1, 1, 0, 0] * UNITS)
NATIVE = native.engine() == "native"
VIEWS = {
    "symbol_frequencies": ("linear-bow", "mlp-bow"),
    "sequences": ("convnet", "lstm", "bilstm"),
    "joined": ("lstm-traversal", "bilstm-traversal"),
    "side_by_side": ("transformer",),
    "calls": ("treenet", "treelstm"),
    "plan" if NATIVE else "messages": ("possibleworldnet",),
    "private_plan" if NATIVE else "private_messages": ("guidedworldnet",),
}
"""What each network takes of a batch."""


def best_time(run: Callable[[], object], times: int) -> float:
    """The shortest CPU time, in seconds, of so many runs."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return min(taken)


class Bench:
    """A network with some batches to learn."""

    def __init__(self, model: Model, data: Dataset) -> None:
        self.model, self.data = model.train(), data
        rng = np.random.default_rng(0)
        self.units = rng.permutation(len(data) // 4)[: BATCHES * UNITS].reshape(BATCHES, UNITS)
        self.permutations = rng.permuted(np.tile(np.arange(26), (BATCHES, UNITS, 1)), axis=2)
        self.trainer = Trainer(model, TrainingSettings(learning_rate=1e-5), data, data, seed=0)

    def batches(self) -> list[Batch]:
        """The batches, made anew."""
        chosen = zip(self.units, self.permutations, strict=True)
        return [self.data.batch(units, permutations)[0] for units, permutations in chosen]

    def learn(self, answer: torch.Tensor) -> None:
        """One step of Adam from an answer that was worked out otherwise."""
        self.trainer.adam.gradient.zero_()
        torch.nn.functional.nll_loss(answer, LABELS).backward()
        self.trainer.adam.step(1e-5, 0.0)

    def step(self, times: int = 5) -> float:
        """Seconds for a step, the batch included: the mean over batches of each one's best time.

        A single step is short enough to be measured between the turns of other processes.
        """

        def run(units: Ints, permutations: Ints) -> None:
            self.trainer.train_step(self.data.batch(units, permutations)[0], LABELS)

        chosen = list(zip(self.units, self.permutations, strict=True))
        run(*chosen[0])
        return sum(best_time(partial(run, *one), times) for one in chosen) / BATCHES

    def preparing(self, view: str) -> float:
        """Seconds for preparing a batch."""
        return best_time(lambda: [getattr(b, view) for b in self.batches()], 10) / BATCHES

    def recursive(self) -> float:
        """Seconds for a step with plain recursion, the mean over the same batches."""

        def run(batch: Batch) -> None:
            if isinstance(self.model, PossibleWorldNet):
                worlds = self.model.draw_worlds(1, self.model.n_worlds())
                self.learn(all_worlds(recursion.possibleworldnet(self.model, batch, worlds)))
            else:
                name = type(self.model).__name__.lower()
                self.learn(getattr(recursion, name)(self.model, batch))

        return sum(best_time(partial(run, batch), 2) for batch in self.batches()) / BATCHES

    def largest(self) -> str:
        """The operations of torch that take most of a step, and their shares."""
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            for batch in self.batches():
                self.trainer.train_step(batch, LABELS)
        events = profile.key_averages()
        total = sum(event.self_cpu_time_total for event in events)
        top = sorted(events, key=lambda event: -event.self_cpu_time_total)[:3]
        return ", ".join(
            f"`{event.key.removeprefix('aten::')}` {event.self_cpu_time_total / total:.0%}"
            for event in top
        )

    def flops(self) -> float:
        """What the paper's formulas need for a step, forward and backward: matrix products only."""
        assert isinstance(self.model, PossibleWorldNet)
        s, total = self.model.settings, 0
        for batch in self.batches():
            code = batch.nodes.code
            binary, unary = int(((code > 0) & (code < 4)).sum()), int((code == 0).sum())
            leaves = len(np.unique(code[code >= 4]))
            per_world = binary * 2 * s.size**2 + unary * s.size**2 + leaves * s.world_size * s.size
            total += 3 * 2 * s.worlds * per_world
        return total / BATCHES


def multiplication_rate() -> float:
    """Floating-point operations a second of torch.mm on 1024 x 1024 matrices."""
    square, out = torch.randn(1024, 1024), torch.empty(1024, 1024)
    return 2 * 1024**3 / best_time(lambda: torch.mm(square, square, out=out), 10)


def made(name: str, **settings: object) -> Model:
    """A network of the registry."""
    kind = resolve(name)
    return kind(kind.settings_class(**settings))


def padded(model: ConvNet, batch: Batch) -> torch.Tensor:
    """ConvNet on sequences that are padded to the longest of them."""
    encoder, sequences = model.encoder, batch.sequences
    lengths, present = sequences.lengths, sequences.present[:, None]
    x = encoder.embedding(sequences.symbols).transpose(1, 2) * present
    for i, convolution in enumerate(encoder.convolutions, 1):
        weight, bias = convolution.weight, convolution.bias
        x = torch.nn.functional.conv1d(x, weight, bias, padding=encoder.kernel // 2)
        x = x.relu() * present
        if encoder.pooling and i % encoder.pooling == 0:
            x = torch.nn.functional.max_pool1d(x, 2, ceil_mode=True)
            lengths = (lengths + 1) // 2
            present = Sequences(x[:, 0], lengths).present[:, None]
    codes = encoder.mlp(x.sum(2) / encoder.kernel)
    return model.classifier(codes[batch.left], codes[batch.right])


def convolutions(data: Dataset) -> str:
    """ConvNet against itself with padding."""
    model = made("convnet")
    assert isinstance(model, ConvNet)
    bench = Bench(model, data)
    batches = bench.batches()
    for batch in batches:
        torch.testing.assert_close(padded(model, batch), model(batch), atol=1e-4, rtol=1e-4)
    step = bench.step()

    def run(batch: Batch) -> None:
        bench.learn(padded(model, batch))

    plain = sum(best_time(partial(run, batch), 5) for batch in batches) / BATCHES
    return f"- convnet: **{plain / step:.1f} times** the speed of convolving padded sequences."


def trees(data: Dataset) -> list[str]:
    """The tree models against plain recursion, and the PossibleWorldNet against torch.mm.

    Ratios are medians of rounds, each with both measurements one after the other.
    """
    lines = []
    for name in ("treenet", "treelstm"):
        bench = Bench(made(name, size=64), data)
        ratio = median(bench.recursive() / bench.step() for _ in range(ROUNDS))
        lines.append(f"- {name}, size 64: **{ratio:.0f} times** the speed of plain recursion.")
    bench = Bench(made("possibleworldnet", size=32, worlds=128), data)
    plain, work = bench.recursive(), bench.flops()
    rounds = [(bench.step(), multiplication_rate()) for _ in range(ROUNDS)]
    step, rate = min(rounds)
    share = median(work / s / r for s, r in rounds)
    lines += [
        f"- possibleworldnet, d = 32, 128 worlds: **{plain / step:.0f} times** plain recursion; "
        f"**{share:.0%}** of the rate of `torch.mm`, which gives "
        f"{rate / 1e9:.0f} GFLOP/s here; {64 / step:,.0f} pairs/s, or "
        f"{64 / step * 150e9 / rate:,.0f} where `torch.mm` gives 150 GFLOP/s."
    ]
    times = {
        n: Bench(made("possibleworldnet", worlds=n), data).step(2) for n in (64, 128, 256, 512)
    }
    listed = ", ".join(f"{n} worlds {1e3 * t:.1f} ms" for n, t in times.items())
    lines.append(f"- A training step of possibleworldnet: {listed}.")
    lines.append(f"- possibleworldnet on one formula: {by_length()}.")
    return lines


def evaluate_alone(model: Model, forest: Forest) -> torch.Tensor:
    """A pair of a forest's only formula with itself."""
    only = np.array([0])
    answer: torch.Tensor = model(Batch.of(forest, only, only))
    return answer


def by_length() -> str:
    """Milliseconds to evaluate formulas of more and more operators in 128 worlds."""
    times = []
    model = made("possibleworldnet").eval()
    for operators in (250, 500, 1000, 2000):
        code = [4]
        for i in range(operators):
            code += [4 + i % 26, 1 + i % 3]
        forest = Forest(np.array(code, np.uint8), np.array([0, len(code)]))
        with torch.no_grad():
            taken = best_time(partial(evaluate_alone, model, forest), 5)
        times.append(f"{operators} operators {1e3 * taken:.0f} ms")
    return ", ".join(times)


def preparation(data: Dataset) -> list[str]:
    """The share of a training step that goes into preparing the batch, and the largest others."""
    lines = [
        "| network | pairs/s | preparing a batch | largest operations |",
        "| --- | ---: | ---: | --- |",
    ]
    view_of = {name: view for view, names in VIEWS.items() for name in names}
    for name in names():
        bench = Bench(
            made(name, **({"unguided_fraction": 0.0} if name == "guidedworldnet" else {})), data
        )
        step = bench.step(5)
        view = view_of.get(name)
        share = f"{bench.preparing(view) / step:.1%}" if view else "-"
        lines.append(f"| {name} | {64 / step:,.0f} | {share} | {bench.largest()} |")
    return lines


def memory(data: Dataset) -> str:
    """The memory of the whole process with a batch at 256 worlds and d = 64."""
    Bench(PossibleWorldNet(PossibleWorldNetSettings(size=64, worlds=256)), data).step(1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"- Memory at 256 worlds and d = 64: {peak:.0f} MiB for the whole process, at most."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/models.md")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        generate_folder(Path(folder), free_splits(4000, (1, 10), (1, 10), "fourtuples"), seed=0)
        data = Dataset(read(Path(folder) / "train.txt"))
    engine = f"- Engine of networks with worlds, LSTMs and tree networks: {native.describe()}."
    lines = [engine, memory(data), *trees(data), convolutions(data)]
    text = "\n".join(lines) + "\n\n" + "\n".join(preparation(data))
    print(text)
    if arguments.write:
        replace_part("models.md", "speed", text)


if __name__ == "__main__":
    main()
