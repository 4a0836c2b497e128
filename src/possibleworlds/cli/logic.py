"""The commands `entails` and `show`: exact answers, and formulas in every notation."""

import sys
from typing import Annotated, Any

import typer

import possibleworlds
from possibleworlds.cli.console import (
    Certify,
    Json,
    Steps,
    Worlds,
    err,
    in_words,
    load_run,
    new_group,
    out,
    print_json,
)
from possibleworlds.errors import UserError
from possibleworlds.logic.alphabet import AND, LETTERS, OPERATORS
from possibleworlds.logic.formula import Formula
from possibleworlds.logic.syntax import Style, parse, to_text

app = new_group()


@app.command()
def entails(
    formulas: Annotated[list[str], typer.Argument(metavar="[A] B", help="Premise and conclusion.")],
    premise: Annotated[list[str] | None, typer.Option(help="A further premise.")] = None,
    solver: Annotated[
        str | None, typer.Option(help="Decide by this solver of python-sat, say minisat22.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="RUN", help="Ask this trained network as well.")
    ] = None,
    worlds: Worlds = None,
    steps: Steps = None,
    certify: Certify = False,
    as_json: Json = False,
) -> None:
    """Does A entail B? Exit code 0 for yes, 1 for no with a countermodel.

    Formulas may be written in ASCII, Unicode or LaTeX, with any names for variables. With --model
    the answer of a trained network, a run folder or a ready-trained one, stands beside the exact
    one; and for a "no" of a network with worlds the world that convinced it.

    Examples:

        possibleworlds entails "p & q" "q"

        possibleworlds entails "wet" --premise "rain -> wet" --premise "rain"

        possibleworlds entails "p -> q" "q -> p" --model guidedworldnet
    """
    for name, given in (("certify", certify or None), ("worlds", worlds), ("steps", steps)):
        if given is not None and model is None:
            raise UserError(f"--{name} is for the answer of a network; the exact one needs none")
    *first, conclusion = map(parse, formulas)
    if len(first) > 1:
        raise UserError("more than two formulas; give further premises with --premise")
    premises = [*first, *map(parse, premise or [])]
    if not premises:
        raise UserError("no premise; give A and B, or B and --premise A")
    a = conjunction(premises)
    refuting = possibleworlds.countermodel(a, conclusion, solver)
    code = 0 if refuting is None else 1
    network = None if model is None else load_run(model, worlds, steps)
    thought = network.decide(a, conclusion, certify) if network else None
    if as_json:
        asked = {}
        if thought is not None:
            asked = {"model": model, "model_entails": thought.entails, **thought._asdict()}
        print_json({**asked, "entails": refuting is None, "countermodel": refuting})
        raise typer.Exit(code)
    style, (yes, no) = signs()
    answer, sign = ("yes", yes) if refuting is None else ("no", no)
    left = ", ".join(to_text(formula, style) for formula in premises)
    out.print(f"{answer}: {left} {sign} {to_text(conclusion, style)}")
    if refuting is not None:
        out.print(f"countermodel: {in_words(refuting)}")
    if thought is not None:
        said = "yes" if thought.entails else "no"
        if certify:
            how = "found no countermodel" if thought.entails else "certified"
        else:
            how = f"P = {thought.probability:.4f}"
        out.print(f"{model} says {said} ({how})")
        if thought.assignment is not None:
            verdict = "a countermodel" if thought.refutes else "not a countermodel"
            out.print(f"it imagines: {in_words(thought.assignment)}: {verdict}, as was checked")
    raise typer.Exit(code)


def signs() -> tuple[Style, tuple[str, str]]:
    """How to write formulas on this terminal, and that one entails another or does not."""
    try:
        "¬∧∨→↔⊤⊥⊨⊭".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "ascii", ("|=", "|/=")
    return "unicode", ("⊨", "⊭")


def conjunction(formulas: list[Formula]) -> Formula:
    """All the formulas joined by ∧."""
    rpn = list(formulas[0].rpn)
    for formula in formulas[1:]:
        rpn += [*formula.rpn, AND]
    return Formula(tuple(rpn))


@app.command()
def show(
    formula: Annotated[str, typer.Argument(metavar="FORMULA")],
    basic: Annotated[bool, typer.Option("--basic", help="Rewrite ↔, ⊤ and ⊥.")] = False,
    as_json: Json = False,
) -> None:
    """A formula in every way of writing, its size and its number of models.

    Example: `possibleworlds show "p <-> q" --basic`
    """
    read = parse(formula).basic() if basic else parse(formula)
    facts: dict[str, Any] = {style: to_text(read, style) for style in STYLES}
    if not set(read.rpn) <= {*OPERATORS, *LETTERS}:
        facts["published"] = None  # it has no other operators, and variables a to z
    facts |= {"variables": list(read.variables), "operators": read.operators, "length": read.length}
    try:
        facts["models"] = possibleworlds.count_models(read)
    except UserError as error:
        facts["models"] = None
        err.print(f"{error}")
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        text = ", ".join(value) if isinstance(value, list) else "-" if value is None else value
        out.print(f"{name:>10}  {text}")


STYLES: tuple[Style, ...] = ("unicode", "ascii", "latex", "published")
