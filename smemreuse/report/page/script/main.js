const report = JSON.parse(document.getElementById("data").textContent);
const packed = [...document.querySelectorAll("script.kernel")];
const isDifference = report.kind === "diff";
const overview = isDifference
  ? new Overview(report.rows, CHANGED, changedTotals)
  : new Overview(report.rows, PLANNED, plannedTotals);
const views = new Map();

/** A kernel's view: made when it is first looked at, and kept while there are not too many. */
async function viewOf(index) {
  if (!views.has(index)) {
    const mine = isDifference ? packed.slice(2 * index, 2 * index + 2) : [packed[placeOf(report.rows[index], index)]];
    const data = await Promise.all(mine.map(unpacked));
    if (views.size >= 20) views.delete(views.keys().next().value);
    views.set(index, isDifference ? new DifferenceView(report.rows[index], data) : new KernelView(...data));
  }
  return views.get(index);
}

/** Shows what a state says: the overview, or a kernel, which a page of only one begins with. */
async function show(given) {
  const main = document.getElementById("view");
  const only = report.rows.length === 1 && hasMap(report.rows[0]) ? 0 : -1;
  const index = given.kernel === null ? only : report.rows.findIndex((one) => one.title === given.kernel && hasMap(one));
  const view = index < 0 ? overview : await viewOf(index);
  if (given !== state) return undefined; // somebody went on meanwhile
  if (main.firstElementChild !== view.section) {
    const isFirst = main.childElementCount === 0;
    main.replaceChildren(view.section);
    scrollTo(0, 0);
    if (!isFirst) main.focus({ preventScroll: true });
  }
  document.title = index < 0 ? report.title : `${report.rows[index].title} – ${report.title}`;
  view.show(given);
  main.dataset.shown = location.hash;
  return undefined;
}

addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
  if (event.key !== "/" || isTyping || !overview.section.isConnected) return;
  event.preventDefault();
  overview.field.focus();
});
if (!("DecompressionStream" in window)) {
  const words = "This browser is too old to unpack the kernels: take one of 2024 or later.";
  document.querySelector(".top").after(element("p", words, { class: "no", role: "alert" }));
}
arrive();
