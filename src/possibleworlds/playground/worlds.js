// The networks at work: worlds as a heat map, what each says, and how the guided ones move.

import { inWords, judge } from "./argument.js";
import { canvasOf, colour, el, number } from "./dom.js";
import { LETTERS, roundWorlds } from "./network.js";

const TITLES = { random: ["Random worlds", "possibleworldnet"], guided: ["Guided worlds", "guidedworldnet"] };
const [GUTTER, STRIP, CHART] = [62, 14, 132];

const mix = (one, other, share) => one.map((value, i) => Math.round(value + (other[i] - value) * share));
const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

// Whether a side is a variable alone, which the paper's training data have nowhere.
const bare = ({ premises, conclusion }) => conclusion.length === 1 || (premises.length === 1 && premises[0].length === 1);

// One network's panel; `choose` is called with the number of a world.
export class Panel {
  constructor(who, choose) {
    Object.assign(this, { who, choose, search: null });
    const [title, name] = TITLES[who];
    this.verdict = el("p", { class: "verdict" });
    this.facts = el("dl", { class: "facts" });
    this.map = el("canvas", {
      class: "map", role: "slider", tabindex: "0", "aria-label": `${title}: choose a world`, "aria-valuemin": 1,
      onpointerdown: (event) => this.point(event), onkeydown: (event) => this.key(event),
    });
    this.chart = el("canvas", { class: "chart", role: "img" });
    this.element = el("article", { class: `panel ${who}` },
      el("h3", {}, title, el("code", {}, name)), this.verdict, this.facts, this.map, this.chart);
  }

  // How many worlds there are at this step.
  get count() {
    return this.search[this.who].scores[this.step].length;
  }

  show(search, step, world, argument, follows) {
    Object.assign(this, { search, step, world, argument });
    this.element.classList.toggle("empty", !search);
    if (!search) return;
    const summary = search.summary(this.who, step);
    const says = summary.follows ? "follows" : "does not follow";
    const right = follows === null ? null : summary.follows === follows;
    const luck = summary.follows || summary.refuting ? "" : ", but without a countermodel";
    this.verdict.replaceChildren("says ", el("strong", { class: summary.follows ? "true" : "false" }, says),
      `, P(follows) = ${summary.probability.toFixed(4)} `,
      right === null ? "" : el("span", { class: right ? "right" : "wrong" }, right ? `✓ right${luck}` : "✗ wrong"),
      right === false && this.who === "random" && bare(argument) ? el("small", {}, " (it never saw a bare variable in training)") : "");
    const fact = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));
    const first = summary.firstAfter === null ? (follows ? "there is none" : "none yet") : `after ${number(summary.firstAfter)}`;
    const budget = this.who === "guided" ? ` of up to ${number(search.budget)}` : "";
    this.facts.replaceChildren(fact("worlds evaluated", number(summary.evaluations) + budget),
      fact("first countermodel", first),
      fact(this.who === "random" ? "countermodels so far" : "countermodels now",
        `${number(summary.refuting)} of ${number(summary.worlds)}`));
    this.drawMap();
    this.drawChart();
    const z = search[this.who].scores[step][world];
    this.map.setAttribute("aria-valuemax", this.count);
    this.map.setAttribute("aria-valuenow", world + 1);
    this.map.setAttribute("aria-valuetext", `World ${world + 1} of ${this.count}, score ${z.toFixed(1)}, ` +
      (z < 0 ? "speaks against it" : "speaks for it"));
  }

  // Each world a column; the numbers that stand for the argument's variables first, and higher.
  drawMap() {
    const { search, who, step, world, argument } = this;
    const { network, pair, worlds, scores, refutes, flipped } = search[who];
    const width = this.map.clientWidth || 320;
    const letters = argument.variables.map((name) => [name, LETTERS.indexOf(pair.letters.get(name)) % network.k]);
    const others = Array.from({ length: network.k }, (_, i) => i).filter((i) => !letters.some(([, at]) => at === i));
    const high = letters.length > 12 ? 11 : letters.length > 5 ? 14 : 20;
    const low = others.length ? Math.max(2, Math.round(66 / Math.max(22, others.length))) : 0;
    const top = letters.length * high + 3;
    const strips = top + others.length * low + 6;
    const context = canvasOf(this.map, width, strips + 2 * STRIP + 4);
    const columnWidth = (width - GUTTER - 2) / this.count;
    const [minus, zero, plus, calm, bad] = ["minus", "zero", "plus", "calm", "false"].map((name) => channels(colour(name)));
    const shade = (value) => `rgb(${mix(zero, value < 0 ? minus : plus, Math.abs(value)).join(" ")})`;
    const gap = columnWidth > 5 ? 1 : 0.4;
    context.strokeStyle = colour("ink");
    // Random worlds are drawn rounded; those that move are rounded where they arrive.
    const current = who === "random" ? roundWorlds(worlds[step], network) : worlds[step];
    for (let i = 0; i < this.count; i++) {
      const x = GUTTER + i * columnWidth;
      const cell = (y, height) => context.fillRect(x, y, columnWidth - gap, height);
      const at = i * network.k;
      letters.forEach(([, component], row) => {
        context.fillStyle = shade(current[at + component]);
        cell(row * high, high - 1);
        if (flipped[step]?.[i] === component) context.strokeRect(x + 0.5, row * high + 0.5, columnWidth - gap - 1, high - 2);
      });
      others.forEach((component, row) => {
        context.fillStyle = shade(0.55 * current[at + component]);
        cell(top + row * low, low);
      });
      const against = 1 / (1 + Math.exp(scores[step][i]));
      context.fillStyle = `rgb(${mix(calm, bad, against).join(" ")})`;
      cell(strips, STRIP - 2);
      context.fillStyle = `rgb(${(refutes[step][i] ? bad : calm).join(" ")})`;
      cell(strips + STRIP, STRIP - 2);
    }
    context.fillStyle = colour("ink");
    context.textAlign = "right";
    context.textBaseline = "middle";
    const label = (text, y) => {
      context.font = `${text.length > 8 || high < 12 ? 10 : 12}px system-ui, sans-serif`;
      context.fillText(text.length > 9 ? `${text.slice(0, 8)}…` : text, GUTTER - 6, y, GUTTER - 8);
    };
    letters.forEach(([name], row) => label(name, row * high + high / 2));
    context.fillStyle = colour("faint");
    if (others.length) label(letters.length ? `+ ${others.length} more` : "26", top + (others.length * low) / 2);
    label("network", strips + STRIP / 2 - 1);
    label("exact", strips + 1.5 * STRIP - 1);
    context.lineWidth = 2;
    context.strokeRect(GUTTER + world * columnWidth - 1, 1, columnWidth + 1, strips + 2 * STRIP - 2);
  }

  // The score of every world at every step: points for worlds drawn anew, lines for worlds that move.
  drawChart() {
    const { search, who, step, world } = this;
    const width = this.chart.clientWidth || 320;
    const context = canvasOf(this.chart, width, CHART);
    const all = [...search.random.scores, ...search.guided.scores];
    let [least, most] = [0, 0];
    for (const scores of all) for (const z of scores) [least, most] = [Math.min(least, z), Math.max(most, z)];
    const x = (t) => GUTTER + 6 + ((width - GUTTER - 14) * t) / Math.max(1, search.steps);
    const y = (z) => 8 + ((CHART - 30) * (most - z)) / (most - least || 1);
    context.fillStyle = colour("against");
    context.fillRect(GUTTER, y(0), width - GUTTER, CHART - 18 - y(0));
    const { scores, refutes, flipped } = search[who];
    const [yes, no] = [colour("true"), colour("false")]; // once: to ask for a style is slow
    const dot = (t, i, size) => {
      context.fillStyle = refutes[t][i] ? no : yes;
      context.fillRect(x(t) - size / 2, y(scores[t][i]) - size / 2, size, size);
    };
    const line = (points) => context.stroke(new Path2D(`M${points.map(([t, z]) => [x(t), y(z)]).join("L")}`));
    [context.globalAlpha, context.strokeStyle, context.lineWidth] = [0.35, yes, 1];
    if (who === "guided") {
      // Worlds that follow the gradient, then the moves of each chain: the flips made for good.
      const steps = Array.from({ length: step + 1 }, (_, t) => t);
      const descent = steps.filter((t) => t <= search.descent);
      for (let i = 0; i < search.n; i++) line(descent.map((t) => [t, scores[t][i]]));
      const moves = steps.filter((t) => flipped[t]?.length).map((t) => [t, scores[t].filter((_, i) => flipped[t][i] !== null)]);
      context.lineWidth = 2;
      for (let i = 0; i < search.chains.count; i++) line(moves.map(([t, made]) => [t, made[i]]));
    }
    for (let t = who === "guided" ? step : 0; t <= step; t++) scores[t].forEach((_, i) => dot(t, i, 3));
    context.globalAlpha = 1;
    dot(step, world, 7);
    [context.strokeStyle, context.lineWidth] = [colour("line"), 1];
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(GUTTER, y(0));
    context.lineTo(width, y(0));
    context.moveTo(x(step), 4);
    context.lineTo(x(step), CHART - 18);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = colour("faint");
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "right";
    context.fillText("for it", GUTTER - 6, Math.max(14, y(most / 2) + 4));
    context.fillText("against it", GUTTER - 6, Math.min(CHART - 20, y(least / 2) + 4));
    context.textAlign = "center";
    const spacing = [1, 2, 5, 10, 20, 50, 100].find((size) => search.steps <= 6 * size);
    for (let t = 0; t <= search.steps; t += spacing) {
      context.fillText(t || (who === "guided" ? "step 0" : "draw 0"), x(t) + (t ? Math.min(0, width - 10 - x(t)) : 12), CHART - 4);
    }
    const against = scores[step].filter((z) => z < 0).length;
    this.chart.setAttribute("aria-label", `${TITLES[who][0]} after step ${step}: ${against} of ${this.count} speak against it`);
  }

  point(event) {
    if (!this.search) return;
    const box = this.map.getBoundingClientRect();
    const share = (event.clientX - box.left - GUTTER) / (box.width - GUTTER - 2);
    this.choose(Math.max(0, Math.min(this.count - 1, Math.floor(share * this.count))));
  }

  key(event) {
    const n = this.search ? this.count : 1;
    const moves = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 8, PageDown: -8, Home: -n, End: n };
    if (!this.search || !(event.key in moves)) return;
    event.preventDefault();
    this.choose(Math.max(0, Math.min(n - 1, this.world + moves[event.key])));
  }
}

// What the guided network does in a step, and why it stops.
export function describeStep(search, step) {
  const { descent, moves, chains: { count, cost } } = search;
  const worlds = count === 1 ? "the best world" : `each of the ${count} best worlds`;
  const tried = !count ? (moves > 1 ? `of all worlds, the next ${cost} are tried` : `all ${cost} worlds are tried`)
    : search.guided.flipped[step]?.length ? `every flip of ${worlds} is tried, the best is made`
      : search.guided.flipped[step] ? "flips are tried where they change A or B most often" : "random worlds are tried";
  const what = !step ? "Both start from the same random worlds."
    : step <= descent ? `Gradient step ${step} of ${descent}: each guided world moves down z.`
      : `Move ${step - descent} of up to ${moves}: ${tried}.`;
  const end = search.best(step) < 0 ? "A world speaks against it: the search ends." : "The search ends: no world speaks against it.";
  return search.ends(step) ? `${what} ${end}` : what;
}

// The chosen world in words: read as an assignment, and what is true of it.
export function describeWorld(who, index, step, reading, argument, showRow) {
  const { z, numbers, assignment, refutes } = reading;
  const { reason } = judge(argument, assignment);
  const against = z < 0;
  const kind = against === refutes ? "It is right."
    : against ? "A false refutation." : "A missed countermodel.";
  const row = (name) => el("li", { class: assignment.get(name) ? "true" : "false" },
    el("b", {}, name), ` ${numbers.get(name).toFixed(2)} → ${assignment.get(name) ? "true" : "false"}`);
  const exact = refutes ? "the premises are true and the conclusion is false: a countermodel" : `${reason}: no countermodel`;
  return [
    el("h3", {}, `World ${index + 1}, ${who}, after ${step} ${step === 1 ? "step" : "steps"}`),
    el("p", {}, "The network reads it as a truth assignment:"),
    el("ul", { class: "reading" }, argument.variables.map(row)),
    el("p", {}, el("b", {}, "The network: "), `score ${z.toFixed(1)}, the world speaks ${against ? "against" : "for"} it. `,
      el("b", {}, "Exactly: "), `where ${inWords(assignment) || "there are no variables"}, ${exact}. `,
      el("b", { class: against === refutes ? "right" : "wrong" }, kind)),
    showRow && el("button", { type: "button", id: "show-row", onclick: showRow }, "Show this row in the truth table"),
  ].filter(Boolean);
}
