// Text to formula and back, as possibleworlds/logic/syntax.py does it: no recursion, linear time.
//
// A formula is an array of symbols in reverse Polish order: (p & q) > r is ["p", "q", "&", "r", ">"].

// Without a prototype: a variable may be called "constructor".
export const ARITY = { __proto__: null, "~": 1, "&": 2, "|": 2, ">": 2, "=": 2 };

const SPELLINGS = {
  "~": "~ ! ¬ ∼ \\neg \\lnot \\sim not",
  "&": "& && ∧ · /\\ \\wedge \\land \\cdot and",
  "|": "| || ∨ \\/ \\vee \\lor or",
  ">": "> -> => --> ==> → ⇒ ⟶ ⟹ ⊃ \\rightarrow \\Rightarrow \\longrightarrow \\Longrightarrow \\to \\implies \\supset implies",
  "^": "^ ⊕ ⊻ \\oplus \\veebar xor",
  "<": "<- <= ← ⇐ \\leftarrow \\Leftarrow",
  "=": "<-> <=> <--> <==> ↔ ⇔ ⟷ ⟺ ≡ \\leftrightarrow \\Leftrightarrow \\longleftrightarrow \\Longleftrightarrow \\iff \\equiv iff",
  "1": "⊤ \\top true 1",
  "0": "⊥ \\bot false 0",
  "(": "( [",
  ")": ") ]",
};
export const MEANING = new Map();
for (const [symbol, spellings] of Object.entries(SPELLINGS)) {
  for (const spelling of spellings.split(" ")) MEANING.set(spelling, symbol);
}
const WORDS = ["true", "false", "not", "and", "or", "xor", "implies", "iff"]
  .flatMap((word) => [word, word.toUpperCase(), word[0].toUpperCase() + word.slice(1)]);
for (const word of WORDS) MEANING.set(word, MEANING.get(word.toLowerCase()));

const escaped = (sign) => sign.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
const SIGNS = [...MEANING.keys()]
  .filter((spelling) => !/[A-Za-z0-9]/.test(spelling))
  .sort((one, other) => other.length - one.length)
  .map(escaped);
// Python's \w, \s and \d, which are wider than JavaScript's.
const WORD = "[\\p{L}\\p{N}_]";
const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\p{Z}]";
const TOKEN = new RegExp(
  `(?<space>(?:${SPACE}|\\\\(?:left|right)(?![A-Za-z])|\\\\[ ,;()\\[\\]]|\\$)+)` +
    "|(?<latex>(?:\\\\(?:math(?:it|rm|sf|tt|bf)|text(?:it|rm|sf|tt|bf)?)\\{(?:[\\p{L}\\p{N}]|\\\\?_)+\\}" +
    `|[\\p{L}\\p{Nl}\\p{No}_]${WORD}*_\\{${WORD}+\\})'*)` +
    `|(?<sign>${SIGNS.join("|")}|\\\\[A-Za-z]+|\\p{Nd}${WORD}*)` +
    `|(?<word>[\\p{L}\\p{Nl}\\p{No}_]${WORD}*'*)` +
    "|(?<bad>.)",
  "gsu",
);
export const TURNSTILE = /\|\/?=|\|-|[⊨⊭⊢⊬∴]|(?:\\not\s*)?\\(?:models|n?vDash|n?vdash|therefore)(?![A-Za-z])/;
const NAME = new RegExp(`^(?!(?:${WORDS.join("|")})$)[\\p{L}\\p{Nl}\\p{No}_]${WORD}*'*$`, "u");
const BINDING = { __proto__: null, "=": 1, ">": 2, "<": 2, "|": 3, "^": 4, "&": 5, "~": 6 };
const RIGHT_ASSOCIATIVE = new Set([">", "="]);
const SHOWN_AROUND_ERROR = 30;
const SHOWN = 60;

const printable = (text) =>
  text.replace(/[^\P{C}]|[^\P{Z} ]/gu, (c) => (/[\s\x1c-\x1f\x85]/u.test(c) ? " " : "\ufffd"));

function shortened(text) {
  const points = [...text];
  return printable(points.slice(0, SHOWN).join("")) + (points.length > SHOWN ? "..." : "");
}

// What a user wrote, as Python's repr would show it, and not all of it.
export function quoted(text) {
  const start = [...text].slice(0, SHOWN + 1).join("");
  const quote = start.includes("'") && !start.includes('"') ? '"' : "'";
  const named = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", [quote]: `\\${quote}` };
  const body = start.replace(/[^\P{C}]|[^\P{Z} ]|[\\'"]/gu, (c) => {
    if (c in named) return named[c];
    if (c === "'" || c === '"') return c;
    const code = c.codePointAt(0).toString(16);
    if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
    return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
  });
  return shortened(quote + body + quote);
}

// A text that is not a formula, with a caret under the place where it goes wrong.
export class FormulaError extends Error {
  constructor(problem, text, place) {
    const points = [...text];
    const point = [...text.slice(0, place)].length;
    const start = Math.max(0, point - SHOWN_AROUND_ERROR);
    const end = point + SHOWN_AROUND_ERROR;
    const before = start ? "..." : "";
    const excerpt = before + shortened(points.slice(start, end).join("")) + (end < points.length ? "..." : "");
    const caret = " ".repeat(before.length + point - start) + "^";
    super(`${problem}\n  ${excerpt}\n  ${caret}`);
    Object.assign(this, { problem, place: point, excerpt, caret });
  }
}

function* tokens(text) {
  for (const match of text.matchAll(TOKEN)) {
    const { space, latex, word } = match.groups;
    const [token] = match;
    const place = match.index;
    if (space !== undefined) continue;
    if (latex !== undefined) {
      const name = token.replace(/\\[a-z]*|[{}]/g, "");
      if (!NAME.test(name)) throw new FormulaError(`not the name of a variable: ${quoted(name)}`, text, place);
      yield [name, place];
    } else if (MEANING.has(token)) yield [MEANING.get(token), place];
    else if (word !== undefined) yield [token, place];
    else if (TURNSTILE.exec(text.slice(place - (text[place - 1] === "|")))?.index === 0)
      throw new FormulaError("premises and conclusion, not one formula", text, place);
    else throw new FormulaError(`cannot read ${quoted(token)}`, text, place);
  }
}

export function parse(text) {
  const rpn = [];
  const pending = [];
  let operandExpected = true;
  for (const [symbol, place] of tokens(text)) {
    if (operandExpected) {
      if (symbol === "~" || symbol === "(") {
        pending.push([symbol, place]);
      } else if (symbol in BINDING || symbol === ")") {
        throw new FormulaError(`expected a formula before ${quoted(symbol)}`, text, place);
      } else {
        rpn.push(symbol);
        operandExpected = false;
      }
    } else if (symbol === ")") {
      while (pending.length && pending.at(-1)[0] !== "(") rpn.push(pending.pop()[0]);
      if (!pending.length) throw new FormulaError("this bracket was never opened", text, place);
      const [, opened] = pending.pop();
      if ((text[opened] === "[") !== (text[place] === "]")) {
        throw new FormulaError(`this bracket does not close ${quoted(text[opened])}`, text, place);
      }
    } else if (symbol in BINDING && symbol !== "~") {
      const weakest = BINDING[symbol] + RIGHT_ASSOCIATIVE.has(symbol);
      while (pending.length && pending.at(-1)[0] !== "(" && BINDING[pending.at(-1)[0]] >= weakest) {
        rpn.push(pending.pop()[0]);
      }
      pending.push([symbol, place]);
      operandExpected = true;
    } else {
      throw new FormulaError(`expected an operator before ${quoted(symbol)}`, text, place);
    }
  }
  if (operandExpected) {
    const problem = rpn.length || pending.length ? "the formula ends too early" : "an empty formula";
    throw new FormulaError(problem, text, text.length);
  }
  while (pending.length) {
    const [symbol, place] = pending.pop();
    if (symbol === "(") throw new FormulaError("this bracket is never closed", text, place);
    rpn.push(symbol);
  }
  return rpn.includes("^") || rpn.includes("<") ? expand(rpn) : rpn;
}

// p ⊕ q is read as ¬(p ↔ q), and p ← q as q → p.
function expand(rpn) {
  const arities = { __proto__: null, ...ARITY, "^": 2, "<": 2 };
  const starts = spans(rpn, arities);
  const out = []; // from the end to the beginning
  const todo = [rpn.length - 1];
  while (todo.length) {
    const place = todo.pop();
    const symbol = rpn[place];
    if (symbol === "^") out.push("~", "=");
    else out.push(symbol === "<" ? ">" : symbol);
    const [left, right] = [starts[place - 1] - 1, place - 1];
    if (arities[symbol] === 1) todo.push(right);
    else if (arities[symbol]) todo.push(...(symbol === "<" ? [right, left] : [left, right]));
  }
  return out.reverse();
}

export const isVariable = (symbol) => !(symbol in ARITY) && symbol !== "1" && symbol !== "0";

// The variables of several formulas, in the order in which they first occur.
export const variablesOf = (...formulas) => [...new Set(formulas.flat().filter(isVariable))];

// What a formula comes to by `combine(symbol, what its operands come to)`, from the bottom up.
export function fold(rpn, combine) {
  const stack = [];
  for (const symbol of rpn) stack.push(combine(symbol, stack.splice(stack.length - (ARITY[symbol] ?? 0))));
  return stack[0];
}

// Where the sub-formula that ends at each place starts.
export function spans(rpn, arities = ARITY) {
  const starts = [];
  const open = [];
  rpn.forEach((symbol, place) => {
    let start = place;
    for (let i = 0; i < (arities[symbol] ?? 0); i++) start = open.pop();
    open.push(start);
    starts.push(start);
  });
  return starts;
}

const SIGNS_OF = {
  published: "~( & | > <-> 1 0",
  ascii: "~ & | -> <-> true false",
  unicode: "¬ ∧ ∨ → ↔ ⊤ ⊥",
  latex: "\\neg \\wedge \\vee \\rightarrow \\leftrightarrow \\top \\bot",
};

function signsOf(style) {
  const written = SIGNS_OF[style].split(" ");
  const signs = new Map([...Object.keys(ARITY), "1", "0"].map((symbol, i) => [symbol, written[i]]));
  if (style !== "published") {
    for (const symbol in ARITY) if (symbol !== "~") signs.set(symbol, ` ${signs.get(symbol)} `);
  }
  if (style === "latex") signs.set("~", `${signs.get("~")} `);
  return signs;
}

function latexName(name) {
  const word = name.replace(/'+$/, "");
  if (/^\p{L}$/u.test(word)) return name;
  return `\\mathit{${word.replaceAll("_", "\\_")}}${name.slice(word.length)}`;
}

// Whether an operator would be read otherwise without brackets, as an argument of another.
function needsBrackets(symbol, parent, side) {
  if (!parent || symbol === "~") return false;
  if (symbol === parent) return side !== (RIGHT_ASSOCIATIVE.has(symbol) ? "right" : "left");
  return BINDING[symbol] < BINDING[parent];
}

// The formula written in one of the four styles, from its end to its beginning.
export function toText(rpn, style = "unicode") {
  const signs = signsOf(style);
  const out = [];
  const waiting = [];
  let [parent, side] = ["", ""];
  for (let place = rpn.length - 1; place >= 0; place--) {
    const symbol = rpn[place];
    if (symbol in ARITY) {
      let [opening, closing] = needsBrackets(symbol, parent, side) ? ["(", ")"] : ["", ""];
      if (style === "published") [opening, closing] = symbol === "~" ? ["", ")"] : ["(", ")"];
      out.push(closing);
      if (symbol === "~") {
        waiting.push([opening + signs.get(symbol), "", ""]);
        [parent, side] = [symbol, ""];
      } else {
        waiting.push([opening, "", ""], [signs.get(symbol), symbol, "left"]);
        [parent, side] = [symbol, "right"];
      }
      continue;
    }
    out.push(signs.get(symbol) ?? (style === "latex" ? latexName(symbol) : symbol));
    while (waiting.length) {
      const [text, nextParent, nextSide] = waiting.pop();
      out.push(text);
      [parent, side] = [nextParent, nextSide];
      if (parent) break;
    }
  }
  return out.reverse().join("");
}
