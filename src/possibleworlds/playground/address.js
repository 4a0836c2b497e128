// What the page shows, in its address: #a=PREMISES&b=CONCLUSION and further keys where not as usual.

const USUAL = { mode: "explore", kind: "follows", row: "", world: "", step: "", seed: "1", worlds: "64" };
const VALID = {
  mode: /^(explore|exercise)$/,
  kind: /^(follows|row)$/,
  row: /^[01]{1,26}$/, // the truth values of the variables, in the order of their occurrence
  world: /^(random|guided)-\d{1,4}$/,
  step: /^\d{1,3}$/,
  seed: /^\d{1,9}$/,
  worlds: /^(16|32|64|128)$/,
};

export const START = { a: "rain -> wet\nwet", b: "rain", ...USUAL };

// Whatever an address says, the result is a state that the page can show.
export function readAddress(hash) {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  if (!values.has("a") && !values.has("b") && !values.has("mode")) return { ...START };
  const state = { ...USUAL, a: "", b: "" };
  for (const key in VALID) {
    const value = values.get(key);
    if (value !== null && VALID[key].test(value)) state[key] = value;
  }
  // Premises are joined by semicolons; those after a backslash are LaTeX's spaces.
  state.a = (values.get("a") ?? "").replace(/(?<!\\);\s*/g, "\n");
  state.b = values.get("b") ?? "";
  return state;
}

export function writeAddress(state) {
  const values = new URLSearchParams();
  values.set("a", state.a.trim().replace(/\s*\n\s*/g, "; "));
  values.set("b", state.b.trim());
  for (const key in USUAL) if (String(state[key]) !== USUAL[key]) values.set(key, state[key]);
  return `#${values}`;
}
