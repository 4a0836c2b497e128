// The page: what is typed or chosen becomes a state, and the state is shown.

import { readAddress, writeAddress } from "./address.js";
import { explain, inWords, readArgument, sequentText, splitSequent, tooManyVariables } from "./argument.js";
import { byId, copyText, el, number, reducedMotion } from "./dom.js";
import { Exercise, exercisePairs } from "./exercise.js";
import { randomNumbers, readNetwork } from "./network.js";
import { Search } from "./search.js";
import { parse, spans, toText } from "./syntax.js";
import { TableView } from "./table.js";
import { startTheme } from "./theme.js";
import { Trees } from "./trees.js";
import { assignmentOf, decide, DECIDED_VARIABLES, sampleCountermodel, TABLE_VARIABLES } from "./truth.js";
import { describeStep, describeWorld, Panel } from "./worlds.js";

const SLICE = 24; // milliseconds of work before the page may react
const PAUSE = 60; // milliseconds without typing before the networks begin
const [FRAME, FILM] = [320, 12_000]; // milliseconds that a step is shown, and all of them at most
const POINT = "Point at a node, or tap it, to see its formula.";
const SYMBOLS = {
  "¬": "not", "∧": "and", "∨": "or", "→": "if, then", "↔": "if and only if", "⊕": "either, or",
  "⊤": "true", "⊥": "false", "(": "open bracket", ")": "close bracket",
};
const CHIPS = [
  "modus ponens", "affirming the consequent", "modus tollens", "denying the antecedent", "Peirce's law", "explosion (Duns Scotus)",
];
const SPLITS = ["easy", "hard", "big", "massive", "3-CNF", "train", "exam"];

const data = JSON.parse(byId("data").textContent);
const networks = Object.fromEntries(Object.entries(data.networks).map(([name, one]) => [name, readNetwork(one)]));
const examples = Object.entries(data.examples).flatMap(([group, rows]) =>
  rows.map(([name, a, b]) => ({ group, name, a: separated(a), b: toText(parse(b)) })));

let state = readAddress(location.hash);
let argument = null; // the last that could be read
let decision = null; // what the truth table says, or null as long as it is not known
let search = null;
let work = 0; // the number of the current argument: work for earlier ones stops
let playing = null;

const table = new TableView(byId("table"), (row) => chooseRow(row));
const trees = new Trees(byId("trees"), (text) => (byId("tree-caption").textContent = text));
const panels = Object.fromEntries(["random", "guided"].map((who) => [who, new Panel(who, (index) => chooseWorld(who, index))]));
const exercise = new Exercise(byId("exercise"),
  exercisePairs(examples.map(({ group, a, b }) => [a, b, group === "Follows"]), data.samples), update, revealExercise);

// The conjuncts of an example's premise, one on each line.
function separated(text) {
  const lines = [];
  let rpn = parse(text);
  while (rpn.at(-1) === "&") {
    const split = spans(rpn).at(-2);
    lines.unshift(toText(rpn.slice(split, -1)));
    rpn = rpn.slice(0, split);
  }
  return [toText(rpn), ...lines].join("\n");
}

// ---- state

function update(changes) {
  Object.assign(state, changes);
  showAll();
  remember();
}

let remembering = 0;
function remember() {
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    if (state.a.length + state.b.length < 50_000) history.replaceState(null, "", writeAddress(state));
  }, 150);
}

addEventListener("hashchange", () => {
  if (!/[#&](a|b|mode)=/.test(location.hash)) return;
  state = readAddress(location.hash);
  showAll();
});

const lastStep = () => Math.max(0, search?.steps ?? 0);
const stepShown = () => (state.step === "" ? lastStep() : Math.min(Number(state.step), lastStep()));

// ---- the argument and its answer

function showAll() {
  stop();
  work += 1;
  const exploring = state.mode === "explore";
  document.body.dataset.mode = state.mode;
  byId("mode-explore").setAttribute("aria-pressed", exploring);
  byId("mode-exercise").setAttribute("aria-pressed", !exploring);
  byId("exercise").hidden = exploring;
  if (byId("premises").value !== state.a) byId("premises").value = state.a;
  if (byId("conclusion").value !== state.b) byId("conclusion").value = state.b;
  byId("count").value = state.worlds;
  const { problems, ...read } = readArgument(state.a, state.b);
  showProblem("premises", problems.premises);
  showProblem("conclusion", problems.conclusion);
  const broken = !read.conclusion;
  document.body.classList.toggle("broken", broken);
  document.body.classList.toggle("unanswered", !exploring);
  if (!broken) document.body.classList.remove("nothing");
  fit("premises", 2, 8);
  fit("conclusion", 1, 6);
  for (const section of document.querySelectorAll(".why")) section.inert = broken;
  byId("answer").className = "answer";
  if (broken) {
    // What was last shown stays in the background, so that nothing jumps while somebody types.
    byId("answer").replaceChildren(el("p", {}, "That cannot be read yet."));
    byId("sequent").textContent = "";
    if (!exploring) exercise.show(state, null);
    return;
  }
  argument = read;
  decision = null;
  search = null;
  showSequent();
  table.show(argument);
  byId("tree-caption").textContent = "";
  trees.show(argument);
  panels.random.show(null);
  panels.guided.show(null);
  byId("world").replaceChildren();
  if (!exploring) exercise.show(state, argument);
  byId("answer").replaceChildren(el("p", {}, "…"));
  if (argument.variables.length > DECIDED_VARIABLES) showSample(), startNetworks();
  else inSlices(decide(argument.premises, argument.conclusion), showProgress, (result) => (showDecision(result), startNetworks()));
}

// As many lines as a field's text takes, within bounds.
function fit(field, least, most) {
  const area = byId(field);
  area.rows = least;
  const { lineHeight, paddingTop } = getComputedStyle(area);
  area.rows = Math.max(least, Math.min(most, Math.round((area.scrollHeight - 2 * parseFloat(paddingTop)) / parseFloat(lineHeight))));
}

function showProblem(field, problem) {
  byId(field).setAttribute("aria-invalid", Boolean(problem));
  const lines = !byId(field).value.trim() && problem ? [el("p", {}, "Write a formula here.")]
    : problem?.problem ? [el("p", {}, problem.problem), el("pre", {}, `${problem.excerpt}\n${problem.caret}`)]
    : problem ? [el("p", {}, problem.message)] : [];
  byId(`${field}-error`).replaceChildren(...lines);
}

// Run a generator in slices of time, as long as the argument is still the same.
function inSlices(generator, progress, finish, pause = 0) {
  const mine = work;
  let shown = 0;
  const go = () => {
    if (mine !== work) return;
    const until = performance.now() + SLICE;
    for (;;) {
      const { done, value } = generator.next();
      if (done) return finish(value);
      const now = performance.now();
      if (now < until) continue;
      if (now > shown) {
        progress(value);
        shown = performance.now() + 4 * (performance.now() - now); // a fifth of the time, at most
      }
      return setTimeout(go);
    }
  };
  if (pause) setTimeout(go, pause);
  else go();
}

const follows = () => (decision ? !decision.refuting : null); // null as long as it is not known
const showSequent = () => (byId("sequent").textContent = sequentText(argument, follows()));

function showProgress(share) {
  byId("answer").replaceChildren(el("p", {}, `${Math.floor(100 * share)} % of ${number(2 ** argument.variables.length)} rows`));
}

function showAnswer(follows, title, text) {
  byId("answer").className = `answer ${follows === null ? "" : follows ? "yes" : "no"}`;
  const sign = follows === null ? "?" : follows ? "✓" : "✗";
  byId("answer").replaceChildren(el("span", { class: "sign", "aria-hidden": "true" }, sign),
    el("div", {}, el("strong", {}, title), el("p", {}, text)));
}

function showDecision(result) {
  decision = result;
  showAnswer(follows(), follows() ? "It follows." : "It does not follow.", explain(argument, result));
  if (document.body.classList.contains("unanswered")) byId("answer").replaceChildren();
  else showSequent();
  const verb = result.refuting === 1 ? "refutes" : "refute";
  const share = result.refuting ? `${number(result.refuting)} ${verb} it: ✗.` : "None refutes it.";
  const rows = `${number(result.rows)} ${result.rows === 1 ? "row" : "rows"}`;
  byId("table-note").textContent = `Each row is a possible world: ${rows}, ${number(result.models)} with true premises. ${share}`;
  showRow();
}

function showSample() {
  const countermodel = sampleCountermodel(argument.premises, argument.conclusion);
  const words = tooManyVariables(argument.variables.length);
  byId("table-note").textContent = words;
  byId("trees-note").textContent = countermodel ? `Where ${inWords(countermodel)}. ${POINT}` : "";
  if (!countermodel) return showAnswer(null, "Not decided here.", words);
  decision = { refuting: 1 }; // or more
  showSequent();
  showAnswer(false, "It does not follow.", `A random row refutes it: ${inWords(countermodel)}.`);
  trees.colour(countermodel);
}

// ---- rows and trees

// The row that is shown: the chosen one, else a countermodel, else one with true premises.
function currentRow() {
  if (!argument || argument.variables.length > DECIDED_VARIABLES) return null;
  if (state.row.length === argument.variables.length && state.row) return rowOf(state.row);
  return decision?.countermodel ?? firstSupporting();
}

function firstSupporting() {
  if (argument.variables.length > TABLE_VARIABLES) return 0;
  const { rows, verdict } = table.table;
  for (let row = rows - 1; row >= 0; row--) if (verdict(row)) return row;
  return rows - 1;
}

const rowOf = (bits) => [...bits].reduce((sum, bit, j) => sum + Number(bit) * 2 ** j, 0);

function chooseRow(row) {
  const values = [...assignmentOf(argument.variables, row).values()];
  state.row = values.map(Number).join("");
  state.world = "";
  showRow();
  showNetworks();
  remember();
}

function showRow() {
  if (!argument) return;
  const row = currentRow();
  table.select(argument.variables.length <= TABLE_VARIABLES ? row : null);
  if (!chosenWorld()) colourTrees();
}

function colourTrees() {
  const world = chosenWorld();
  const row = currentRow();
  if (!argument || (!world && row === null)) return;
  const assignment = world ? world.reading.assignment : assignmentOf(argument.variables, row);
  trees.colour(assignment, world && { nodes: world.reading.nodes, places: search.pair.places });
  const where = inWords(assignment) || "there are no variables";
  byId("trees-note").textContent = world
    ? `As the network takes it in world ${world.index + 1} (${world.who}), where ${where}. ${POINT}`
    : `In the chosen row, where ${where}. ${POINT}`;
}

// ---- networks

const startNetworks = () => inSlices(searching(), showNetworks, showNetworks, PAUSE);

function* searching() {
  try {
    const draw = (step, count) => randomNumbers(1000 * Number(state.seed) + step, count);
    search = new Search(argument, networks, Number(state.worlds), draw);
    byId("network").classList.remove("refused");
  } catch (error) {
    byId("world").replaceChildren(el("p", { class: "note" }, `The networks cannot take this argument: ${error.message}.`));
    byId("network").classList.add("refused");
    return;
  }
  while (!search.ends()) {
    search.advance();
    yield;
  }
}

function chosenWorld() {
  const match = /^(random|guided)-(\d+)$/.exec(state.world);
  if (!match || !search || search.steps < 0) return null;
  const [, who, index] = match;
  if (Number(index) >= search[who].scores[stepShown()].length) return null;
  return { who, index: Number(index), reading: search[who].read(stepShown(), Number(index)) };
}

function chooseWorld(who, index) {
  state.world = `${who}-${index}`;
  showNetworks();
  colourTrees();
  remember();
}

// The world that speaks most against the argument.
const lowest = (scores) => scores.reduce((best, z, i) => (z < scores[best] ? i : best), 0);

function showNetworks() {
  const step = stepShown();
  byId("network").setAttribute("aria-busy", Boolean(search && !search.ends()));
  byId("time").max = lastStep();
  byId("time").value = step;
  byId("time-value").textContent = step;
  if (!search || search.steps < 0) return;
  byId("phase").textContent = describeStep(search, step);
  const chosen = chosenWorld();
  for (const who of ["random", "guided"]) {
    const index = chosen?.who === who ? chosen.index : lowest(search[who].scores[step]);
    panels[who].show(search, step, index, argument, follows());
  }
  const who = chosen?.who ?? "guided";
  const index = chosen?.index ?? lowest(search.guided.scores[step]);
  const reading = search[who].read(step, index);
  const showIt = () => {
    chooseRow(rowOf([...reading.assignment.values()].map(Number)));
    byId("table-title").scrollIntoView({ behavior: reducedMotion() ? "auto" : "smooth" });
  };
  byId("world").replaceChildren(...describeWorld(who, index, step, reading, argument, table.table && showIt));
  if (chosen) colourTrees();
}

function setStep(step) {
  state.step = step >= lastStep() ? "" : String(Math.max(0, step));
  showNetworks();
  remember();
}

function stop() {
  clearInterval(playing);
  playing = null;
  byId("play").textContent = "▶ Watch";
}

function play() {
  if (playing) return stop();
  if (reducedMotion()) return setStep(lastStep());
  if (stepShown() >= lastStep()) setStep(0);
  byId("play").textContent = "❚❚ Pause";
  playing = setInterval(() => {
    setStep(stepShown() + 1);
    if (stepShown() >= lastStep()) stop();
  }, Math.min(FRAME, FILM / lastStep()));
}

// ---- exercises

function revealExercise(row) {
  document.body.classList.remove("unanswered");
  state.row = row;
  table.show(argument); // anew, now that it has a height
  if (decision) showDecision(decision);
  showNetworks();
  remember();
}

// ---- controls

function insert(symbol) {
  const field = byId(lastField);
  const { selectionStart: start, selectionEnd: end, value } = field;
  field.value = value.slice(0, start) + symbol + value.slice(end);
  field.focus();
  field.setSelectionRange(start + symbol.length, start + symbol.length);
  typed();
}

function typed() {
  const parts = splitSequent(byId("premises").value);
  if (parts) {
    byId("premises").value = parts[0];
    if (parts[1]) byId("conclusion").value = parts[1];
    byId("conclusion").focus();
  }
  update({ a: byId("premises").value, b: byId("conclusion").value, row: "", world: "" });
}

let lastField = "conclusion";
for (const field of ["premises", "conclusion"]) {
  byId(field).addEventListener("focus", () => (lastField = field));
  byId(field).addEventListener("input", typed);
}
byId("conclusion").addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
byId("symbols").append(...Object.entries(SYMBOLS).map(([symbol, name]) =>
  el("button", { type: "button", "aria-label": name, title: name, onclick: () => insert(symbol) }, symbol)));

const take = ({ a, b }) => update({ a, b, row: "", world: "", step: "" });
const named = (name) => examples.find((example) => example.name === name);
byId("chips").append(...CHIPS.filter(named).map((name) =>
  el("button", { type: "button", class: "chip", onclick: () => take(named(name)) }, name.replace(/ \(.*/, ""))));
byId("example").append(el("option", { value: "" }, `${examples.length} arguments …`),
  ...Object.keys(data.examples).map((group) => el("optgroup", { label: group },
    examples.filter((example) => example.group === group).map(({ name }) => el("option", { value: name }, name)))));
byId("example").addEventListener("change", (event) => event.target.value && take(named(event.target.value)));
byId("split").append(...SPLITS.map((split) => el("option", {}, split)));
byId("draw").addEventListener("click", () => {
  const pairs = data.samples[byId("split").value] ?? examples.map(({ a, b }) => [a, b]);
  const [a, b] = pairs[Math.floor(Math.random() * pairs.length)];
  const readable = (text) => text.split("\n").map((line) => toText(parse(line))).join("\n");
  take({ a: readable(a), b: readable(b) });
});

const copy = (id, text) => byId(id).addEventListener("click", async () => {
  const words = id === "copy-link" || !document.body.classList.contains("broken") ? text() : null;
  const done = words !== null && (await copyText(words));
  byId("copied").textContent = done ? "Copied." : "Could not copy.";
  setTimeout(() => (byId("copied").textContent = ""), 2000);
});
copy("copy-link", () => location.href.replace(/#.*/, "") + writeAddress(state));
copy("copy-latex", () => sequentText(argument, follows(), "latex"));
copy("copy-table", () => (argument.variables.length <= TABLE_VARIABLES ? table.latex(argument) : null));

byId("mode-explore").addEventListener("click", () => update({ mode: "explore" }));
byId("mode-exercise").addEventListener("click", () => {
  state.mode = "exercise";
  exercise.next(state.kind);
});
byId("play").addEventListener("click", play);
byId("step").addEventListener("click", () => (stop(), setStep(stepShown() >= lastStep() ? 0 : stepShown() + 1)));
byId("restart").addEventListener("click", () => (stop(), setStep(0)));
byId("time").addEventListener("input", (event) => (stop(), setStep(Number(event.target.value))));
byId("count").addEventListener("change", (event) => update({ worlds: event.target.value, world: "" }));
byId("redraw").addEventListener("click", () => update({ seed: String(1 + Math.floor(Math.random() * 1e6)), world: "" }));
byId("panels").append(panels.random.element, panels.guided.element);
addEventListener("resize", showNetworks);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("premises").focus();
});

startTheme(showNetworks);
showAll();
