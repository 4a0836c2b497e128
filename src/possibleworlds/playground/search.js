// Both networks on one argument: random worlds drawn anew, and the same first worlds guided.
//
// As in Python, guided worlds take a few gradient steps; then all worlds are tried if they are few, or
// the best go on by tabu search, until a world refutes the argument or the budget is spent; the best world decides.

import { conjunction } from "./argument.js";
import { balanced, bySides, compile, Evaluator, LETTERS, logProbability, readLetter, roundWorlds } from "./network.js";
import { pruned, relevantComponents, walkers } from "./tabu.js";
import { bitAt, judgeRows } from "./truth.js";

const MAX_PARTS = 400; // so that a step takes a fraction of a second

// One network's worlds after each step: what it says of each, and what is true of each.
class Contestant {
  // It searches with the one evaluator, and shows with the other what it takes each sub-formula for.
  constructor(argument, network, pair, evaluator = new Evaluator(network, pair)) {
    Object.assign(this, { argument, network, pair, evaluator, worlds: [], scores: [], refutes: [], flipped: [] });
    this.reader = new Evaluator(network, pair);
  }

  add(worlds, scores = this.evaluator.scores(worlds), flipped = null) {
    const [rounded, best] = [roundWorlds(worlds, this.network), scores.indexOf(minimum(scores))];
    const judged = this.evaluator.judge?.score(rounded, best * this.network.k); // it may refute the pair after all
    if (judged < 0) scores[best] = judged;
    this.worlds.push(worlds);
    this.scores.push(scores);
    this.flipped.push(flipped); // the component of each world that was flipped for good, if it was
    this.refutes.push(this.check(rounded));
  }

  // Which worlds, read as truth assignments, make all premises true and the conclusion false.
  check(rounded) {
    const { argument, network, pair } = this;
    const n = rounded.length / network.k;
    const words = Math.ceil(n / 32);
    const columns = new Map(argument.variables.map((name) => {
      const letter = LETTERS.indexOf(pair.letters.get(name));
      const column = new Uint32Array(words);
      readLetter(network, rounded, letter).forEach((isTrue, i) => (column[i >>> 5] |= isTrue << (i & 31)));
      return [name, column];
    }));
    const { refutes } = judgeRows(argument.premises, argument.conclusion, columns, words);
    return Array.from({ length: n }, (_, i) => bitAt(refutes, i) === 1);
  }

  // One world as an assignment, and what the network takes each node for in it.
  read(step, index) {
    const { argument, network, pair, reader } = this;
    const rounded = roundWorlds(this.worlds[step], network);
    const at = index * network.k;
    const world = rounded.subarray(at, at + network.k);
    reader.score(world, 0);
    const letters = argument.variables.map((name) => [name, LETTERS.indexOf(pair.letters.get(name))]);
    const numbers = new Map(letters.map(([name, letter]) => [name, this.worlds[step][at + (letter % network.k)]]));
    const assignment = new Map(letters.map(([name, letter]) => [name, readLetter(network, world, letter)[0] === 1]));
    return { z: this.scores[step][index], numbers, assignment, nodes: reader.readNodes(), refutes: this.refutes[step][index] };
  }
}

const minimum = (numbers) => numbers.reduce((least, x) => Math.min(least, x), Infinity);

// `draw(step, count)` gives as many numbers uniform on [0, 1), always the same for a step.
export class Search {
  constructor(argument, networks, n, draw) {
    Object.assign(this, { n, draw });
    const sides = [conjunction(argument.premises), argument.conclusion];
    const pair = compile(...sides);
    if (pair.nodes.length > MAX_PARTS) throw new Error(`more than ${MAX_PARTS} different sub-formulas`);
    this.pair = pair;
    this.random = new Contestant(argument, networks.possibleworldnet, pair);
    const { guidedworldnet } = networks;
    const shaped = compile(...sides, balanced);
    const letters = pair.nodes.filter(({ op }) => op < 0).map(({ right }) => right);
    const components = relevantComponents(guidedworldnet, letters);
    const budget = guidedworldnet.search_evaluations * letters.length;
    const network = pruned(guidedworldnet);
    const judge = new Evaluator(network, compile(...sides, (rpn) => balanced(rpn, true)), bySides);
    this.guided = new Contestant(argument, network, pair, new Evaluator(network, shaped, bySides, judge));
    this.gradient = new Evaluator(guidedworldnet, shaped); // needs what is pruned
    this.chains = walkers(this.guided.evaluator, components, n, budget);
    this.descent = guidedworldnet.descent_steps;
    this.moves = this.chains.most;
    this.budget = this.evaluations(this.descent + this.moves);
  }

  // How many worlds each network has evaluated after a step.
  evaluations(step) {
    return this.n * (1 + Math.min(step, this.descent)) + this.chains.cost * Math.max(0, step - this.descent);
  }

  get steps() { return this.guided.worlds.length - 1; } // done so far

  // Whether the search has ended by a step, the last if none is given: refuted, or out of budget.
  ends(step = this.steps) {
    return step >= this.descent + this.moves || (step >= this.descent && this.best(step) < 0);
  }

  // The lowest score after a step: of all worlds that the tabu search has tried, or of this step's.
  best(step) {
    return minimum(this.guided.scores.slice(Math.min(step, this.descent), step + 1).map(minimum));
  }

  // Take one more step; both networks evaluate as many more worlds.
  advance() {
    const { n, guided, draw, chains } = this;
    const { k } = guided.network;
    const step = this.steps + 1;
    const isMove = step > this.descent;
    const numbers = draw(step, (isMove ? chains.cost : n) * k + chains.numbers);
    const drawn = numbers.slice(chains.numbers).map((u) => 2 * u - 1);
    this.random.add(drawn);
    // Guided worlds differ only in components that matter to the pair.
    const alike = () => drawn.map((x, at) => (chains.components.includes(at % k) ? x : drawn[at % k]));
    if (!isMove) return guided.add(step ? this.gradient.step(guided.worlds.at(-1), chains.components) : alike());
    if (step === this.descent + 1) chains.start(roundWorlds(guided.worlds.at(-1), guided.network), guided.scores.at(-1));
    const { worlds, scores, flipped } = chains.move(numbers, drawn);
    return guided.add(worlds, scores, flipped);
  }

  // What a network has come to after a step, and how many worlds it had to evaluate.
  summary(who, step) {
    const { scores, refutes } = this[who];
    const first = refutes.findIndex((worlds) => worlds.includes(true));
    const counted = who === "random" ? scores.slice(0, step + 1) : [[this.best(step)]];
    const probability = Math.exp(counted.reduce((sum, z) => sum + logProbability(z), 0));
    const checked = (who === "random" ? refutes.slice(0, step + 1) : [refutes[step]]).flat();
    return {
      probability,
      follows: probability > 0.5,
      evaluations: this.evaluations(step),
      worlds: checked.length,
      refuting: checked.filter(Boolean).length,
      firstAfter: first < 0 || first > step ? null
        : (first && this.evaluations(first - 1)) + refutes[first].indexOf(true) + 1,
    };
  }
}
