const CHUNK = 100;
const TOKENS = /(#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(for|in|if|elif|else|while|with|def|class|return|assert|not|and|or)\b|\b([A-Za-z_]\w*)\b/g;
const ACCESS = { read: "R", write: "W", "read-write": "RW" };
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => text.replace(/[&<>"]/g, (one) => ESCAPES[one]);

const opensScope = (step, next) => next && (next.depth > step.depth || (next.is_end && next.depth === step.depth));

/** Which buffers each line touches, and the lines of each loop or branch by that of its header. */
class Touches {
  constructor(view) {
    const { steps, listing } = view;
    this.lines = new Map();
    this.positions = new Map();
    const open = [];
    this.scopes = new Map();
    steps.forEach((step, position) => {
      const line = listing.at[position];
      if (line === null) return;
      if (!step.is_end && !this.positions.has(line)) this.positions.set(line, position);
      for (const [name, access] of Object.entries(step.touches)) {
        const found = this.lines.get(line) ?? this.lines.set(line, new Map()).get(line);
        found.set(name, found.has(name) && found.get(name) !== access ? "read-write" : access);
      }
      if (step.is_end) {
        const header = open.pop();
        if (header !== undefined && !this.scopes.has(header)) this.scopes.set(header, line);
      } else if (opensScope(step, steps[position + 1])) {
        open.push(line);
      }
    });
    this.allocated = new Map(view.buffers.map((one) => [one.line, one.name]));
  }

  /** The buffers of a line, and how it uses them; of a header, of all that is inside. */
  of(line) {
    if (this.lines.has(line)) return this.lines.get(line);
    const found = new Map();
    for (const [at, touched] of this.lines) {
      if (at <= line || at > (this.scopes.get(line) ?? line)) continue;
      for (const [name, access] of touched) {
        found.set(name, found.has(name) && found.get(name) !== access ? "read-write" : access);
      }
    }
    if (this.allocated.has(line)) found.set(this.allocated.get(line), "allocated");
    return found;
  }

  /** The lines that touch a buffer, in order. */
  by(name) {
    const found = [...this.lines].filter(([, touched]) => touched.has(name));
    return found.map(([line, touched]) => [line, touched.get(name)]).sort((one, two) => one[0] - two[0]);
  }
}

/** The listing of a kernel. Calls `on.line(line)` and `on.buffer(name)` for what is chosen in it. */
class Source {
  constructor(root, view, touches, on) {
    Object.assign(this, { root, view, touches, on });
    this.head = element("div", "", { class: "source-head" });
    this.code = element("div", "", { class: "code", tabindex: 0, role: "region", "aria-label": `Listing of ${view.title}` });
    const longest = view.listing.lines.reduce((most, one) => Math.max(most, one.length), 0);
    const inner = element("div", "", { class: "lines", style: `--longest:${longest}ch` });
    inner.innerHTML = this.markup();
    this.code.append(inner);
    root.replaceChildren(this.head, this.code);
    this.rows = new Map([...inner.querySelectorAll(".line")].map((one) => [Number(one.dataset.line), one]));
    inner.addEventListener("click", (event) => this.clicked(event));
    this.describe();
  }

  markup() {
    const { listing, tints } = this.view;
    const chunks = [];
    const indents = listing.lines.filter((one) => one.trim()).map((one) => one.search(/\S/));
    const indent = indents.reduce((least, one) => Math.min(least, one), Infinity);
    for (let start = 0; start < listing.lines.length; start += CHUNK) {
      const lines = listing.lines.slice(start, start + CHUNK).map((whole, index) => {
        const line = listing.first + start + index;
        const text = whole.slice(indent);
        const touched = this.touches.lines.has(line) ? " touching" : "";
        const link = `<a class="no" href="${escaped(hrefWith({ line, side: listing.side ?? null, buffer: null }))}" aria-label="line ${line}">${line}</a>`;
        return `<div class="line${touched}" data-line="${line}">${link}<i class="access"></i><code>${this.coloured(text, tints)}</code></div>`;
      });
      chunks.push(`<div class="chunk" style="--rows:${lines.length}">${lines.join("")}</div>`);
    }
    return chunks.join("");
  }

  /** A line with its keywords and shared buffers marked. */
  coloured(text, tints) {
    let made = "";
    let done = 0;
    for (const match of text.matchAll(TOKENS)) {
      const [all, comment, string, keyword, name] = match;
      const buffer = name && (name in tints ? name : name.replace(/_\d+$/, ""));
      const isBuffer = buffer && Object.hasOwn(tints, buffer);
      if (!comment && !string && !keyword && !isBuffer) continue;
      made += escaped(text.slice(done, match.index));
      done = match.index + all.length;
      if (isBuffer) made += `<b data-buffer="${escaped(buffer)}" style="--tint:${tints[buffer]}">${escaped(all)}</b>`;
      else made += `<span class="${comment ? "comment" : string ? "string" : "keyword"}">${escaped(all)}</span>`;
    }
    return made + escaped(text.slice(done));
  }

  clicked(event) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || String(getSelection())) return;
    const named = event.target.closest("[data-buffer]");
    const line = event.target.closest(".line");
    if (named) this.on.buffer(named.dataset.buffer);
    else if (line) this.on.line(Number(line.dataset.line));
    if (named || line) event.preventDefault();
  }

  /** Marks a buffer's reads and writes, gen and kill of a plan, and a line. */
  show({ plan, buffer, line }) {
    if (this.plan !== plan) this.bound(plan);
    if (this.buffer !== buffer) this.mark(buffer);
    this.lit?.classList.remove("chosen-line");
    this.lit?.querySelector(".no").removeAttribute("aria-current");
    this.lit = this.rows.get(line);
    this.lit?.classList.add("chosen-line");
    this.lit?.querySelector(".no").setAttribute("aria-current", "location");
    const [first] = buffer ? this.touches.by(buffer) : [];
    if (line !== this.line && this.lit) this.scrollTo(line);
    else if (buffer !== this.buffer && first && line === null) this.scrollTo(first[0]);
    Object.assign(this, { plan, buffer, line });
    this.describe();
  }

  /** Where buffers begin and cease to be live, above and below their lines. */
  bound(plan) {
    for (const old of this.root.querySelectorAll(".lens")) old.remove();
    const { at } = this.view.listing;
    for (const one of plan.rectangles) {
      this.lens("gen", at[one.begin], one.name);
      this.lens("kill", at[one.end - 1], one.name);
    }
  }

  lens(kind, line, name) {
    const row = this.rows.get(line);
    if (!row) return;
    const beside = kind === "gen" ? row.previousElementSibling : row.nextElementSibling;
    let lens = beside?.matches(`.lens.${kind}`) ? beside : null;
    if (!lens) {
      lens = element("div", "", { class: `lens ${kind}` });
      if (kind === "gen") row.before(lens);
      else row.after(lens);
    }
    const tint = `--tint:${this.view.tints[name]}`;
    lens.append(element("button", `${kind} ${name}`, { type: "button", "data-buffer": name, style: tint }));
  }

  mark(buffer) {
    for (const row of this.root.querySelectorAll(".line[data-access]")) {
      row.removeAttribute("data-access");
      row.querySelector(".access").textContent = "";
    }
    this.marked = buffer ? this.touches.by(buffer) : [];
    for (const [line, access] of this.marked) {
      const row = this.rows.get(line);
      if (!row) continue;
      row.dataset.access = access;
      row.querySelector(".access").textContent = ACCESS[access];
    }
  }

  /** What the listing is, or what the chosen buffer's lines are, with a way through them. */
  describe() {
    const { listing, file } = this.view;
    const what = listing.kind === "dump" ? file : "its steps: it came without a dump";
    const parts = [element("span", what, { class: "file" })];
    if (this.buffer && this.marked.length) {
      const count = (access) => this.marked.filter(([, one]) => one.includes(access)).length;
      const uses = element("span", "", { class: "uses" });
      uses.append(`${this.buffer}: `, element("i", "W", { class: "write" }), ` ${count("write")} written, `,
        element("i", "R", { class: "read" }), ` ${count("read")} read`);
      parts.push(uses, button("↑", () => this.step(-1), { "aria-label": "previous use", title: "previous use" }),
        button("↓", () => this.step(1), { "aria-label": "next use", title: "next use" }));
    }
    const wrap = element("label", "", { class: "wrap" });
    const box = element("input", "", { type: "checkbox" });
    box.checked = this.code.classList.contains("wrapped");
    box.addEventListener("change", () => this.code.classList.toggle("wrapped", box.checked));
    wrap.append(box, " wrap");
    this.head.replaceChildren(...parts, wrap);
  }

  /** The next or previous line that uses the chosen buffer, round and round. */
  step(by) {
    const lines = this.marked.map(([line]) => line);
    const here = this.line ?? lines[0] - (by > 0 ? 0 : 1);
    const ahead = by > 0 ? lines.find((one) => one > here) : lines.findLast((one) => one < here);
    this.on.use(ahead ?? lines.at(by > 0 ? 0 : -1));
    this.head.querySelector(`button:nth-of-type(${by > 0 ? 2 : 1})`)?.focus();
  }

  /** Scrolls the listing alone; on narrow screens, where it lies below, the page too. */
  scrollTo(line) {
    const row = this.rows.get(line);
    const place = row.getBoundingClientRect().top - this.code.getBoundingClientRect().top;
    this.code.scrollTop += place - this.code.clientHeight / 3;
    if (matchMedia("(max-width: 999px)").matches && this.isAsked) this.root.scrollIntoView({ block: "nearest" });
  }
}
