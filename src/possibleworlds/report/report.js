// Without this script the page is complete; with it, tables sort and the line under the pointer comes to the front.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const original = [...body.rows];
  heads.forEach((head, column) => {
    if (!head.textContent || original.length < 3) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(head.firstChild);
    head.prepend(button);
    button.addEventListener("click", () => {
      const order = { none: "descending", descending: "ascending", ascending: "none" }[head.ariaSort ?? "none"];
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (order !== "none") head.setAttribute("aria-sort", order);
      body.append(...(order === "none" ? original : sorted(original, column, order === "ascending" ? 1 : -1)));
    });
  });
}

// Numbers before words, and empty cells last, whatever the direction.
function sorted(rows, column, sign) {
  const key = (row) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  return rows.toSorted((left, right) => {
    const [a, b] = [key(left), key(right)];
    if (a === "" || b === "") return (a === "") - (b === "");
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b));
  });
}

for (const line of document.querySelectorAll(".line")) {
  line.addEventListener("pointerenter", () => {
    if (line !== line.parentNode.lastElementChild) line.parentNode.append(line);
  });
}
