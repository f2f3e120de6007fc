"use strict";

const report = JSON.parse(document.getElementById("data").textContent);
const darkness = matchMedia("(prefers-color-scheme: dark)");
const number = (value) => value.toLocaleString("en-US");
const line = (value) => (value ? ` (line ${value})` : "");

const CONFIG = {
  responsive: true,
  displaylogo: false,
  modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
};

/** An element with text, never markup: names come from a dump. */
function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** A table row, the first cell its heading; columns named in `numeric` stand to the right. */
function row(cells, tag = "td", numeric = []) {
  const made = element("tr");
  cells.forEach((cell, index) => {
    const text = typeof cell === "number" ? number(cell) : cell;
    made.append(element(index ? tag : "th", text, numeric.includes(index) ? { class: "number" } : {}));
  });
  return made;
}

/** One kernel's section: which policy, buffer and position are chosen, and what that shows. */
class Kernel {
  constructor(view, index) {
    this.view = view;
    this.policies = Object.keys(view.policies);
    this.policy = this.policies.at(-1);
    this.buffer = null;
    this.section = document.getElementById("kernel").content.cloneNode(true).firstElementChild;
    this.section.id = `kernel-${index}`;
    this.part = (selector) => this.section.querySelector(selector);
    this.describe(index);
    this.listPolicies(index);
    this.listBuffers();
    const slider = this.part("input[type=range]");
    slider.max = Math.max(0, view.steps.length - 1);
    slider.addEventListener("input", () => this.goTo(Number(slider.value)));
    this.part(".peak").addEventListener("click", () => this.goTo(this.plan.peak.position));
  }

  get plan() {
    return this.view.policies[this.policy];
  }

  describe(index) {
    const { view } = this;
    const { title } = view;
    this.part("h2").textContent = title;
    this.part(".map").setAttribute("aria-label", `Memory map of ${title}`);
    const threads = view.threads ? `${number(view.threads)} threads` : "number of threads not known";
    const beside = view.beside_the_arena ? `; ${number(view.beside_the_arena)} bytes beside the arena` : "";
    const assumed = view.arch.assumed ? " (assumed: the kernel names no GPU)" : "";
    this.part(".about").textContent =
      `${view.file}: ${threads}${beside}. On ${view.arch.name}${assumed} a block may have ` +
      `${number(view.arch.per_block)} bytes, an SM has ${number(view.arch.per_sm)}.`;
    const link = element("a", title, { href: `#kernel-${index}` });
    const item = element("li");
    item.append(link);
    document.getElementById("contents").append(item);
  }

  /** Arena against lower bound, against the GPU, and before against after. */
  summarize() {
    const { view } = this;
    const table = this.part(".summary");
    const residents = (one) => (one.fits === false ? "does not fit" : `${one.blocks ?? "not known"}`);
    const share = (one, bytes) =>
      one.arena === undefined ? `${((100 * bytes) / view.arch.per_block).toFixed(1)} %` : "not known";
    const numeric = [1, 2, 3, 4, 7];
    const heads = ["", "arena", "of the block's limit", "lower bound", "gap", "proved smallest", "verdict", "blocks per SM"];
    const before = view.side_by_side;
    table.replaceChildren(
      row(heads, "th", numeric),
      row(["side by side", before.arena ?? before.bytes, share(before, before.bytes), "", "", "", "", residents(before)], "td", numeric),
      ...this.policies.map((name) => {
        const plan = view.policies[name];
        const made = row([
          name, plan.arena ?? plan.arena_bytes, share(plan, plan.arena_bytes), plan.lower_bound_bytes, plan.gap,
          plan.optimal ? "yes" : "no", plan.verdict, residents(plan),
        ], "td", numeric);
        if (name === this.policy) made.className = "chosen";
        return made;
      }),
    );
  }

  /** What the checker found against the chosen plan, left out, or relies on. */
  listFindings() {
    const { plan } = this;
    const found = [
      ...plan.notes,
      ...plan.violations.map((one) => `rule ${one.rule}, ${one.buffers.join(" and ")}: ${one.witness}`),
      ...plan.uncovered.map((reason) => `not covered: ${reason}`),
      ...plan.assumptions.map((reason) => `assuming that ${reason}`),
    ];
    this.part(".findings").replaceChildren(...found.map((text) => element("li", text)));
  }

  listPolicies(index) {
    for (const name of this.policies) {
      const label = element("label");
      const radio = element("input", "", { type: "radio", name: `policy-${index}`, value: name });
      radio.checked = name === this.policy;
      radio.addEventListener("change", () => {
        this.policy = name;
        this.show();
      });
      label.append(radio, ` ${name}`);
      this.part(".policies").append(label);
    }
  }

  listBuffers() {
    const table = this.part(".buffers");
    this.buttons = new Map();
    table.append(row(["buffer", "bytes", "offset", "live"], "th", [1, 2]));
    this.cells = new Map();
    for (const buffer of this.view.buffers) {
      const button = element("button", buffer.name, { type: "button", "aria-pressed": "false" });
      button.addEventListener("click", () => this.choose(buffer.name));
      this.buttons.set(buffer.name, button);
      const made = row(["", buffer.bytes ?? buffer.size, "", ""], "td", [1, 2]);
      made.firstChild.append(button);
      this.cells.set(buffer.name, made.children);
      table.append(made);
    }
  }

  /** Draws the chosen policy. */
  show() {
    this.summarize();
    this.listFindings();
    const places = new Map(this.plan.rectangles.map((one) => [one.name, one]));
    const symbolic = new Map(this.plan.symbolic.map((one) => [one.name, one.offset]));
    for (const [name, cells] of this.cells) {
      const place = places.get(name);
      cells[2].textContent = place ? number(place.offset) : (symbolic.get(name) ?? "not used");
      cells[3].textContent = place ? `${place.begin} to ${place.end - 1}` : "";
    }
    const figure = this.view.figures[this.policy];
    const ink = getComputedStyle(document.body).color;
    const layout = structuredClone(figure.layout);
    layout.modebar = { bgcolor: "rgba(0,0,0,0)" };
    layout.font = { color: ink, family: "system-ui, sans-serif" };
    for (const axis of ["xaxis", "xaxis2", "yaxis"]) {
      layout[axis] = { ...layout[axis], gridcolor: "rgba(128,128,128,.25)", linecolor: "rgba(128,128,128,.6)" };
    }
    this.shapes = layout.shapes ?? [];
    const map = this.part(".map");
    const isNew = !this.drawn;
    this.drawn = Plotly.react(map, figure.data, layout, CONFIG);
    if (isNew) {
      map.on("plotly_click", (event) => {
        const [name] = event.points.map((point) => point.customdata).filter(Boolean);
        if (name) this.choose(name);
      });
    }
    this.drawn.then(() => this.goTo(this.plan.peak.position));
    if (this.buffer) this.choose(this.buffer);
  }

  /** What is live at a position, in words and as a line in the map. */
  goTo(position) {
    const { view, plan } = this;
    this.part("input[type=range]").value = position;
    const step = view.steps[position];
    if (!step) return;
    const live = plan.rectangles.filter((one) => one.begin <= position && position < one.end);
    const bytes = live.reduce((sum, one) => sum + one.bytes, 0);
    const names = live.map((one) => `${one.name} (${number(one.bytes)})`).join(", ") || "nothing";
    const peak = position === plan.peak.position ? ", the peak" : "";
    const marks = view.marks
      .filter((mark) => mark.position === position)
      .map((mark) => `; before it ${mark.kind}: ${mark.text}${line(mark.line)}`);
    const output = this.part("output");
    output.replaceChildren(
      element("span", `${position}: `), element("code", step.text), element("span", line(step.line) + marks.join("")),
      element("br"), element("span", `live here${peak}: ${names}; ${number(bytes)} bytes`),
    );
    const cursor = {
      type: "line", xref: "x", yref: "paper", x0: position + 0.5, x1: position + 0.5, y0: 0, y1: 1,
      line: { color: darkness.matches ? "#ffb347" : "#b34700", width: 3 },
    };
    Plotly.relayout(this.part(".map"), { shapes: [...this.shapes, cursor] });
  }

  choose(name) {
    this.buffer = name;
    for (const [other, button] of this.buttons) button.setAttribute("aria-pressed", String(other === name));
    const shared = new Map(
      this.plan.shared
        .filter((one) => one.buffers.includes(name))
        .map((one) => [one.buffers.find((other) => other !== name), one.bytes]),
    );
    const list = element("dl");
    for (const pair of this.view.pairs.filter((one) => one.buffers.includes(name))) {
      const other = pair.buffers.find((one) => one !== name);
      const does = shared.has(other) ? `; shares ${number(shared.get(other))} bytes under ${this.policy}` : "";
      const term = element("dt", `${other}: `);
      term.append(
        element("span", pair.may_share ? `✓ ${pair.words}` : `✗ ${pair.words}, ${pair.forbidden_by}`, {
          class: pair.may_share ? "yes" : "no",
        }),
        does,
      );
      list.append(term);
      for (const reason of pair.may_share ? [] : [...pair.reasons, ...pair.witnesses]) list.append(element("dd", reason));
      if (pair.may_share && pair.outer) list.append(element("dd", `outer keeps them apart: ${pair.outer}`));
      for (const reason of pair.settled) list.append(element("dd", `settled by the byte trace: ${reason}`));
    }
    if (!list.children.length) list.append(element("dd", "There is no other buffer in use."));
    this.part(".who").replaceChildren(element("h3", `Who could share with ${name}?`), list);
  }
}

const kernels = report.kernels.map((view, index) => new Kernel(view, index));
document.getElementById("kernels").append(...kernels.map((kernel) => kernel.section));
const pending = new Map(kernels.map((kernel) => [kernel.section, kernel]));
const watcher = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting && !pending.get(target).drawn) pending.get(target).show();
    }
  },
  { rootMargin: "600px" },
);
for (const section of pending.keys()) watcher.observe(section);
darkness.addEventListener("change", () => kernels.filter((kernel) => kernel.drawn).forEach((kernel) => kernel.show()));
