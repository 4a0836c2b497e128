// Exercises: does it follow? which row refutes it? With feedback, and a score.

import { inWords, judge, readArgument, sequentText } from "./argument.js";
import { el } from "./dom.js";
import { decideNow } from "./truth.js";

const KINDS = { follows: "Does it follow?", row: "Find a world that refutes it" };
const LEVELS = { textbook: "textbook", easy: "easy", hard: "hard" };
const MAX_VARIABLES = 10;

const drawn = (items) => items[Math.floor(Math.random() * items.length)];

export class Exercise {
  // `pairs` has for each level [premises, conclusion, follows]; `set` shows another argument.
  constructor(box, pairs, set, reveal) {
    Object.assign(this, { box, pairs, set, reveal, level: "textbook", right: 0, total: 0 });
  }

  // A new argument of the chosen kind and level.
  next(kind) {
    const pool = this.pairs[this.level];
    // As many that follow as do not, so that guessing gains nothing.
    const follows = kind === "follows" && Math.random() < 0.5;
    const [a, b] = drawn(pool.filter((pair) => pair[2] === follows));
    this.set({ a, b, kind, row: "", world: "" });
  }

  show(state, argument) {
    Object.assign(this, { argument, kind: state.kind, answered: false, tried: false });
    this.values = new Map((argument?.variables ?? []).map((name) => [name, true]));
    this.render();
  }

  render() {
    const { kind, argument } = this;
    const option = (chosen) => ([value, text]) => el("option", { value, selected: value === chosen }, text);
    const select = (id, label, options, chosen, change) => [
      el("label", { for: id }, label),
      el("select", { id, onchange: (event) => change(event.target.value) }, Object.entries(options).map(option(chosen))),
    ];
    this.feedback = el("p", { class: "feedback", role: "status", id: "feedback" });
    this.score = el("p", { class: "score", id: "score" });
    const pickers = el("div", { class: "pickers" },
      select("exercise-kind", "Exercise", KINDS, kind, (value) => this.next(value)),
      select("exercise-level", "Level", LEVELS, this.level, (value) => {
        this.level = value;
        this.next(kind);
      }));
    const button = (id, text, onclick) => el("button", { type: "button", id, class: "primary", onclick }, text);
    const next = el("button", { type: "button", id: "next", onclick: () => this.next(kind) }, "Next");
    const usable = argument && argument.variables.length <= MAX_VARIABLES;
    const decision = usable ? decideNow(argument.premises, argument.conclusion) : null;
    let question = [];
    if (!usable) {
      this.feedback.textContent = "No exercise with this argument.";
    } else if (kind === "follows") {
      question = [el("div", { class: "choices", role: "group", "aria-label": KINDS.follows },
        button("says-yes", "It follows", () => this.answer(true, decision)),
        button("says-no", "It does not follow", () => this.answer(false, decision)))];
    } else {
      const toggle = (name) => el("button", {
        type: "button", class: "toggle true", "aria-pressed": "true", onclick: (event) => this.toggle(name, event.currentTarget),
      }, el("span", { "aria-hidden": "true" }, el("b", {}, name), " T"), el("span", { class: "offscreen" }, `${name} is true`));
      question = [
        el("p", {}, "Choose the truth values that make all premises true and the conclusion false:"),
        el("div", { class: "choices", role: "group", "aria-label": "Truth values" }, argument.variables.map(toggle)),
        el("div", { class: "choices" }, button("check", "Check", () => this.check()),
          el("button", { type: "button", id: "none", onclick: () => this.check(decision) }, "There is none")),
      ];
    }
    this.box.replaceChildren(el("h2", { class: "hidden-title" }, "Exercise"), pickers,
      el("p", { class: "sequent" }, argument ? sequentText(argument, null) : ""), ...question, this.feedback,
      el("div", { class: "choices" }, next, this.score));
    this.count(null);
  }

  toggle(name, button) {
    const value = !this.values.get(name);
    this.values.set(name, value);
    button.setAttribute("aria-pressed", String(value));
    button.className = `toggle ${value}`;
    button.firstChild.lastChild.textContent = value ? " T" : " F";
    button.lastChild.textContent = `${name} is ${value}`;
  }

  answer(follows, { refuting }) {
    const right = follows === !refuting;
    this.tell(right, `${right ? "Right" : "No"}: it ${refuting ? "does not follow" : "follows"}.`);
    this.finish();
  }

  // Check the chosen values, or, with a decision, the claim that none refute it.
  check(decision) {
    if (decision) {
      this.tell(!decision.refuting, decision.refuting ? "There is one. Try again." : "Right: there is none, it follows.");
      if (!decision.refuting) this.finish();
      return;
    }
    const { refutes, reason } = judge(this.argument, this.values);
    this.tell(refutes, refutes ? `Right: ${inWords(this.values)}.` : `Not that one: there ${reason}. Try again.`);
    if (refutes) this.finish([...this.values.values()].map(Number).join(""));
  }

  tell(right, text) {
    this.feedback.textContent = text;
    this.feedback.className = `feedback ${right ? "right" : "wrong"}`;
    if (!this.tried) this.count(right);
    this.tried = true;
  }

  finish(row = "") {
    if (this.answered) return;
    this.answered = true;
    this.box.querySelector("#next").classList.add("primary");
    this.reveal(row);
  }

  // Only the first try counts.
  count(right) {
    if (right !== null) {
      this.total += 1;
      this.right += right ? 1 : 0;
    }
    this.score.textContent = `Score: ${this.right} of ${this.total}`;
  }
}

// The pairs of each level: those with names, and those of the data sets with few variables.
export function exercisePairs(examples, samples) {
  const few = (pairs, most) => pairs
    .map(([a, b, label]) => [a, b, label === "1"])
    .filter(([a, b]) => readArgument(a, b).variables.length <= most);
  return { textbook: examples, easy: few(samples.easy, 4), hard: few(samples.hard, 6) };
}
