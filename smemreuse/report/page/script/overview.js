const percent = (part) => (part === null ? "not known" : `${(100 * part).toFixed(part && Math.abs(part) < 0.001 ? 2 : 1)} %`);
/** Blocks on an SM, and whether registers stop more: as in the terminal. */
const registersStop = (resident, blocks) => (resident ?? blocks) !== blocks;
const residentText = (resident, blocks) => (registersStop(resident, blocks) ? `${resident} (regs)` : `${blocks ?? "?"}`);
/** The same before and after; once where the number is one. */
function blocksText({ blocks, resident = blocks }) {
  const [was, is] = blocks.map((one, index) => resident[index] ?? one);
  const now = residentText(resident[1], blocks[1]);
  return was === is ? now : `${was ?? "?"} → ${now}`;
}
const byRegisters = (resident, blocks, registers) => `registers allow ${resident}${registers ? ` (${registers})` : ""}; shared memory, threads and barriers would allow ${blocks}`;
const VERDICTS = ["unsound", "unproved", "sound"];

/** Columns of kernels that are planned. */
const PLANNED = [
  { id: "kernel", label: "kernel", value: nameOf, cell: kernelLink },
  { id: "before", label: "before", numeric: true, value: (one) => one.before, cell: (one) => one.before_text ?? one.before },
  { id: "after", label: "after", numeric: true, value: (one) => one.after, cell: (one) => one.after_text ?? one.after },
  { id: "bound", label: "lower bound", numeric: true, value: (one) => one.bound, cell: (one) => one.bound },
  { id: "saved", label: "saved", numeric: true, value: (one) => one.saved ?? -Infinity, cell: savedCell },
  { id: "above", label: "above bound", numeric: true, value: (one) => (one.bound ? one.after / one.bound : 0), cell: (one) => aboveText(one.after, one.bound) },
  { id: "blocks", label: "blocks per SM", numeric: true, value: (one) => one.resident[1] ?? -1, cell: blocksCell },
  { id: "more", label: "one more block", value: (one) => one.one_more_bytes ?? Infinity, cell: (one) => one.one_more },
  { id: "hazards", label: "hazards", value: (one) => one.gravity ?? -1, cell: hazardsCell },
  { id: "buffers", label: "buffers", numeric: true, value: (one) => one.buffers, cell: (one) => one.buffers },
  { id: "verdict", label: "verdict", value: (one) => VERDICTS.indexOf(one.verdict), cell: (one) => element("span", one.verdict, { class: `verdict ${one.verdict}` }) },
];

/** Columns whose largest come first when they are asked for. */
const MOST_FIRST = new Set(["saved", "change", "hazards"]);

/** Of many kernels some may have no map; where all have, nothing is said of places. */
const hasMap = (one) => one.map !== null;
const placeOf = (one, index) => one.map ?? index;

/** The title without its file, which stands below the link. */
function nameOf({ title, file }) {
  const before = `${file.split("/").at(-1)}: `;
  return title.startsWith(before) ? title.slice(before.length) : title;
}

function kernelLink(one) {
  const made = document.createDocumentFragment();
  const link = hasMap(one)
    ? element("a", nameOf(one), { href: hrefWith({ kernel: one.title, ...NOWHERE }) })
    : element("span", nameOf(one));
  made.append(link, element("span", hasMap(one) ? one.file : `${one.file} · no map`, { class: "file" }));
  return made;
}

/** What is saved as a number, and as a bar: what is left of before, with a tick at the lower bound. */
function savedCell(one) {
  const made = element("span", percent(one.saved), { class: "saved" });
  if (one.saved === null) return made;
  const width = (bytes) => `${Math.min(100, (100 * bytes) / Math.max(one.before, one.after, 1)).toFixed(2)}%`;
  made.append(element("i", "", { class: "bar", "aria-hidden": "true", style: `--after:${width(one.after)};--bound:${width(one.bound)}` }));
  return made;
}

function blocksCell(one) {
  const words = blocksText(one);
  const [resident, blocks] = [one.resident?.[1], one.blocks[1]];
  const stopped = registersStop(resident, blocks) ? byRegisters(resident, blocks) : "";
  const by = one.resident === undefined ? "by memory and threads" : stopped;
  const assumed = one.arch_assumed ? ", assumed: the kernel names no GPU" : "";
  const made = element("span", words, { title: `on ${one.arch}${assumed}${by && `; ${by}`}` });
  if (one.arch_assumed) made.append("*");
  return made;
}

function hazardsCell(one) {
  return one.summary ? element("span", one.summary, { class: `gravity-${one.gravity}` }) : "";
}

/** All kernels as a table that is sorted and searched. */
class Overview {
  constructor(rows, columns, totals) {
    this.sums = totals;
    this.rows = rows.map((one) => ({ ...one, text: [one.title, one.file, one.verdict ?? "", one.plan ?? "", ...one.names].join(" ").toLowerCase() }));
    const known = rows.some((one) => !one.arch_assumed);
    const told = { blocks: known, more: known && rows.some((one) => one.one_more), hazards: rows.some((one) => one.summary) };
    this.columns = columns.filter((one) => told[one.id] ?? true);
    this.section = copyOf("overview");
    this.part = (selector) => this.section.querySelector(selector);
    this.field = this.part("input");
    this.field.addEventListener("input", () => go({ find: this.field.value || null }, { replace: true }));
    this.lines = new Map();
    this.part(".legend").hidden = columns !== PLANNED;
    this.part(".notes").replaceChildren(...(report.notes ?? []).map((text) => element("li", text)));
    this.head();
  }

  head() {
    const line = element("tr");
    this.heads = new Map();
    for (const { id, label, numeric } of this.columns) {
      const cell = element("th", "", { scope: "col", class: numeric ? "number" : null });
      cell.append(button(label, () => this.sortBy(id)));
      this.heads.set(id, cell);
      line.append(cell);
    }
    this.part("thead").append(line);
  }

  /** Words and numbers ascend first, but for what is saved: there the best come first. */
  sortBy(id) {
    const { column, descends } = this.order(state);
    const first = MOST_FIRST.has(id) ? `-${id}` : id;
    const second = MOST_FIRST.has(id) ? id : `-${id}`;
    const isFirst = column?.id === id && descends === first.startsWith("-");
    go({ sort: isFirst ? second : first });
    this.heads.get(id).firstChild.focus();
  }

  order({ sort }) {
    const descends = sort?.startsWith("-") ?? false;
    return { column: this.columns.find((one) => one.id === (sort ?? "").replace("-", "")), descends };
  }

  /** The rows that are found, in their order. */
  shown(given) {
    const words = (given.find ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.rows.filter((one) => words.every((word) => one.text.includes(word)));
    const { column, descends } = this.order(given);
    if (!column) return found;
    const { value } = column;
    const compare = (one, two) => (typeof one === "string" ? one.localeCompare(two, "en", { numeric: true }) : one - two);
    return found.sort((one, two) => compare(value(one), value(two)) * (descends ? -1 : 1) || compare(one.title, two.title));
  }

  show(given) {
    const found = this.shown(given);
    if (this.field.value !== (given.find ?? "")) this.field.value = given.find ?? "";
    const { column, descends } = this.order(given);
    for (const [id, cell] of this.heads) {
      if (id === column?.id) cell.setAttribute("aria-sort", descends ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    const lines = found.map((one) => row(this.columns, this.columns.map((column) => column.cell(one))));
    this.part("tbody").replaceChildren(...lines);
    this.part(".none").hidden = found.length > 0;
    this.part(".totals").replaceChildren(...this.sums(found, this.rows));
  }
}

/** How many kernels rows are of: of one in several storage scopes, and of two of one name. */
function countKernels(rows) {
  const scopes = Map.groupBy(rows, (one) => JSON.stringify([one.file, one.kernel, one.scope]));
  const most = new Map();
  for (const [{ file, kernel }, ...more] of scopes.values()) {
    const key = JSON.stringify([file, kernel]);
    most.set(key, Math.max(most.get(key) ?? 0, 1 + more.length));
  }
  return [...most.values()].reduce((all, one) => all + one, 0);
}

/** How many kernels are shown of all, and of how many storage scopes where these are more. */
function counted(found, all) {
  const [shown, total] = [countKernels(found), countKernels(all)];
  const scopes = found.length > shown ? ` in ${found.length} storage scopes` : "";
  return element("strong", `${shown === total ? total : `${shown} of ${total}`} ${total === 1 ? "kernel" : "kernels"}${scopes}`);
}

/** The sums of the planned kernels that are shown, over those whose sizes are known. */
function plannedTotals(found, all) {
  const known = found.filter((one) => one.saved !== null);
  const sum = (name) => known.reduce((all, one) => all + one[name], 0);
  const [before, after] = [sum("before"), sum("after")];
  const smaller = known.filter((one) => one.after < one.before).length;
  const gaining = found.filter(({ resident: [was, is] }) => was !== null && is !== null && is > was).length;
  const against = [...new Set(found.map((one) => one.compared_with))].join(" or ");
  const verdicts = VERDICTS.toReversed()
    .map((name) => [found.filter((one) => one.verdict === name).length, name])
    .filter(([count]) => count);
  const parts = [
    counted(found, all),
    ...(before ? [element("span", `${number(after)} bytes, ${percent(Math.abs(1 - after / before))} ${after > before ? "more" : "less"} than ${against} (${number(before)})`)] : []),
    element("span", `${smaller} smaller`),
    ...(gaining ? [element("span", `${gaining} gain${gaining === 1 ? "s" : ""} a block`)] : []),
    ...verdicts.map(([count, name]) => element("span", `${count} ${name}`, { class: `verdict ${name}` })),
  ];
  const isAssumed = found.some((one) => one.arch_assumed) && !found.every((one) => one.arch_assumed);
  if (isAssumed) parts.push(element("span", "* for an assumed GPU: the kernel names none"));
  return parts;
}
