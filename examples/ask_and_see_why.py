"""Ask whether A entails B, exactly and by a network, and see why.

    python examples/ask_and_see_why.py

The exact part needs no torch; the network does (`pip install 'possibleworlds[train]'`).
"""

import possibleworlds as pw

# 1. An exact answer, and the countermodel behind a "no".
print("p ∧ q entails q:", pw.entails("p & q", "q"))
print("p ∨ q entails q:", pw.entails("p | q", "q"), "because of", pw.countermodel("p | q", "q"))

# 2. Formulas are values: any way of writing, immutable, hashable, with a truth value.
peirce = pw.parse("((p -> q) -> p) -> p")
print(peirce, "has", pw.count_models(peirce), "models of 4, so it is a tautology")
print("with p false, q false:", peirce.evaluate({"p": False, "q": False}))

# 3. A network that has learnt what the operators mean. Its "no" comes with a world, which can be
#    read as a truth assignment and checked.
network = pw.load("guidedworldnet")
for a, b in [("p -> q", "q -> p"), ("p -> q", "~q -> ~p"), ("p & (q | r)", "p & q | p & r")]:
    decision = network.decide(a, b)
    verdict = "entails" if decision.entails else "does not entail"
    print(f"{a}  {verdict}  {b}   (P = {decision.probability:.4f}, exact: {pw.entails(a, b)})")
    if decision.assignment:
        checked = "a countermodel" if decision.refutes else "not a countermodel"
        print(f"   its world reads as {decision.assignment}: {checked}")
