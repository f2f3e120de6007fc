const SUMMARY = [
  { label: "plan" },
  { label: "arena", numeric: true },
  { label: "of the limit", numeric: true },
  { label: "lower bound", numeric: true },
  { label: "above bound", numeric: true },
  { label: "proved smallest" },
  { label: "verdict" },
  { label: "left to the limit", numeric: true },
  { label: "blocks per SM", numeric: true },
  { label: "one more block" },
];
const BUFFERS = [{ label: "buffer" }, { label: "bytes", numeric: true }, { label: "offset", numeric: true }, { label: "live" }];

/** The way back to the overview, and on to the neighbours in its order. */
function showTrail(trail, title) {
  if (report.rows.length < 2) return;
  const shown = overview.shown(state).filter(hasMap);
  const here = shown.findIndex((one) => one.title === title);
  const to = (one, words, name) => element("a", words, { href: hrefWith({ kernel: one.title, ...NOWHERE }), class: name, title: one.title });
  const parts = [element("a", "← All kernels", { href: hrefWith({ kernel: null, ...NOWHERE }), class: "back" })];
  if (here > 0) parts.push(to(shown[here - 1], "‹ previous", "previous"));
  parts.push(element("span", here < 0 ? "" : `${here + 1} of ${shown.length}`));
  if (here >= 0 && here + 1 < shown.length) parts.push(to(shown[here + 1], "next ›", "next"));
  trail.replaceChildren(...parts);
}

/** One kernel: its plans, the map of one, its listing, and who could share with a chosen buffer. */
class KernelView {
  constructor(view) {
    this.view = view;
    this.policies = Object.keys(view.policies);
    this.section = copyOf("kernel");
    this.part = (selector) => this.section.querySelector(selector);
    const touches = new Touches(view);
    const on = {
      buffer: (name) => go({ buffer: name === state.buffer ? null : name, line: null }),
      line: (line) => go({ line: line === Number(state.line) ? null : line, buffer: null }),
      use: (line) => go({ line }),
    };
    this.on = on;
    this.describe();
    this.map = new MemoryMap(this.part(".map"), view, touches, on);
    this.source = new Source(this.part(".source"), view, touches, on);
    this.listPlans();
    this.listBuffers();
    this.listHazards();
    this.source.isAsked = false;
  }

  describe() {
    const { view } = this;
    const { title } = view;
    this.part("h2").textContent = title;
    const threads = view.threads ? `${number(view.threads)} threads` : "number of threads not known";
    const beside = view.beside_the_arena ? `; ${number(view.beside_the_arena)} bytes beside the arena` : "";
    const assumed = view.arch.assumed ? " (assumed: the kernel names no GPU)" : "";
    this.part(".about").textContent =
      `${view.file}: ${threads}${beside}. On ${view.arch.name}${assumed} a block may have ` +
      `${number(view.arch.per_block)} bytes, an SM has ${number(view.arch.per_sm)}.`;
  }

  /** Arena against lower bound, against the GPU, and before against after; a plan is chosen here. */
  listPlans() {
    const { view } = this;
    const residents = (one) => {
      if (one.fits === false) return "does not fit";
      if (one.blocks === null) return "not known";
      const words = residentText(one.resident, one.blocks);
      if (!registersStop(one.resident, one.blocks)) return words;
      return element("span", words, { title: byRegisters(one.resident, one.blocks, one.registers) });
    };
    const share = (one, bytes) =>
      one.arena === undefined ? `${((100 * bytes) / view.arch.per_block).toFixed(1)} %` : "not known";
    const before = view.side_by_side;
    this.plans = new Map();
    const rows = this.policies.map((name) => {
      const plan = view.policies[name];
      const label = element("label");
      const radio = element("input", "", { type: "radio", name: "plan", value: name });
      radio.addEventListener("change", () => go({ plan: name }));
      label.append(radio, ` ${name}`);
      const verdict = element("span", plan.verdict, { class: `verdict ${plan.verdict}` });
      const made = row(SUMMARY, [
        label, plan.arena ?? plan.arena_bytes, share(plan, plan.arena_bytes), plan.lower_bound_bytes,
        aboveText(plan.arena_bytes, plan.lower_bound_bytes),
        plan.optimal ? "yes" : "no", verdict, plan.left, residents(plan), plan.one_more,
      ]);
      this.plans.set(name, { row: made, radio });
      return made;
    });
    const apart = ["side by side", before.arena ?? before.bytes, share(before, before.bytes), "", "", "", "", before.left, residents(before), before.one_more];
    const head = element("thead");
    head.append(row(SUMMARY, SUMMARY.map((one) => one.label), "th"));
    const body = element("tbody");
    body.append(row(SUMMARY, apart), ...rows);
    this.part(".summary").replaceChildren(head, body);
  }

  /** What the checker found against the chosen plan, left out, or relies on. */
  listFindings(plan) {
    const violation = (one) => `rule ${one.rule}, ${one.buffers.join(" and ")}: ${one.witness}`;
    const found = [
      ...plan.notes.map((text) => [text]),
      ...plan.violations.map((one, place) => [violation(one), plan.drawn?.[place]]),
      ...plan.uncovered.map((reason) => [`not covered: ${reason}`]),
      ...plan.assumptions.map((reason) => [`assuming that ${reason}`]),
    ];
    const items = found.map(([text, drawn]) => {
      const item = element("li");
      item.append(linked(text, this.view.listing, this.on.use), ...timeline(drawn));
      return item;
    });
    this.part(".findings").replaceChildren(...items);
  }

  /** What lint finds in the kernel, whatever is merged, beside the map; nothing where it was not asked. */
  listHazards() {
    const { lint, listing } = this.view;
    const box = this.part(".hazards");
    box.hidden = !lint;
    if (!lint) return;
    const text = (words, tag, attributes) => {
      const made = element(tag, "", attributes);
      made.append(linked(words, listing, this.on.use));
      return made;
    };
    const hazard = (one) => {
      const item = element("li", "", { class: one.accepted ? "about" : one.certain ? "certain" : "possible" });
      item.append(text(`${one.text} [${one.finding}]`, "span"));
      if (one.accepted) item.append(text(`Accepted: ${one.accepted}`, "div"));
      else item.append(text(`Fix: ${one.fix}`, "div", { class: "about" }));
      if (one.seen && !one.accepted) item.append(element("div", one.seen, { class: "about" }));
      if (one.undecided) item.append(text(`Possible, not certain: ${one.undecided}`, "div", { class: "about" }));
      item.append(...timeline(one.drawn));
      if (one.more?.length) {
        const more = element("details", "", { class: "likewise" });
        const others = element("ul");
        others.append(...one.more.map(hazard));
        more.append(element("summary", `${one.more.length} more of this cause`), others);
        item.append(more);
      }
      return item;
    };
    const list = element("ul");
    list.append(...lint.hazards.map(hazard), ...lint.unknown.map((one) => text(`not followed: ${one}`, "li", { class: "possible" })));
    const assumed = lint.assumptions.map((one) => text(`assumes that ${one}`, "li"));
    const rests = element("ul", "", { class: "about" });
    rests.append(element("li", lint.stage), ...assumed);
    const head = element("h3", "Hazards: ");
    head.append(element("span", lint.summary, { class: `gravity-${lint.gravity}` }));
    const details = element("details", "", { class: "about" });
    details.append(element("summary", "What lint counts and assumes"), rests);
    box.replaceChildren(head, list, details);
  }

  listBuffers() {
    const table = this.part(".buffers");
    const head = element("thead");
    head.append(row(BUFFERS, BUFFERS.map((one) => one.label), "th"));
    const body = element("tbody");
    this.buttons = new Map();
    this.cells = new Map();
    for (const buffer of this.view.buffers) {
      const { name } = buffer;
      const tint = `--tint:${this.view.tints[name]}`;
      const one = button(name, () => this.on.buffer(name), { "aria-pressed": "false", class: "swatch", style: tint });
      this.buttons.set(name, one);
      const made = row(BUFFERS, [one, buffer.bytes ?? buffer.size, "", ""]);
      this.cells.set(name, made.children);
      body.append(made);
    }
    table.replaceChildren(head, body);
  }

  show({ plan: asked, buffer, line }) {
    const policy = this.policies.includes(asked) ? asked : this.policies.at(-1);
    const plan = this.view.policies[policy];
    const named = this.buttons.has(buffer) ? buffer : null;
    const at = line === null ? null : Number(line);
    showTrail(this.part(".trail"), this.view.title);
    for (const [name, { row: made, radio }] of this.plans) {
      made.classList.toggle("chosen", name === policy);
      radio.checked = name === policy;
    }
    this.listFindings(plan);
    const places = new Map(plan.rectangles.map((one) => [one.name, one]));
    const symbolic = new Map(plan.symbolic.map((one) => [one.name, one.offset]));
    for (const [name, cells] of this.cells) {
      const place = places.get(name);
      cells[2].textContent = place ? number(place.offset) : (symbolic.get(name) ?? "not used");
      cells[3].textContent = place ? `${place.begin} to ${place.end - 1}` : "";
    }
    for (const [name, one] of this.buttons) one.setAttribute("aria-pressed", String(name === named));
    this.map.show({ policy, plan, buffer: named, line: at });
    this.source.show({ plan, buffer: named, line: at });
    this.source.isAsked = true;
    const hint = [element("h3", "Who could share?"), element("p", "Choose a buffer in the map, the list or the listing.")];
    this.part(".who").replaceChildren(...(named ? sharingOf(this.view, policy, named, this.on.use) : hint));
  }
}
