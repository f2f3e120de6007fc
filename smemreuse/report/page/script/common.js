"use strict";

const number = (value) => value.toLocaleString("en-US");

/** Bytes beyond the lower bound, in percent of it, as the terminal has it. */
function aboveText(arena, bound) {
  if (!bound) return "-";
  if (arena === bound) return "0 %";
  const above = (100 * (arena - bound)) / bound;
  return `+${above >= 0.05 ? above.toFixed(1) : above.toFixed(3)} %`;
}

/** An element with text, never markup: names come from a dump. */
function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  return made;
}

/** A witness as a timeline, folded: agents side by side; nothing where there is none. */
function timeline(drawn) {
  if (!drawn) return [];
  const details = element("details", "", { class: "about timeline" });
  details.append(element("summary", "Timeline"), element("pre", drawn));
  return [details];
}

/** A button that does something. */
function button(text, act, attributes = {}) {
  const made = element("button", text, { type: "button", ...attributes });
  made.addEventListener("click", act);
  return made;
}

/** A table row of texts or nodes, the first cell its heading; `heads` are repeated on narrow screens. */
function row(heads, cells, tag = "td") {
  const made = element("tr");
  cells.forEach((cell, index) => {
    const head = heads[index];
    const attributes = { class: head.numeric ? "number" : null, "data-head": tag === "td" ? head.label : null };
    const scope = tag === "th" ? "col" : "row";
    const one = element(index && tag === "td" ? "td" : "th", "", index && tag === "td" ? attributes : { ...attributes, scope });
    one.append(typeof cell === "number" ? number(cell) : (cell ?? ""));
    made.append(one);
  });
  return made;
}

/** A copy of a template's only element. */
function copyOf(id) {
  return document.getElementById(id).content.cloneNode(true).firstElementChild;
}

/** The data of a kernel, packed with gzip. */
async function unpacked(script) {
  const bytes = Uint8Array.from(atob(script.textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** A text in which each `line 62` of the listing is a link that calls `useLine`. */
function linked(text, listing, useLine) {
  const made = document.createDocumentFragment();
  const last = listing.first + listing.lines.length;
  let done = 0;
  for (const match of text.matchAll(/\bline (\d+)\b/g)) {
    const line = Number(match[1]);
    if (listing.kind !== "dump" || line < listing.first || line >= last) continue;
    made.append(text.slice(done, match.index), lineLink(line, listing.side ?? null, useLine, match[0]));
    done = match.index + match[0].length;
  }
  made.append(text.slice(done));
  return made;
}

/** A link to a line of the listing on a side of the page. */
function lineLink(line, side, useLine, text) {
  const link = element("a", text, { href: hrefWith({ line, side }), class: "line-link" });
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    useLine(line);
  });
  return link;
}
