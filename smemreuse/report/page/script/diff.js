const signed = (bytes) => (bytes > 0 ? `+${number(bytes)}` : bytes < 0 ? `−${number(-bytes)}` : "0");

/** Columns of kernels of which two versions are compared. */
const CHANGED = [
  { id: "kernel", label: "kernel", value: nameOf, cell: kernelLink },
  { id: "before", label: "before", numeric: true, value: (one) => one.before, cell: (one) => one.before },
  { id: "after", label: "after", numeric: true, value: (one) => one.after, cell: (one) => one.after },
  { id: "change", label: "change", numeric: true, value: (one) => one.change, cell: (one) => changeCell(one.change) },
  { id: "blocks", label: "blocks per SM by memory and threads", numeric: true, value: (one) => one.blocks[1] ?? -1, cell: blocksCell },
  { id: "mainly", label: "mainly by", value: (one) => one.mainly, cell: (one) => one.mainly },
];
const CAUSES = [{ label: "cause" }, { label: "bytes", numeric: true }, { label: "what changed" }];

const changeCell = (bytes) => element("span", signed(bytes), { class: bytes > 0 ? "no" : bytes < 0 ? "yes" : null });

/** How many of the compared kernels took more, and how many fewer. */
function changedTotals(found, all) {
  const change = found.reduce((all, one) => all + one.change, 0);
  const lost = found.filter(({ blocks: [before, after] }) => after !== null && after < before).length;
  return [
    counted(found, all),
    element("span", `${found.filter((one) => one.change > 0).length} took more bytes`),
    element("span", `${found.filter((one) => one.change < 0).length} fewer`),
    element("span", `${signed(change)} bytes in all`),
    element("span", `${lost} lost a resident block`),
  ];
}

/** A kernel before and after: the causes, and both maps and listings; a buffer lights up in both. */
class DifferenceView {
  constructor(row, data) {
    this.row = row;
    this.section = copyOf("difference");
    this.part = (selector) => this.section.querySelector(selector);
    this.part("h2").textContent = row.title;
    this.part(".about").textContent = row.heading;
    this.after = new Map(row.renamed);
    this.before = new Map(row.renamed.map(([one, other]) => [other, one]));
    this.sides = data.map((view, side) => this.side(view, side));
    this.listCauses();
  }

  /** Buffers are told by their names of after, or of before where they have none. */
  side(view, side) {
    view.listing.side = side;
    const nameHere = (name) => (side === 0 ? (this.before.get(name) ?? name) : name);
    const nameThere = (name) => (side === 0 ? (this.after.get(name) ?? name) : name);
    const choose = (name) => go({ buffer: nameThere(name) === state.buffer ? null : nameThere(name), line: null, side: null });
    const isHere = (line) => line === Number(state.line) && side === Number(state.side);
    const on = {
      buffer: choose,
      line: (line) => go({ line: isHere(line) ? null : line, side, buffer: null }),
      use: (line) => go({ line, side }),
    };
    const root = this.section.querySelectorAll(".side")[side];
    const [policy] = Object.keys(view.policies);
    const touches = new Touches(view);
    const map = new MemoryMap(root.querySelector(".map"), view, touches, on);
    const source = new Source(root.querySelector(".source"), view, touches, on);
    const arena = number(view.policies[policy].arena_bytes);
    root.querySelector("h3").textContent = `${side === 0 ? "before" : "after"}: ${view.file}, ${arena} bytes`;
    return { view, policy, map, source, on, nameHere };
  }

  listCauses() {
    const head = element("thead");
    head.append(row(CAUSES, CAUSES.map((one) => one.label), "th"));
    const body = element("tbody");
    for (const cause of this.row.causes) {
      const words = element("span");
      for (const [side, text] of cause.parts) {
        const { view, on } = this.sides[side];
        words.append(linked(text, view.listing, on.use));
      }
      for (const name of cause.buffers) {
        words.append(" ", button(name, () => go({ buffer: name, line: null, side: null }), { class: "swatch", style: `--tint:${this.tint(name)}` }));
      }
      body.append(row(CAUSES, [cause.kind, changeCell(cause.bytes), words]));
    }
    this.part(".order").textContent = `The bytes of the causes add up to the difference: they are attributed one after the other, in the order ${report.order}.`;
    const table = this.part(".causes");
    if (this.row.causes.length) table.replaceChildren(head, body);
    else table.replaceWith(element("p", "Nothing that costs bytes has changed."));
  }

  tint(name) {
    const { view } = this.sides.findLast((one) => name in one.view.tints) ?? this.sides[1];
    return view.tints[name] ?? "#dcdcdc";
  }

  show({ buffer, line, side }) {
    showTrail(this.part(".trail"), this.row.title);
    this.sides.forEach(({ view, policy, map, source, nameHere }, index) => {
      const plan = view.policies[policy];
      const name = buffer === null ? null : nameHere(buffer);
      const named = name !== null && Object.hasOwn(view.tints, name) ? name : null;
      const at = line !== null && Number(side) === index ? Number(line) : null;
      map.show({ policy, plan, buffer: named, line: at });
      source.show({ plan, buffer: named, line: at });
    });
  }
}
