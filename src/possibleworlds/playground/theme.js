// Light or dark: as the system has it, until somebody chooses.

import { byId } from "./dom.js";

function stored(value) {
  try {
    if (value !== undefined) localStorage.setItem("theme", value);
    return localStorage.getItem("theme");
  } catch {
    return value; // where a page from a file may keep nothing
  }
}

// `redraw` is called when colours have changed.
export function startTheme(redraw) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => (["dark", "light"].includes(stored()) ? stored() : system.matches ? "dark" : "light");
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    byId("theme").setAttribute("aria-label", `Switch to ${theme === "dark" ? "light" : "dark"} colours`);
    redraw();
  };
  system.addEventListener("change", () => show(chosen()));
  byId("theme").addEventListener("click", () =>
    show(stored(document.documentElement.dataset.theme === "dark" ? "light" : "dark")));
  show(chosen());
}
