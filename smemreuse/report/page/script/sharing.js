const FEW = 2;

/** Who could share with a buffer, and why not: nodes for a panel. */
function sharingOf(view, policy, name, useLine) {
  const plan = view.policies[policy];
  const text = (words) => linked(words, view.listing, useLine);
  const shared = new Map(
    plan.shared
      .filter((one) => one.buffers.includes(name))
      .map((one) => [one.buffers.find((other) => other !== name), one.bytes]),
  );
  const list = element("dl");
  const item = (tag, words, into = list) => {
    const made = element(tag);
    made.append(text(words));
    into.append(made);
  };
  const items = (reasons) => {
    for (const reason of reasons.slice(0, FEW)) item("dd", reason);
    if (reasons.length <= FEW) return;
    const more = element("details");
    more.append(element("summary", `${reasons.length - FEW} more`));
    for (const reason of reasons.slice(FEW)) item("div", reason, more);
    const holder = element("dd");
    holder.append(more);
    list.append(holder);
  };
  for (const pair of view.pairs.filter((one) => one.buffers.includes(name))) {
    const other = pair.buffers.find((one) => one !== name);
    const does = shared.has(other) ? `; shares ${number(shared.get(other))} bytes under ${policy}` : "";
    const term = element("dt", `${other}: `);
    const [mark, kind] = pair.may_share ? ["✓", "yes"] : pair.forbidden_by ? ["✗", "no"] : ["?", "verdict"];
    const words = [pair.words, pair.forbidden_by].filter(Boolean).join(", ");
    term.append(element("span", `${mark} ${words}`, { class: kind }), does);
    list.append(term);
    if (!pair.may_share) items([...pair.reasons, ...pair.witnesses]);
    if (pair.may_share && pair.outer) item("dd", `outer keeps them apart: ${pair.outer}`);
    items(pair.settled.map((reason) => `settled by the checker: ${reason}`));
  }
  if (!list.children.length) item("dd", "There is no other buffer in use.");
  return [element("h3", `Who could share with ${name}?`), list];
}
