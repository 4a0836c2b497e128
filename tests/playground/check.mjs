// Compare what JavaScript makes of formulas, pairs and worlds with what Python made of them.
//
//   node check.mjs FOLDER-OF-THE-PAGE GOLDEN.json NETWORKS.json

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, goldenFile, networksFile] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}.js`));
const { parse, toText, variablesOf, MEANING, FormulaError } = await load("syntax");
const { decideNow, assignmentOf, evaluate } = await load("truth");
const { balanced, readNetwork, compile, Evaluator, readLetter, roundWorlds, logProbability } = await load("network");
const { splitSequent, readArgument } = await load("argument");
const { Search } = await load("search");
const { pruned } = await load("tabu");
const golden = JSON.parse(readFileSync(goldenFile, "utf8"));
const networks = JSON.parse(readFileSync(networksFile, "utf8"));

const differences = [];
const counts = { readings: 0, errors: 0, truth: 0, rebalanced: 0, scores: 0, worlds: 0, refuted: 0, unrefuted: 0, moves: 0, restarts: 0 };
const largest = { z: 0, log_p: 0, worlds: 0, p: 0 };
const same = (what, one, other) => {
  if (JSON.stringify(one) !== JSON.stringify(other)) differences.push([what, one, other]);
};
const near = (what, one, other, tolerance, kind) => {
  const distance = Math.max(...one.map((x, i) => Math.abs(x - other[i])));
  largest[kind] = Math.max(largest[kind], distance);
  if (!(distance <= tolerance) || one.length !== other.length) differences.push([what, distance]);
};

same("spellings", [...MEANING].sort(), Object.entries(golden.meaning).sort());
for (const { text, rpn, styles, message, place } of golden.readings) {
  let reading;
  try {
    reading = parse(text);
  } catch (error) {
    if (!(error instanceof FormulaError)) throw error;
    counts.errors++;
    same(text, [error.message, error.place], [message, place]);
    continue;
  }
  counts.readings++;
  same(text, reading, rpn);
  for (const style in styles ?? {}) same(text, toText(reading, style), styles[style]);
}

for (const { text, rpns } of golden.sequents) {
  const { premises, conclusion } = readArgument(...splitSequent(text));
  same(text, [...premises, conclusion], rpns);
}

for (const { a, b, countermodel, models } of golden.truth) {
  counts.truth++;
  const [premise, conclusion] = [parse(a), parse(b)];
  const decision = decideNow([premise], conclusion);
  const refuting = decision.countermodel === null ? null : assignmentOf(decision.variables, decision.countermodel);
  same(`${a} |= ${b}`, refuting && Object.entries(Object.fromEntries(refuting)), countermodel && Object.entries(countermodel));
  same(`models of ${a}`, decision.models, models);
  if (refuting) same(`${a} in its countermodel`, [evaluate(premise, refuting), evaluate(conclusion, refuting)], [true, false]);
}

for (const { rpn, balanced: expected, restored } of golden.balanced) {
  counts.rebalanced += rpn !== expected;
  same(`${rpn} balanced`, balanced([...rpn]).join(""), expected);
  same(`${rpn} restored`, balanced([...rpn], true).join(""), restored);
}

for (const [name, { worlds, n, rows }] of Object.entries(golden.networks)) {
  const network = readNetwork(networks[name]);
  const read = name === "guidedworldnet" ? pruned(network) : network;
  for (const { a, b, letters, steps } of rows) {
    const pair = compile(parse(a), parse(b));
    const [gradient, evaluator] = [new Evaluator(network, pair), new Evaluator(read, pair)];
    const title = `${name}: ${a} |= ${b}`;
    const own = variablesOf(parse(a), parse(b)); // rewriting true and false may add another
    same(title, Object.fromEntries([...pair.letters].filter(([variable]) => own.includes(variable))), letters);
    let [moved, done] = [Float64Array.from(worlds), 0];
    for (const [count, expected] of Object.entries(steps)) {
      for (; done < Number(count); done++) moved = gradient.step(moved);
      counts.worlds += n;
      near(`${title} after ${count} steps`, [...moved], expected.worlds, 1e-4, "worlds");
      const z = evaluator.scores(moved);
      counts.scores += n;
      near(`${title}, z after ${count} steps`, [...z], expected.z, 1e-4, "z");
      near(`${title}, log P after ${count} steps`, [logProbability(z)], [expected.log_p], 1e-4, "log_p");
      const rounded = roundWorlds(moved, network);
      const letterwise = Array.from({ length: 26 }, (_, letter) => readLetter(read, rounded, letter));
      const byWorld = Array.from({ length: n }, (_, i) => letterwise.map((values) => values[i]));
      same(`${title}, worlds read after ${count} steps`, byWorld.flat(), expected.read);
    }
  }
}

// The search ends after the same moves, in the same world, with the same answer.
const { drawn, search_evaluations, rows: searched } = golden.searched;
const both = Object.fromEntries(Object.entries(networks).map(([name, one]) => [name, readNetwork(one)]));
Object.assign(both.guidedworldnet, { search_evaluations });
const { k, descent_steps: descent } = both.guidedworldnet;
const n = drawn.length / k;
for (const { a, b, numbers, evaluations, world, z, p } of searched) {
  // The numbers of the chains, or of proposals; those of a restart, or whether to leave; random worlds.
  const draw = (step, count) => {
    const own = Float64Array.from({ length: count }, (_, i) => numbers[step - descent - 1]?.[i] ?? 0.5);
    if (!step) own.set(drawn, count - drawn.length);
    return own;
  };
  const search = new Search(readArgument(a, b), both, n, draw);
  while (!search.ends()) search.advance();
  const title = `search ${a} |= ${b}`;
  const { probability, evaluations: spent } = search.summary("guided", search.steps);
  same(`${title}, evaluations`, [spent, search.best(search.steps) < 0], [evaluations, z < 0]);
  counts[p > 0.5 ? "unrefuted" : "refuted"]++;
  counts.moves += search.steps - descent;
  counts.restarts += search.chains.restarts;
  near(`${title}, P`, [probability], [p], 1e-4, "p");
  const { scores, worlds: path, network } = search.guided;
  let [best, least] = [[], Infinity];
  scores.slice(descent).forEach((step, t) => step.forEach((one, i) => {
    if (one < least) [best, least] = [path[descent + t].slice(i * k, (i + 1) * k), one];
  }));
  near(`${title}, z`, [least], [z], 1e-4, "z");
  same(`${title}, world`, [...roundWorlds(best, network)], world);
}

console.log(JSON.stringify({ counts, largest, total: differences.length, differences: differences.slice(0, 20) }));
