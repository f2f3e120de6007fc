/** What is looked at stands behind the # of the address, so that a view has a link and a way back. */
const FIELDS = ["kernel", "plan", "buffer", "line", "side", "sort", "find", "theme"];

/** In a kernel, where it is come to. */
const NOWHERE = { plan: null, buffer: null, line: null, side: null };

let state = readState();

function readState() {
  const given = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(FIELDS.map((name) => [name, given.get(name)]));
}

/** The address behind the # with some changes; null removes. */
function hrefWith(changes) {
  const next = { ...state, ...changes };
  const kept = FIELDS.filter((name) => next[name] !== null && next[name] !== "").map((name) => [name, next[name]]);
  return `#${new URLSearchParams(kept)}`;
}

/** Goes to a view; `replace` where it is not worth a step back. */
function go(changes, { replace = false } = {}) {
  const hash = hrefWith(changes);
  if (hash === hrefWith({})) return;
  history[replace ? "replaceState" : "pushState"](null, "", hash);
  arrive();
}

/** Shows what the address says. */
function arrive() {
  state = readState();
  const theme = ["light", "dark"].includes(state.theme) ? state.theme : "";
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").value = theme;
  document.querySelector("h1 a").href = hrefWith({ kernel: null, ...NOWHERE });
  return show(state);
}

addEventListener("popstate", arrive);
document.getElementById("theme").addEventListener("change", (event) => go({ theme: event.target.value || null }));
