// What a user typed as an argument: its premises and conclusion, what is wrong with it, its words.

import { listed, number } from "./dom.js";
import { FormulaError, parse, toText, TURNSTILE, variablesOf } from "./syntax.js";
import { assignmentOf, DECIDED_VARIABLES, evaluate } from "./truth.js";

const MAX_CHARACTERS = 20_000;
const MAX_SYMBOLS = 3_000;
const SEPARATOR = /\\[ ,;]|[,;\n]/g; // those after a backslash are LaTeX's spaces

// "p, p -> q |= q" as premises and conclusion; null where there is no turnstile.
export function splitSequent(text) {
  const match = TURNSTILE.exec(text);
  return match && [text.slice(0, match.index).trim(), text.slice(match.index + match[0].length).trim()];
}

export function splitPremises(text) {
  const pieces = [];
  let start = 0;
  for (const match of text.matchAll(SEPARATOR)) {
    if (match[0].length > 1) continue;
    pieces.push(text.slice(start, match.index));
    start = match.index + 1;
  }
  return [...pieces, text.slice(start)].map((piece) => piece.trim()).filter(Boolean);
}

function parseWithin(text) {
  if (text.length > MAX_CHARACTERS) {
    const size = `${number(text.length)} characters; this page reads up to ${number(MAX_CHARACTERS)}.`;
    throw new Error(`${size} The command “possibleworlds entails” has no such limit.`);
  }
  return parse(text);
}

// An argument as formulas; where it is none, `problems` has what to show under which field.
export function readArgument(premisesText, conclusionText) {
  const problems = { premises: null, conclusion: null };
  const attempt = (field, text) => {
    try {
      return parseWithin(text);
    } catch (error) {
      problems[field] ??= error instanceof FormulaError ? error : new Error(error.message);
      return [];
    }
  };
  // Too long a text is refused as a whole, before it is cut into pieces.
  const pieces = premisesText.length > MAX_CHARACTERS ? [premisesText] : splitPremises(premisesText);
  const premises = pieces.map((piece) => attempt("premises", piece));
  const conclusion = attempt("conclusion", conclusionText);
  const symbols = [...premises, conclusion].reduce((sum, rpn) => sum + rpn.length, 0);
  if (symbols > MAX_SYMBOLS) {
    problems.conclusion ??= new Error(`${number(symbols)} symbols; this page works with up to ${number(MAX_SYMBOLS)}.`);
  }
  if (problems.premises || problems.conclusion) return { problems };
  return { problems, premises, conclusion, variables: variablesOf(...premises, conclusion) };
}

// All premises as one formula, which is what a network takes.
export const conjunction = (premises) =>
  premises.length ? premises.slice(1).reduce((left, right) => [...left, ...right, "&"], premises[0]) : ["1"];

export function sequentText({ premises, conclusion }, follows, style = "unicode") {
  const signs = style === "latex" ? ["\\models", "\\not\\models", "\\models"] : ["⊨", "⊭", "⊨?"];
  const sign = signs[follows === null ? 2 : follows ? 0 : 1];
  const left = premises.map((premise) => toText(premise, style)).join(", ");
  return `${left} ${sign} ${toText(conclusion, style)}`.trim();
}

// "p is true, q and r are false"
export function inWords(assignment) {
  const parts = [true, false].map((value) => {
    const names = [...assignment].filter(([, truth]) => truth === value).map(([name]) => name);
    return names.length ? `${listed(names)} ${names.length > 1 ? "are" : "is"} ${value}` : "";
  });
  return parts.filter(Boolean).join(" and ");
}

// Whether an assignment makes all premises true and the conclusion false, and if not, why.
export function judge({ premises, conclusion }, assignment) {
  const failing = premises.findIndex((premise) => !evaluate(premise, assignment));
  const holds = evaluate(conclusion, assignment);
  const refutes = failing < 0 && !holds;
  const name = premises.length > 1 ? `premise ${failing + 1}` : "the premise";
  const reason = failing < 0 ? (holds ? "the conclusion is true" : "") : `${name} is false`;
  return { refutes, possible: failing < 0, reason };
}

export function explain(argument, { variables, rows, models, refuting, countermodel }) {
  const all = argument.premises.length === 1 ? "the premise is" : "all the premises are";
  if (refuting) {
    const words = inWords(assignmentOf(variables, countermodel));
    const where = words ? `For instance where ${words}: there` : "Always:";
    const premises = argument.premises.length ? `${all} true, but the conclusion is false` : "the conclusion is false";
    const verb = refuting === 1 ? "refutes" : "refute";
    return `${where} ${premises}. ${number(refuting)} of ${number(rows)} possible worlds ${verb} it.`;
  }
  if (!argument.premises.length) return `The conclusion is true in all ${number(rows)} possible worlds: a tautology.`;
  if (!models) return `In none of the ${number(rows)} possible worlds ${all} true, so anything follows.`;
  if (models === 1) return `In the only possible world where ${all} true, the conclusion is true as well.`;
  return `In each of the ${number(models)} possible worlds where ${all} true, the conclusion is true as well.`;
}

export const tooManyVariables = (count) =>
  `${count} variables: the truth table has ${count < 60 ? number(2 ** count) : `2^${count}`} rows, and this page goes ` +
  `through those of up to ${DECIDED_VARIABLES} variables. The command “possibleworlds entails” decides it.`;
