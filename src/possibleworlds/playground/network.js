// The networks with worlds, as possibleworlds/models/ has them, for one pair of formulas.
//
//   sat3(w, v) = u(W4^v w)      sat3(w, op(l, r)) = u(W1^op [l, r] + b1^op)      u(h) = h / |h|
//   z = W_f [sat3(w, A), sat3(w, B)] + b_f, low where the world w refutes "A entails B"
//   P(A entails B) = product of sigmoid(z) over worlds

import { fold, isVariable, variablesOf } from "./syntax.js";

export const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const OPERATORS = "~&|>";
const [MAX_NODES, MIN_CHAIN, DOUBT] = [4000, 8, 2];
const DUAL = { "&": "|", "|": "&" };

// Weights as they are in the page: the float32 arrays b1, f.bias, f.weight, w1, w4 in base64.
export function readNetwork({ weights, settings }) {
  const bytes = Uint8Array.from(atob(weights), (c) => c.charCodeAt(0));
  const numbers = Float64Array.from(new Float32Array(bytes.buffer));
  const { size: d, world_size: k } = settings;
  let start = 0;
  const take = (length) => numbers.subarray(start, (start += length));
  const [b1, bias, wf] = [take(4 * d), take(1)[0], take(2 * d)];
  const w1 = Array.from({ length: 7 }, () => take(d * d)); // of each slot: ~, & left, & right, ...
  const w4 = Array.from({ length: 26 }, () => take(k * d)); // of each variable
  return { d, k, b1, bias, wf, w1, w4, ...settings };
}

// The formula rewritten into the operators that the networks know: ~ & | >.
export function basic(rpn) {
  const some = variablesOf(rpn)[0] ?? "p";
  return fold(rpn, (symbol, [left = [], right = []]) => {
    const out = symbol === "1" ? [some, some, "~", "|"]
      : symbol === "0" ? [some, some, "~", "&"]
        : symbol === "=" ? [...left, ...right, ">", ...right, ...left, ">", "&"] : [...left, ...right, symbol];
    if (out.length > MAX_NODES) throw new Error(`more than ${MAX_NODES.toLocaleString("en")} symbols once ↔ is written out`);
    return out;
  });
}

// The same with chains of operators as balanced trees, or restored, as possibleworlds/models/trees/balance.py has it.
export function balanced(rpn, restore = false) {
  const keys = new Map(); // the same for equal sub-formulas
  const keyOf = (parts) => keys.get(`${parts}`) ?? keys.set(`${parts}`, keys.size).size - 1;
  const run = (op, nodes) => nodes.flatMap((node) => (node.symbol === op ? node.operands : [node]));
  const membersOf = (node, kind, isNegated = false) => (
    node.kind === (isNegated ? DUAL[kind] : kind) ? node.members.map(([not, one]) => [not !== isNegated, one])
      : node.symbol === "~" && !node.kind ? membersOf(node.operands[0], kind, !isNegated) : [[isNegated, node]]);
  const joined = (codes, parts, half = Math.ceil(parts.length / 2)) => (parts.length === 1
    ? parts[0] : [...joined(codes, parts.slice(0, half)), ...joined(codes, parts.slice(half)), ...codes]);
  const write = ({ symbol, operands, kind, members }) => {
    if (members.length < MIN_CHAIN) return operands[1] ? joined([symbol], operands.map(write)) : [...operands.flatMap(write), symbol];
    const distinct = new Map(members.map(([not, one]) => [`${not} ${one.key}`, [not, one]]));
    const parts = [...distinct.values()].map(([not, one]) => (not !== (kind === "|") ? [...write(one), "~"] : write(one)));
    return [...joined(restore ? ["&", "~", "~"] : ["&"], parts), ...(kind === "|" ? ["~"] : [])];
  };
  return write(fold(basic(rpn), (symbol, operands) => {
    const [left, right] = operands;
    const kind = symbol === "~" ? DUAL[left.kind] : symbol === ">" ? "|" : right && symbol;
    const members = kind ? [...membersOf(left, kind, ">~".includes(symbol)), ...(right ? membersOf(right, kind) : [])] : [];
    const node = { symbol, operands, kind, members, key: keyOf([symbol, ...operands.map(({ key }) => key)]) };
    if (right && symbol !== ">") node.operands = run(symbol, operands);
    if (symbol !== ">" || right.symbol !== ">") return node;
    const premises = { symbol: "&", operands: run("&", [left, right.operands[0]]), members: [] };
    return { ...node, operands: [premises, right.operands[1]] };
  }));
}

// Which letter stands for which variable: its own name, or one that is still free.
export function lettersFor(variables) {
  if (variables.length > 26) throw new Error(`${variables.length} variables; the networks know 26`);
  const isLetter = (name) => name.length === 1 && LETTERS.includes(name);
  const free = [...LETTERS].filter((letter) => !variables.includes(letter));
  return new Map(variables.map((name) => [name, isLetter(name) ? name : free.shift()]));
}

// A pair as nodes to be evaluated in this order, equal sub-formulas only once.
//
// `places` says which node each place of A and of B is, where `basic` left them as they are.
export function compile(a, b, rewrite = basic) {
  const formulas = [rewrite(a), rewrite(b)]; // which may have a variable where there was none
  const letters = lettersFor(variablesOf(...formulas));
  const [nodes, known] = [[], new Map()];
  const node = (op, left, right) => {
    const key = `${op},${left},${right}`;
    if (!known.has(key)) {
      known.set(key, nodes.length);
      nodes.push({ op, left, right });
    }
    return known.get(key);
  };
  const placesOf = (rpn, length) => {
    const stack = [];
    const places = rpn.map((symbol) => {
      const op = isVariable(symbol) ? -1 : OPERATORS.indexOf(symbol);
      const right = op < 0 ? LETTERS.indexOf(letters.get(symbol)) : stack.pop();
      stack.push(node(op, op > 0 ? stack.pop() : -1, right));
      return stack.at(-1);
    });
    return { root: stack[0], places: rpn.length === length ? places : null };
  };
  const [inA, inB] = [placesOf(formulas[0], a.length), placesOf(formulas[1], b.length)];
  return { nodes, letters, a: inA.root, b: inB.root, places: [inA.places, inB.places] };
}

// out[to] = x[from] W for several vectors and one W of d columns, two vectors and four columns at a
// time: sums in variables, and numbers read once for several sums, cost much less.
function multiply(out, to, x, from, matrix, rows, d) {
  const even = from.length & ~1;
  for (let n = 0; n < even; n += 2) {
    const a = from[n], b = from[n + 1], toA = to[n], toB = to[n + 1];
    for (let j = 0; j < d; j += 4) {
      let a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
      for (let i = 0, m = j; i < rows; i++, m += d) {
        const xa = x[a + i], xb = x[b + i];
        const w0 = matrix[m], w1 = matrix[m + 1], w2 = matrix[m + 2], w3 = matrix[m + 3];
        a0 += xa * w0, a1 += xa * w1, a2 += xa * w2, a3 += xa * w3;
        b0 += xb * w0, b1 += xb * w1, b2 += xb * w2, b3 += xb * w3;
      }
      out[toA + j] = a0, out[toA + j + 1] = a1, out[toA + j + 2] = a2, out[toA + j + 3] = a3;
      out[toB + j] = b0, out[toB + j + 1] = b1, out[toB + j + 2] = b2, out[toB + j + 3] = b3;
    }
  }
  if (even < from.length) multiplyOne(out, to[even], x, from[even], matrix, rows, d);
}

function multiplyOne(out, to, x, from, matrix, rows, d) {
  for (let j = 0; j < d; j += 4) {
    let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (let i = 0, m = j; i < rows; i++, m += d) {
      const value = x[from + i];
      s0 += value * matrix[m], s1 += value * matrix[m + 1], s2 += value * matrix[m + 2], s3 += value * matrix[m + 3];
    }
    out[to + j] = s0, out[to + j + 1] = s1, out[to + j + 2] = s2, out[to + j + 3] = s3;
  }
}

// out += x W^T.
function addTransposed(out, outAt, x, xAt, matrix, rows, d) {
  for (let i = 0, m = 0; i < rows; i++) {
    let sum = 0;
    for (let j = 0; j < d; j++, m++) sum += x[xAt + j] * matrix[m];
    out[outAt + i] += sum;
  }
}

// out = bias + x[one] + x[other], without the last where there is none.
function add(out, at, bias, from, x, one, other, d) {
  for (let j = 0; j < d; j++) out[at + j] = bias[from + j] + x[one + j];
  if (other >= 0) for (let j = 0; j < d; j++) out[at + j] += x[other + j];
}

function normalise(vectors, at, d) {
  let sum = 0;
  for (let j = at; j < at + d; j++) sum += vectors[j] * vectors[j];
  const scale = 1 / Math.max(Math.sqrt(sum), 1.1754943508222875e-38);
  for (let j = at; j < at + d; j++) vectors[j] *= scale;
  return scale;
}

const slotOf = (op, side) => Math.max(2 * op - 1, 0) + side;
const multiples = (count, size) => Array.from({ length: count }, (_, i) => i * size);

// The order of evaluation: level by level from the leaves, the nodes of a level, then their products
// with W1 that later levels add up. Those with the same matrix are computed together, and one that
// several nodes need, as the same operand on the same side of the same operator, is computed once.
function planOf({ nodes }, d) {
  const [levels, levelOf, known] = [[], [], new Map()];
  const product = (slot, node) => {
    const key = `${slot},${node}`;
    if (!known.has(key)) {
      const { products } = levels[levelOf[node]];
      products[slot] ??= { slot, from: [], to: [] };
      products[slot].from.push(node * d);
      products[slot].to.push(known.size * d);
      known.set(key, known.size * d);
    }
    return known.get(key);
  };
  nodes.forEach(({ op, left, right }, i) => {
    levelOf[i] = op < 0 ? 0 : 1 + Math.max(op > 0 ? levelOf[left] : 0, levelOf[right]);
    levels[levelOf[i]] ??= { nodes: [], products: [] };
    const operands = { left: op > 0 ? product(slotOf(op, 0), left) : -1, right: op < 0 ? right : product(slotOf(op, op ? 1 : 0), right) };
    levels[levelOf[i]].nodes.push({ op, at: i * d, ...operands });
  });
  for (const level of levels) level.products = level.products.filter(Boolean);
  return { levels, products: new Float64Array(known.size * d) };
}

// The score of a world by the terms of both sides, log(e^a + e^b), as guided worlds are scored; else z is.
export const bySides = (a, b) => Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)));
// One pair in one network, with the memory for its vectors; another evaluator judges worlds in doubt.
export class Evaluator {
  constructor(network, pair, combine = (a, b, bias) => a + b + bias, judge = null) {
    Object.assign(this, { network, pair, combine, judge }, planOf(pair, network.d));
    const size = pair.nodes.length * network.d;
    this.units = new Float64Array(size);
    this.gradients = new Float64Array(size);
    this.scales = new Float64Array(pair.nodes.length);
  }

  // The terms of both sides in one world; `units` then holds the vector of each node.
  terms(worlds, at) {
    const { network: net, network: { d }, pair, units, scales, products } = this;
    for (const level of this.levels) {
      for (const { op, at: to, left, right } of level.nodes) {
        if (op < 0) multiplyOne(units, to, worlds, at, net.w4[right], net.k, d);
        else add(units, to, net.b1, op * d, products, right, left, d);
        scales[to / d] = normalise(units, to, d);
      }
      for (const { slot, from, to } of level.products) multiply(products, to, units, from, net.w1[slot], d, d);
    }
    let [a, b] = [0, 0];
    for (let j = 0; j < d; j++) [a, b] = [a + net.wf[j] * units[pair.a * d + j], b + net.wf[d + j] * units[pair.b * d + j]];
    return this.judge && this.combine(a, b, net.bias) < DOUBT ? this.judge.terms(worlds, at) : [a, b];
  }

  // The score of the pair in one world.
  score(worlds, at) { return this.combine(...this.terms(worlds, at), this.network.bias); }

  // The gradient of z with respect to the world, after `score`.
  gradient(out) {
    const { network: net, pair, units, gradients, scales } = this;
    const { d } = net;
    gradients.fill(0);
    for (let j = 0; j < d; j++) {
      gradients[pair.a * d + j] += net.wf[j];
      gradients[pair.b * d + j] += net.wf[d + j];
    }
    out.fill(0);
    for (let i = pair.nodes.length - 1; i >= 0; i--) {
      const { op, left, right } = pair.nodes[i];
      const at = i * d;
      let dot = 0;
      for (let j = at; j < at + d; j++) dot += gradients[j] * units[j];
      for (let j = at; j < at + d; j++) gradients[j] = (gradients[j] - units[j] * dot) * scales[i];
      if (op < 0) {
        addTransposed(out, 0, gradients, at, net.w4[right], net.k, d);
      } else {
        if (op > 0) addTransposed(gradients, left * d, gradients, at, net.w1[slotOf(op, 0)], d, d);
        addTransposed(gradients, right * d, gradients, at, net.w1[slotOf(op, op ? 1 : 0)], d, d);
      }
    }
  }

  // The score of every world, [n], each put into the corner of [-1, 1]^k that it is nearest to.
  scores(worlds) {
    const [rounded, { k }] = [roundWorlds(worlds, this.network), this.network];
    return Float64Array.from({ length: worlds.length / k }, (_, i) => this.score(rounded, i * k));
  }

  // Move some components of all worlds one step of fixed length down z, within [-1, 1].
  step(worlds, components = [...Array(this.network.k).keys()]) {
    const { k, step_length: length } = this.network;
    const moved = Float64Array.from(worlds);
    const down = new Float64Array(k);
    for (let at = 0; at < worlds.length; at += k) {
      this.score(worlds, at);
      this.gradient(down);
      down.forEach((_, i) => (down[i] *= components.includes(i)));
      const scale = length / Math.max(Math.hypot(...down), 1e-30);
      for (let i = 0; i < k; i++) moved[at + i] = Math.max(-1, Math.min(1, worlds[at + i] - scale * down[i]));
    }
    return moved;
  }

  // What the network takes each node for, true or false, in the world that was scored last.
  readNodes() {
    return Array.from(readsAsTrue(this.network, this.units), Boolean);
  }
}

export const roundWorlds = (worlds, network) => (network.binary_worlds ? worlds.map((x) => (x < 0 ? -1 : 1)) : worlds);

// Whether each vector stands for something true: v counts as true in a world that refutes
// "v entails not v" better than "not v entails v".
function readsAsTrue({ d, w1, b1, wf }, vectors) {
  const places = multiples(vectors.length / d, d);
  const negated = new Float64Array(vectors.length);
  multiply(negated, places, vectors, places, w1[0], d, d);
  return places.map((at) => {
    for (let j = 0; j < d; j++) negated[at + j] += b1[j];
    normalise(negated, at, d);
    let sum = 0;
    for (let j = 0; j < d; j++) sum += (vectors[at + j] - negated[at + j]) * (wf[j] - wf[d + j]);
    return sum < 0 ? 1 : 0;
  });
}

// What each world makes of a variable, 0 or 1, by the network's own judgement.
export function readLetter(network, worlds, letter) {
  const { d, k, w4 } = network;
  const places = multiples(worlds.length / k, d);
  const vectors = new Float64Array(places.length * d);
  multiply(vectors, places, worlds, multiples(places.length, k), w4[letter], k, d);
  for (const at of places) normalise(vectors, at, d);
  return readsAsTrue(network, vectors);
}

export const logSigmoid = (z) => (z < 0 ? z - Math.log1p(Math.exp(z)) : -Math.log1p(Math.exp(-z)));

export const logProbability = (scores) => scores.reduce((sum, z) => sum + logSigmoid(z), 0);

// Numbers uniform on [0, 1) that a seed repeats (mulberry32).
export function randomNumbers(seed, count) {
  let state = seed >>> 0;
  return Float64Array.from({ length: count }, () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  });
}
