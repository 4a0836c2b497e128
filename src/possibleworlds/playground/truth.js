// Truth tables as bit sets: the value of a formula in 32 assignments at once is one 32-bit number.

import { ARITY, variablesOf } from "./syntax.js";

export const TABLE_VARIABLES = 12; // shown as a table
export const DECIDED_VARIABLES = 26; // decided while one waits
const BLOCK = 1 << 14; // rows that are evaluated together; the stack stays in the cache

// In row r, variable j is true where bit j of r is set: the pattern of the first five in 32 rows.
const PATTERNS = [0xaaaaaaaa, 0xcccccccc, 0xf0f0f0f0, 0xff00ff00, 0xffff0000];

// The columns of some variables in `words` times 32 rows from row `first` on.
export function tableColumns(variables, first, words) {
  const columns = new Map();
  variables.forEach((name, j) => {
    const column = new Uint32Array(words);
    for (let w = 0; w < words; w++) {
      const row = first + 32 * w;
      column[w] = j < 5 ? PATTERNS[j] : Math.floor(row / 2 ** j) % 2 ? 0xffffffff : 0;
    }
    columns.set(name, column);
  });
  return columns;
}

// The bit sets of all sub-formulas, one for each place of a formula in reverse Polish order.
export function evaluatePlaces(rpn, columns, words) {
  const stack = [];
  return rpn.map((symbol) => {
    const out = new Uint32Array(words);
    if (columns.has(symbol)) out.set(columns.get(symbol));
    else if (symbol === "1") out.fill(0xffffffff);
    else if (symbol !== "0") {
      const right = stack.pop();
      apply(symbol, symbol === "~" ? right : stack.pop(), right, out);
    }
    stack.push(out);
    return out;
  });
}

function apply(symbol, left, right, out) {
  const words = out.length;
  if (symbol === "~") for (let w = 0; w < words; w++) out[w] = ~right[w];
  else if (symbol === "&") for (let w = 0; w < words; w++) out[w] = left[w] & right[w];
  else if (symbol === "|") for (let w = 0; w < words; w++) out[w] = left[w] | right[w];
  else if (symbol === ">") for (let w = 0; w < words; w++) out[w] = ~left[w] | right[w];
  else if (symbol === "=") for (let w = 0; w < words; w++) out[w] = ~(left[w] ^ right[w]);
  else throw new Error(`no truth value for ${symbol}`);
}

// The same for the whole formula alone, in the memory of the stack.
function evaluateRoot(rpn, columns, words, stack) {
  let top = -1;
  for (const symbol of rpn) {
    if (ARITY[symbol]) {
      top -= ARITY[symbol] - 1;
      apply(symbol, stack[top], stack[top + ARITY[symbol] - 1], stack[top]);
    } else {
      stack[++top] ??= new Uint32Array(words);
      if (columns.has(symbol)) stack[top].set(columns.get(symbol));
      else stack[top].fill(symbol === "1" ? 0xffffffff : 0);
    }
  }
  return stack[0];
}

export const bitAt = (bits, row) => (bits[row >>> 5] >>> (row & 31)) & 1;

export function countBits(word) {
  word -= (word >>> 1) & 0x55555555;
  word = (word & 0x33333333) + ((word >>> 2) & 0x33333333);
  return (((word + (word >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}

export const assignmentOf = (variables, row) =>
  new Map(variables.map((name, j) => [name, Math.floor(row / 2 ** j) % 2 === 1]));

export function evaluate(rpn, assignment) {
  const columns = new Map([...assignment].map(([name, value]) => [name, Uint32Array.of(value ? 1 : 0)]));
  return (evaluateRoot(rpn, columns, 1, [])[0] & 1) === 1;
}

// The bit sets of rows where all premises are true, and where the conclusion is false besides.
export function judgeRows(premises, conclusion, columns, words, stack = []) {
  const possible = new Uint32Array(words).fill(0xffffffff);
  for (const premise of premises) {
    const value = evaluateRoot(premise, columns, words, stack);
    for (let w = 0; w < words; w++) possible[w] &= value[w];
  }
  const value = evaluateRoot(conclusion, columns, words, stack);
  return { possible, refutes: possible.map((word, w) => word & ~value[w]) };
}

// A countermodel among random rows, for tables too large to go through; null if there is none.
export function sampleCountermodel(premises, conclusion, words = 128) {
  const variables = variablesOf(...premises, conclusion);
  const random = () => Uint32Array.from({ length: words }, () => Math.random() * 2 ** 32);
  const columns = new Map(variables.map((name) => [name, random()]));
  const { refutes } = judgeRows(premises, conclusion, columns, words);
  const word = refutes.findIndex(Boolean);
  if (word < 0) return null;
  const row = 32 * word + 31 - Math.clz32(refutes[word] & -refutes[word]);
  return new Map(variables.map((name) => [name, bitAt(columns.get(name), row) === 1]));
}

// Go through the whole truth table of premises and conclusion, a block of rows at a time.
//
// Yields the share that is done; returns how many rows there are, in how many all premises are
// true, in how many of these the conclusion is false, and the first of these.
export function* decide(premises, conclusion) {
  const variables = variablesOf(...premises, conclusion);
  const rows = 2 ** variables.length;
  const words = Math.max(1, Math.min(rows, BLOCK) / 32) | 0;
  const inUse = rows < 32 ? 2 ** rows - 1 : 0xffffffff;
  const stack = [];
  let [models, refuting, countermodel] = [0, 0, null];
  for (let first = 0; first < rows; first += 32 * words) {
    const columns = tableColumns(variables, first, words);
    const { possible, refutes } = judgeRows(premises, conclusion, columns, words, stack);
    for (let w = 0; w < words; w++) {
      const against = refutes[w] & inUse;
      models += countBits(possible[w] & inUse);
      if (!against) continue;
      refuting += countBits(against);
      countermodel ??= first + 32 * w + 31 - Math.clz32(against & -against);
    }
    yield Math.min(1, (first + 32 * words) / rows);
  }
  return { variables, rows, models, refuting, countermodel };
}

// The same in one go.
export function decideNow(premises, conclusion) {
  const work = decide(premises, conclusion);
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}
