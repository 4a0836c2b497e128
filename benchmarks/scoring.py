"""How many replies a second `possibleworlds.score` reads and checks, on one core.

    python benchmarks/scoring.py

Replies are as chat models write them: a chain of thought, and the answer on the last line.
"""

import argparse
import time

import possibleworlds as pw

THOUGHT = "Let us go through the premises one by one and see what each of them rules out. "


def main() -> None:
    """Time the scorer on right replies of each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=2000)
    parser.add_argument("--characters", type=int, default=1400, help="of a chain of thought")
    arguments = parser.parse_args()
    thought = (THOUGHT * (arguments.characters // len(THOUGHT) + 1))[: arguments.characters]
    for kind in ("decide", "refute", "conclude"):
        items = list(pw.tasks(kind, seed=0, size=arguments.replies))
        replies = [f"{thought}\n\nAnswer: {item.answer}" for item in items]
        start = time.process_time()
        outcomes = [pw.score(reply, item) for reply, item in zip(replies, items, strict=True)]
        seconds = time.process_time() - start
        assert all(outcome.verdict == "right" for outcome in outcomes)
        print(f"{kind}: {len(items) / seconds:,.0f} replies a second of CPU time")


if __name__ == "__main__":
    main()
