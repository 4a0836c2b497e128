"""Evaluate and reward a language model on entailment, with answers that are checked exactly.

    python examples/language_model.py

No model is asked here: three made-up models reply, so that you see what is scored how. Put your own
in the place of `models`: anything that turns a prompt into a text.
"""

import random
from collections import Counter

import possibleworlds as pw


def parrot(prompt: str) -> str:
    """Repeat the question."""
    return prompt


def guesser(prompt: str) -> str:
    """Flip a coin, and say so at length."""
    answer = random.Random(prompt).choice(["yes", "no"])
    return f"Let me think step by step. It is hard to say at first.\n\n**Answer:** {answer}"


def solver(prompt: str) -> str:
    """Read the formulas back, and decide."""
    lines = dict(line.split(": ", 1) for line in prompt.splitlines() if ": " in line[:14])
    follows = pw.entails(lines["Premise"], lines["Conclusion"])
    return "The conclusion follows." if follows else "No, it does not follow."


models = {"parrot": parrot, "guesser": guesser, "solver": solver}

# 1. Items: same seed, same items; half of them entailments, from 4-tuples without biases.
items = pw.tasks("decide", level=3, seed=0, size=200)
print(items[0].prompt, "\n")

# 2. Replies in free text are right, wrong or unreadable; only a clear right answer scores.
for name, model in models.items():
    scores = [pw.score(model(item.prompt), item) for item in items]
    verdicts = Counter(score.verdict for score in scores)
    tuples: dict[int, list[float]] = {}
    for item, score in zip(items, scores, strict=True):
        tuples.setdefault(item.group, []).append(score.value)
    all_four = sum(all(values) for values in tuples.values()) / len(tuples)
    print(f"{name:8} {dict(verdicts)}, all four of a 4-tuple right: {all_four:.0%}")

# 3. The same score is the reward for reinforcement learning: see docs/integrations/trl.md.
item = pw.tasks("refute", style="words", vocabulary="everyday", seed=4)[0]
print("\n" + item.prompt)
for reply in (f"Answer: {item.answer}", "Answer: none", "I cannot tell."):
    score = pw.score(reply, item)
    print(f"   {reply!r}: {score.verdict}, reward {score.value:.0f}  {score.reason}")
