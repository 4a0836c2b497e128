// Syntax trees, each node coloured by its truth value in the chosen row or world.

import { el, svg } from "./dom.js";
import { ARITY, toText } from "./syntax.js";
import { evaluatePlaces } from "./truth.js";

const [MAX_NODES_DRAWN, MAX_HEIGHT] = [400, 1500];
const [LEVEL, GAP, RADIUS] = [54, 12, 16];
const WIDE = 560; // a tree that needs the whole width of the page
const SIGN = { __proto__: null, "~": "¬", "&": "∧", "|": "∨", ">": "→", "=": "↔", "1": "⊤", "0": "⊥" };

// Where each node of a formula goes: leaves from left to right, parents above the middle.
export function layoutOf(rpn) {
  const nodes = [];
  const stack = [];
  let right = 0;
  rpn.forEach((symbol, place) => {
    const label = SIGN[symbol] ?? (symbol.length > 14 ? `${symbol.slice(0, 13)}…` : symbol);
    const half = Math.max(RADIUS, 5 * [...label].length + 6);
    const children = stack.splice(stack.length - (ARITY[symbol] ?? 0));
    let x = children.reduce((sum, child) => sum + nodes[child].x / children.length, 0);
    if (!children.length) {
      x = right + half;
      right = x + half + GAP;
    }
    nodes.push({ place, symbol, label, half, children, x, parent: -1, level: 0, start: nodes[children[0]]?.start ?? place });
    for (const child of children) nodes[child].parent = place;
    stack.push(place);
  });
  let depth = 0;
  for (let place = rpn.length - 2; place >= 0; place--) {
    nodes[place].level = nodes[nodes[place].parent].level + 1;
    depth = Math.max(depth, nodes[place].level);
  }
  return { nodes, width: Math.max(right - GAP, 2 * RADIUS) + 8, height: depth * LEVEL + 2 * RADIUS + 24 };
}

// A drawn formula. `values` has for each place whether it is true, and, for a world, what the
// network takes it for; `tell` is called with words about the node under the pointer.
class TreeView {
  constructor(rpn, title, tell) {
    Object.assign(this, { rpn, tell });
    const layout = layoutOf(rpn.length > MAX_NODES_DRAWN ? [] : rpn);
    const { nodes, width, height } = layout.height > MAX_HEIGHT ? layoutOf([]) : layout;
    this.nodes = nodes;
    const y = ({ level }) => level * LEVEL + RADIUS + 4;
    const edges = nodes.filter(({ parent }) => parent >= 0).map((node) => {
      const parent = nodes[node.parent];
      return svg("line", { x1: node.x + 4, y1: y(node), x2: parent.x + 4, y2: y(parent) });
    });
    this.groups = nodes.map((node) => svg("g", {
      class: "node", role: "treeitem", tabindex: "-1", "aria-level": node.level + 1,
      transform: `translate(${node.x + 4} ${y(node)})`,
      onpointerenter: () => this.point(node.place), onclick: () => this.focus(node.place),
      onfocus: () => this.point(node.place), onkeydown: (event) => this.key(event, node),
    },
    svg("title"), svg("rect", { x: -node.half, y: -RADIUS, width: 2 * node.half, height: 2 * RADIUS, rx: RADIUS }),
    svg("text", { class: "label", y: 1, "aria-hidden": "true" }, node.label),
    svg("text", { class: "value", x: node.half - 1, y: RADIUS + 2, "aria-hidden": "true" })));
    this.groups.at(-1)?.setAttribute("tabindex", "0");
    this.edges = edges;
    this.element = svg("svg", {
      role: "tree", "aria-label": title, width, height, viewBox: `0 0 ${width} ${height}`,
    }, svg("g", { class: "edges", "aria-hidden": "true" }, edges), this.groups);
    this.width = width;
    this.element.style.minWidth = `${Math.round(0.8 * width)}px`; // smaller could not be read
    if (!nodes.length) this.element = el("p", { class: "note" }, "too large to draw");
  }

  colour(values, judgements) {
    this.values = values;
    this.judgements = judgements;
    this.groups.forEach((group, place) => {
      const shown = judgements ? judgements[place] : values[place];
      const differs = judgements && judgements[place] !== values[place];
      group.setAttribute("class", `node ${shown ? "true" : "false"}${differs ? " differs" : ""}`);
      group.firstChild.textContent = this.words(place);
      group.lastChild.textContent = shown ? "T" : "F";
      const edge = this.edges[place];
      if (edge) edge.setAttribute("class", shown ? "true" : "false");
    });
  }

  words(place) {
    const text = toText(this.rpn.slice(this.nodes[place].start, place + 1));
    const value = this.values[place];
    if (this.judgements && this.judgements[place] !== value) {
      return `${text} is ${value}, but the network takes it for ${this.judgements[place]}`;
    }
    return `${text} is ${value}`;
  }

  point(place) {
    const { start } = this.nodes[place];
    this.groups.forEach((group, i) => group.classList.toggle("within", i >= start && i <= place));
    this.edges.forEach((edge, i) => edge.classList.toggle("within", i >= start && i < place));
    this.tell(this.words(place));
  }

  focus(place) {
    for (const group of this.groups) group.setAttribute("tabindex", "-1");
    this.groups[place].setAttribute("tabindex", "0");
    this.groups[place].focus();
  }

  key(event, node) {
    const level = this.nodes.filter((other) => other.level === node.level).sort((one, other) => one.x - other.x);
    const at = level.indexOf(node);
    const target = {
      ArrowUp: this.nodes[node.parent], ArrowDown: this.nodes[node.children[0]],
      ArrowLeft: level[at - 1], ArrowRight: level[at + 1], Home: this.nodes.at(-1),
    }[event.key];
    if (!target) return;
    event.preventDefault();
    this.focus(target.place);
  }
}

// The trees of all premises and of the conclusion.
export class Trees {
  constructor(box, tell) {
    Object.assign(this, { box, tell, trees: [] });
  }

  show({ premises, conclusion }) {
    const titles = premises.map((_, i) => (premises.length > 1 ? `premise ${i + 1}` : "premise"));
    this.trees = [...premises, conclusion].map((rpn, i) => {
      const title = titles[i] ?? "conclusion";
      const view = new TreeView(rpn, `Tree of the ${title}: ${toText(rpn).slice(0, 200)}`, this.tell);
      return { rpn, title, view, last: i === premises.length };
    });
    document.body.classList.toggle("wide", this.trees.some(({ view }) => view.width > WIDE));
    this.box.replaceChildren(...this.trees.map(({ last, title, view }) => el("figure", { class: last ? "conclusion" : "premise" },
      el("div", { class: "scroll" }, view.element), el("figcaption", {}, title))));
    for (const { view: { nodes, width, element: { parentNode: box } } } of this.trees) {
      box.scrollLeft = ((nodes.at(-1)?.x ?? 0) / width) * box.scrollWidth - box.clientWidth / 2; // to the root
    }
  }

  // Colour all nodes in an assignment; `judgements` has what a network takes its nodes for, and
  // which nodes the places of A, all premises joined by ∧, and of B are.
  colour(assignment, judgements) {
    const columns = new Map([...assignment].map(([name, value]) => [name, Uint32Array.of(value ? 1 : 0)]));
    let start = 0;
    this.trees.forEach(({ rpn, last, view }, i) => {
      const values = evaluatePlaces(rpn, columns, 1).map((bits) => (bits[0] & 1) === 1);
      const places = judgements?.places[last ? 1 : 0];
      const from = last ? 0 : start;
      view.colour(values, places ? rpn.map((_, place) => judgements.nodes[places[from + place]]) : null);
      start += rpn.length + (i > 0 ? 1 : 0); // an ∧ stands after each premise but the first
    });
  }
}
