/** A plan's memory map with its cursor. Calls `on.buffer(name)` for what is chosen in it. */
class MemoryMap {
  constructor(root, view, touches, on) {
    Object.assign(this, { root, view, touches, on });
    this.position = 0;
    this.legend = element("div", "", { class: "smem" });
    this.frame = element("div", "", { class: "frame" });
    this.drawing = element("div", "", { class: "smem drawing", role: "group", "aria-label": `Memory map of ${view.title}` });
    this.frame.append(this.drawing);
    this.output = element("output");
    this.root.replaceChildren(this.legend, this.frame, this.controls(), this.output);
  }

  controls() {
    const made = element("div", "", { class: "step" });
    const label = element("label", "Position ");
    this.slider = element("input", "", { type: "range", min: 0, max: Math.max(0, this.view.steps.length - 1), step: 1, value: 0 });
    this.slider.addEventListener("input", () => this.goTo(Number(this.slider.value)));
    label.append(this.slider);
    made.append(label, button("Go to the peak", () => this.goTo(this.plan.peak.position), { class: "peak" }));
    if (this.view.steps.length > 60) made.append(this.zoom());
    return made;
  }

  zoom() {
    const label = element("label", "Zoom ", { class: "zoom" });
    const choice = element("select");
    for (const times of [1, 2, 4, 8, 16]) choice.append(element("option", `${times}×`, { value: times }));
    choice.addEventListener("change", () => {
      this.drawing.style.width = `${100 * choice.value}%`;
      this.cursor.scrollIntoView({ block: "nearest", inline: "center" });
    });
    label.append(choice);
    return label;
  }

  /** Draws a plan, and lights up a buffer with its conflicts and sharers, or the buffers of a line. */
  show({ policy, plan, buffer, line }) {
    if (this.policy !== policy) this.draw(policy, plan);
    this.relate(buffer);
    const touched = line === null ? new Map() : this.touches.of(line);
    for (const [name, one] of this.rectangles) {
      const access = touched.get(name);
      one.classList.toggle("touched", access !== undefined);
      one.dataset.access = ACCESS[access] ?? "";
    }
    this.drawing.classList.toggle("has-touched", touched.size > 0);
    const at = line === null ? undefined : this.touches.positions.get(line);
    if (line !== this.line || this.policy !== policy) this.goTo(at ?? (this.policy === policy ? this.position : plan.peak.position));
    Object.assign(this, { policy, line, buffer });
  }

  draw(policy, plan) {
    this.plan = plan;
    [this.legend.innerHTML, this.drawing.innerHTML] = this.view.maps[policy];
    this.cursor = element("i", "", { class: "cursor" });
    this.drawing.querySelector(".smem-plot").append(this.cursor);
    this.rectangles = new Map();
    for (const one of this.drawing.querySelectorAll(".smem-buffer")) this.wake(one);
    for (const one of this.drawing.querySelectorAll(".smem-band[data-line]")) {
      one.addEventListener("click", () => this.on.line(Number(one.dataset.line)));
    }
  }

  /** Makes a rectangle something to choose; what it tells is told below the map, not over it. */
  wake(one) {
    const { buffer: name } = one.dataset;
    const about = one.title;
    one.removeAttribute("title");
    for (const [key, value] of Object.entries({ tabindex: 0, role: "button", "aria-label": about })) one.setAttribute(key, value);
    one.addEventListener("click", () => this.on.buffer(name));
    one.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.on.buffer(name);
    });
    for (const kind of ["mouseenter", "focus"]) one.addEventListener(kind, () => this.tell(about));
    for (const kind of ["mouseleave", "blur"]) one.addEventListener(kind, () => this.goTo(this.position));
    this.rectangles.set(name, one);
  }

  /** What a buffer conflicts with, and why; what has bytes in common with it, or could. */
  relate(buffer) {
    const pairs = new Map(
      this.view.pairs.filter((one) => one.buffers.includes(buffer)).map((one) => [one.buffers.find((other) => other !== buffer), one]),
    );
    const spans = new Map(this.plan.rectangles.map((one) => [one.name, one]));
    const own = spans.get(buffer);
    const isTogether = ({ begin, end }) => own !== undefined && begin < own.end && own.begin < end;
    const shared = new Set(this.plan.shared.filter((one) => one.buffers.includes(buffer)).flatMap((one) => one.buffers));
    for (const [name, one] of this.rectangles) {
      const pair = pairs.get(name);
      const conflicts = pair ? pair.forbidden_by !== "" : isTogether(spans.get(name)); // not every page has pairs
      const relation = !buffer ? "" : name === buffer ? "chosen" : shared.has(name) ? "shares" : conflicts ? "conflicts" : pair?.may_share ? "could" : "";
      one.dataset.relation = relation;
      const label = one.querySelector("b");
      if (label) label.dataset.why = relation === "conflicts" ? `: ${pair?.forbidden_by ?? "live together"}` : "";
      one.setAttribute("aria-pressed", String(name === buffer));
    }
    this.drawing.classList.toggle("has-chosen", this.rectangles.has(buffer));
  }

  /** What is live at a position, in words and as a line in the map. */
  goTo(position) {
    const { steps, listing } = this.view;
    const step = steps[position];
    this.position = position;
    this.slider.value = position;
    this.cursor.style.left = `${(100 * (position + 0.5)) / Math.max(1, steps.length)}%`;
    if (!step) return;
    const live = this.plan.rectangles.filter((one) => one.begin <= position && position < one.end);
    const bytes = live.reduce((sum, one) => sum + one.bytes, 0);
    const names = live.map((one) => `${one.name} (${number(one.bytes)})`).join(", ") || "nothing";
    const peak = position === this.plan.peak.position ? ", the peak" : "";
    const marks = this.view.marks
      .filter((mark) => mark.position === position)
      .map((mark) => `; before it ${mark.kind}: ${mark.text}${mark.place}`);
    const where = element("span");
    where.append(linked(step.place + marks.join(""), listing, this.on.use));
    this.output.replaceChildren(
      element("span", `${position}: `), element("code", step.text), where,
      element("br"), element("span", `live here${peak}: ${names}; ${number(bytes)} bytes`),
    );
  }

  tell(about) {
    const [first, ...rest] = about.split("\n");
    const lines = rest.flatMap((text) => [element("br"), linked(text, this.view.listing, this.on.use)]);
    this.output.replaceChildren(element("strong", first), ...lines);
  }
}
