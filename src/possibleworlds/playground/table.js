// The truth table: a column for each sub-formula, rows that refute marked; only rows in view exist.

import { el, number } from "./dom.js";
import { isVariable, spans, toText } from "./syntax.js";
import { bitAt, evaluatePlaces, tableColumns, TABLE_VARIABLES } from "./truth.js";

const ROW_HEIGHT = 30; // as in the style sheet
const MARGIN = 12; // rows beyond the view that are made all the same
const MAX_COLUMNS = 80;

// Rows are shown as textbooks do, the first with everything true, the last variable changing
// fastest; as a number, a row has bit j set where variable j is true. This goes both ways.
export function mirrored(row, count) {
  let out = 0;
  for (let j = 0; j < count; j++) if (!((row >>> j) & 1)) out |= 1 << (count - 1 - j);
  return out;
}

// The columns of an argument's table, each with its bit set, and what each row says.
export function tableOf({ premises, conclusion, variables }) {
  const rows = 2 ** variables.length;
  const words = Math.max(1, rows / 32);
  const values = tableColumns(variables, 0, words);
  const columns = variables.map((name) => ({ rpn: [name], text: name, kind: "variable", bits: values.get(name) }));
  const possible = new Uint32Array(words).fill(0xffffffff);
  const known = new Set(variables);
  const add = (rpn, kind, title) => {
    const starts = spans(rpn);
    const bits = evaluatePlaces(rpn, values, words);
    rpn.slice(0, -1).forEach((symbol, place) => {
      const part = rpn.slice(starts[place], place + 1);
      const text = toText(part);
      if (isVariable(symbol) || known.has(text)) return;
      known.add(text);
      columns.push({ rpn: part, text, kind: "part", bits: bits[place] });
    });
    const text = toText(rpn);
    known.add(text);
    columns.push({ rpn, text, kind, title, bits: bits.at(-1) });
    return bits.at(-1);
  };
  premises.forEach((premise, i) => {
    const bits = add(premise, "premise", premises.length > 1 ? `premise ${i + 1}` : "premise");
    for (let w = 0; w < words; w++) possible[w] &= bits[w];
  });
  const holds = add(conclusion, "conclusion", "conclusion");
  const verdict = (row) => (bitAt(possible, row) ? (bitAt(holds, row) ? "supports" : "refutes") : "");
  return { rows, variables, columns, verdict };
}

const MARKS = { refutes: ["✗", "refutes"], supports: ["✓", "true as well"], "": ["", "a premise is false"] };

// A table in a box that scrolls; `choose` is called with the number of a row.
export class TableView {
  constructor(box, choose) {
    Object.assign(this, { box, choose, table: null, chosen: null });
    box.addEventListener("scroll", () => this.fill(), { passive: true });
    addEventListener("resize", () => this.fill());
  }

  show(argument) {
    const { box } = this;
    box.replaceChildren();
    this.table = this.body = null;
    if (argument.variables.length > TABLE_VARIABLES) {
      const rows = number(2 ** argument.variables.length);
      box.append(el("p", { class: "note" }, `${rows} rows: tables of up to ${TABLE_VARIABLES} variables are shown.`));
      return;
    }
    this.table = tableOf(argument);
    const hidden = this.table.columns.length - MAX_COLUMNS;
    if (hidden > 0) this.table.columns = this.table.columns.filter(({ kind }) => kind !== "part");
    const header = this.table.columns.map(({ text, kind, title }) =>
      el("th", { scope: "col", class: kind, title: text }, title ? el("small", {}, title) : null, el("span", {}, text)));
    this.body = el("tbody");
    const mark = el("th", { scope: "col", class: "mark" }, el("span", { class: "offscreen" }, "verdict"));
    this.grid = el("table", {
      role: "grid", tabindex: "0", "aria-label": "Truth table; the arrow keys choose a row",
      "aria-rowcount": this.table.rows + 1, onkeydown: (event) => this.key(event),
    }, el("thead", {}, el("tr", { "aria-rowindex": 1 }, mark, header)), this.body);
    box.append(this.grid);
    box.scrollTop = 0;
    this.first = null;
    this.fill();
  }

  // Make the rows that are in view, between two empty ones as high as all others.
  fill() {
    if (!this.table || !this.body) return;
    const { rows, variables, columns, verdict } = this.table;
    const height = this.box.clientHeight || 600;
    const first = Math.max(0, Math.min(rows, Math.floor(this.box.scrollTop / ROW_HEIGHT)) - MARGIN);
    const last = Math.min(rows, first + Math.ceil(height / ROW_HEIGHT) + 2 * MARGIN);
    if (this.first === first && this.last === last && this.shownChoice === this.chosen) return;
    Object.assign(this, { first, last, shownChoice: this.chosen });
    const space = (count) => {
      const cell = el("td", { colspan: columns.length + 1 });
      cell.style.height = `${count * ROW_HEIGHT}px`;
      return el("tr", { class: "space", "aria-hidden": "true" }, cell);
    };
    const lines = [];
    for (let i = first; i < last; i++) {
      const row = mirrored(i, variables.length);
      const kind = verdict(row);
      const [sign, words] = MARKS[kind];
      const cells = columns.map((column) => {
        const value = bitAt(column.bits, row);
        return el("td", { class: `${column.kind} ${value ? "true" : "false"}` }, value ? "T" : "F");
      });
      lines.push(el("tr", {
        id: `row-${row}`, class: kind || "idle", "aria-rowindex": i + 2,
        "aria-selected": row === this.chosen ? "true" : "false", onclick: () => this.choose(row),
      }, el("td", { class: "mark" }, sign, el("span", { class: "offscreen" }, words)), cells));
    }
    this.body.replaceChildren(...(first ? [space(first)] : []), ...lines, ...(last < rows ? [space(rows - last)] : []));
    const present = this.chosen !== null && this.body.querySelector(`#row-${this.chosen}`);
    if (present) this.grid.setAttribute("aria-activedescendant", `row-${this.chosen}`);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  // Mark a row, and scroll to where it is.
  select(row) {
    this.chosen = row;
    if (!this.table || !this.body) return;
    if (row !== null) {
      const { box } = this;
      const top = mirrored(row, this.table.variables.length) * ROW_HEIGHT;
      const room = box.clientHeight - 2 * ROW_HEIGHT - 20; // without the header
      if (top < box.scrollTop || top > box.scrollTop + room) box.scrollTop = Math.max(0, top - room / 2);
    }
    this.fill();
  }

  key(event) {
    const { rows, variables } = this.table;
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW_HEIGHT) - 2);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows, End: rows };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const from = this.chosen === null ? -1 : mirrored(this.chosen, variables.length);
    this.choose(mirrored(Math.max(0, Math.min(rows - 1, from + moves[event.key])), variables.length));
  }

  // The table as a LaTeX tabular.
  latex(argument) {
    const { rows, variables, columns, verdict } = tableOf(argument);
    const lines = [columns.map(({ rpn }) => `$${toText(rpn, "latex")}$`)];
    for (let i = 0; i < rows; i++) {
      const row = mirrored(i, variables.length);
      const cells = columns.map(({ bits }) => (bitAt(bits, row) ? "T" : "F"));
      if (verdict(row) === "refutes") cells.push("$\\times$");
      lines.push(cells);
    }
    const [head, ...body] = lines.map((cells) => `  ${cells.join(" & ")} \\\\`);
    return [`\\begin{tabular}{${"c".repeat(columns.length)}c}`, head, "  \\hline", ...body, "\\end{tabular}"].join("\n");
  }
}
