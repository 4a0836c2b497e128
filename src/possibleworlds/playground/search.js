// Both networks on one argument: random worlds drawn anew, and the same first worlds guided.

import { conjunction } from "./argument.js";
import { compile, Evaluator, LETTERS, logProbability, randomWorlds, readLetter, roundWorlds } from "./network.js";
import { bitAt, judgeRows } from "./truth.js";

export const STEPS = 24;
const MAX_PARTS = 400; // so that a step takes a fraction of a second

// One network's worlds after each step: what it says of each, and what is true of each.
class Contestant {
  constructor(argument, network, pair) {
    Object.assign(this, { argument, network, pair, worlds: [], scores: [], refutes: [] });
    this.evaluator = new Evaluator(network, pair);
  }

  add(worlds) {
    this.worlds.push(worlds);
    this.scores.push(this.evaluator.scores(worlds));
    this.refutes.push(this.check(roundWorlds(worlds, this.network)));
  }

  // Which worlds, read as truth assignments, make all premises true and the conclusion false.
  check(rounded) {
    const { argument, network, pair } = this;
    const n = rounded.length / network.k;
    const words = Math.ceil(n / 32);
    const columns = new Map(argument.variables.map((name) => {
      const letter = LETTERS.indexOf(pair.letters.get(name));
      const column = new Uint32Array(words);
      for (let i = 0; i < n; i++) {
        if (readLetter(network, rounded, i * network.k, letter)) column[i >>> 5] |= 1 << (i & 31);
      }
      return [name, column];
    }));
    const { refutes } = judgeRows(argument.premises, argument.conclusion, columns, words);
    return Array.from({ length: n }, (_, i) => bitAt(refutes, i) === 1);
  }

  // One world as an assignment, and what the network takes each node for in it.
  read(step, index) {
    const { argument, network, pair, evaluator } = this;
    const rounded = roundWorlds(this.worlds[step], network);
    const at = index * network.k;
    const z = evaluator.score(rounded, at);
    const letters = argument.variables.map((name) => [name, LETTERS.indexOf(pair.letters.get(name))]);
    const numbers = new Map(letters.map(([name, letter]) => [name, this.worlds[step][at + (letter % network.k)]]));
    const nodes = evaluator.readNodes();
    const assignment = new Map(letters.map(([name, letter]) => [name, readLetter(network, rounded, at, letter)]));
    return { z, numbers, assignment, nodes, refutes: this.refutes[step][index] };
  }
}

export class Search {
  constructor(argument, networks, n, seed) {
    Object.assign(this, { n, seed });
    const pair = compile(conjunction(argument.premises), argument.conclusion);
    if (pair.nodes.length > MAX_PARTS) throw new Error(`more than ${MAX_PARTS} different sub-formulas`);
    this.pair = pair;
    this.random = new Contestant(argument, networks.possibleworldnet, pair);
    this.guided = new Contestant(argument, networks.guidedworldnet, pair);
  }

  get steps() {
    return this.guided.worlds.length - 1; // done so far
  }

  get done() {
    return this.steps >= STEPS;
  }

  // Take one more step; each evaluates n more worlds.
  advance() {
    const step = this.guided.worlds.length;
    const drawn = randomWorlds(1000 * this.seed + step, this.n, this.guided.network.k);
    this.random.add(drawn);
    this.guided.add(step ? this.guided.evaluator.step(this.guided.worlds.at(-1)) : drawn);
  }

  // What a network has come to after a step, and how many worlds it had to evaluate.
  summary(who, step) {
    const { scores, refutes } = this[who];
    const first = refutes.findIndex((worlds) => worlds.includes(true));
    const counted = who === "random" ? scores.slice(0, step + 1) : [scores[step]];
    const probability = Math.exp(counted.reduce((sum, z) => sum + logProbability(z), 0));
    const checked = (who === "random" ? refutes.slice(0, step + 1) : [refutes[step]]).flat();
    return {
      probability,
      follows: probability > 0.5,
      evaluations: this.n * (step + 1),
      worlds: checked.length,
      refuting: checked.filter(Boolean).length,
      firstAfter: first < 0 || first > step ? null : this.n * first + refutes[first].indexOf(true) + 1,
    };
  }
}
