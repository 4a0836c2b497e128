"""The commands `entails` and `show`: exact answers, and formulas in every notation."""

import sys
from typing import Annotated, Any, get_args

import typer
from typer import Argument, Option

import possibleworlds
from possibleworlds import parse, to_text
from possibleworlds.cli import console
from possibleworlds.cli.console import log
from possibleworlds.errors import UndecidedError, UserError, printable
from possibleworlds.logic.alphabet import SYMBOLS
from possibleworlds.logic.formula import Formula
from possibleworlds.logic.syntax import TURNSTILE, Notation, parse_premises, parse_sequent

app = typer.Typer(rich_markup_mode="markdown")
NOTATIONS: tuple[Notation, ...] = get_args(Notation)


@app.command(context_settings={"allow_extra_args": True})
def entails(
    context: typer.Context,
    a: Annotated[str, Argument(metavar="A", help="The premise, or a whole argument A |= B.")],
    b: Annotated[str | None, Argument(metavar="B", help="The conclusion.")] = None,
    premise: Annotated[list[str] | None, Option(help="A further premise.")] = None,
    solver: Annotated[str | None, Option(help="A solver of python-sat, such as minisat22.")] = None,
    timeout: Annotated[
        float | None, Option(metavar="SECONDS", help="Give up after this time, with exit code 3.")
    ] = None,
    model: Annotated[
        str | None, Option(metavar="RUN", help="Also show the answer of this network.")
    ] = None,
    worlds: console.Worlds = None,
    steps: console.Steps = None,
    budget: console.SearchBudget = None,
    certify: console.Certify = False,
    trust: console.Trust = False,
    as_json: console.Json = False,
) -> None:
    """Decide whether A entails B. Exit code 0 for yes, 1 for no, 3 for undecided in time.

    Write formulas in ASCII, Unicode or LaTeX, with any variable names. --model also shows the
    answer of a network, pretrained or from a run folder; if a network with worlds says "no", also
    its best world.

    Examples:

        possibleworlds entails "p & q" "q"

        possibleworlds entails "rain, rain -> wet |= wet"

        possibleworlds entails "wet" --premise "rain -> wet" --premise "rain"

        possibleworlds entails "p -> q" "q -> p" --model guidedworldnet
    """
    options = {"certify": certify or None, "worlds": worlds, "steps": steps, "budget": budget}
    for name, value in options.items():
        if value is not None and model is None:
            raise UserError(f"--{name} is for the answer of a network, which --model selects")
    if context.args:
        raise UserError("more than two formulas; give further premises with --premise")
    premises, conclusion = read_arguments(a, b, premise or [])
    try:
        countermodel = possibleworlds.countermodel(premises, conclusion, solver, timeout)
    except UndecidedError:
        if not as_json:
            raise
        console.print_json({"entails": None, "countermodel": None})
        raise typer.Exit(3) from None
    decision = None
    if model is not None:
        network = possibleworlds.load(model, trust=trust)
        decision = network.decide(
            premises, conclusion, worlds=worlds, steps=steps, budget=budget, certify=certify
        )
    if as_json:
        facts: dict[str, Any] = {}
        if decision is not None:
            facts = {"model": model, "model_entails": decision.entails, **decision._asdict()}
        facts |= {"entails": countermodel is None, "countermodel": countermodel}
        console.print_json(facts)
        raise typer.Exit(countermodel is not None)
    style, (yes, no) = signs()
    word, sign = ("yes", yes) if countermodel is None else ("no", no)
    left = ", ".join(to_text(formula, style) for formula in premises)
    print(f"{word}: {left} {sign} {to_text(conclusion, style)}".replace(":  ", ": "))
    if countermodel is not None:
        print(f"countermodel: {console.in_words(countermodel)}")
    if decision is not None:
        how = "found no countermodel" if decision.entails else "certified"
        how = how if certify else f"P = {decision.probability:.4f}"
        print(f"{printable(str(model))} says {'yes' if decision.entails else 'no'} ({how})")
        if decision.assignment is not None:
            world = console.in_words(decision.assignment)
            verdict = "a countermodel" if decision.refutes else "not a countermodel"
            print(f"its best world: {world} (checked: {verdict})")
    raise typer.Exit(countermodel is not None)


def signs() -> tuple[Notation, tuple[str, str]]:
    """Choose a notation that the terminal can show, and its signs for yes and no."""
    try:
        "¬∧∨→↔⊤⊥⊨⊭".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "ascii", ("|=", "|/=")
    return "unicode", ("⊨", "⊭")


def read_arguments(a: str, b: str | None, premise: list[str]) -> tuple[list[Formula], Formula]:
    """Parse premises and conclusion: A B, or "A |= B", or B alone with --premise A."""
    further = list(map(parse, premise))
    if b is not None:
        return [*(parse_premises(a) or [parse(a)]), *further], parse(b)
    if TURNSTILE.search(a):
        premises, conclusion = parse_sequent(a)
        return [*premises, *further], conclusion
    if not further:
        raise UserError('no premise; give A and B, or "A |= B", or B and --premise A')
    return further, parse(a)


@app.command()
def show(
    formula: Annotated[str, Argument(metavar="FORMULA")],
    basic: Annotated[bool, Option("--basic", help="Rewrite ↔, ⊤ and ⊥ with ¬, ∧, ∨, →.")] = False,
    as_json: console.Json = False,
) -> None:
    """Show a formula in every notation, its size and its number of models.

    Example: `possibleworlds show "p <-> q" --basic`
    """
    parsed = parse(formula).basic() if basic else parse(formula)
    facts: dict[str, Any] = {style: to_text(parsed, style) for style in NOTATIONS}
    if not set(parsed.rpn) <= set(SYMBOLS):
        facts["published"] = None  # that format has only basic operators, and variables a to z
    facts |= {"variables": parsed.variables, "operators": parsed.operators}
    facts |= {"length": parsed.length, "models": None}
    try:
        facts["models"] = possibleworlds.count_models(parsed)
    except UserError as error:
        log(str(error))
    if as_json:
        console.print_json(facts)
        return
    for name, value in facts.items():
        text = ", ".join(value) if name == "variables" else "-" if value is None else value
        print(f"{name:>10}  {text}")
