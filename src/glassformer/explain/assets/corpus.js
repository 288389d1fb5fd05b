// The sentences: what became of every unit, how long they are, what was found, what each filter would drop.

const SEVERITIES = { stop: "To mend before training", drop: "Pairs better left out", note: "Worth knowing" };

function drawData({ data }, section) {
  section.append(
    unitTable(data.units), sideNotes(data), ...findingList(data, "stop"),
    ...(data.lengths.length ? [el("h3", {}, "How long they are"), lengthFigures(data)] : []),
    ...(data.held.length ? [el("h3", {}, "Held-out sentences that also stand here"), heldTable(data)] : []),
    ...(data.left !== null && data.filters.length ? [el("h3", {}, "What each filter would drop"), filterTable(data)] : []),
    ...findingList(data, "drop"), ...findingList(data, "note"), ...(data.findings.length ? [] : [nothingFound(data)]));
  return true;
}

function countRow(name, count, total, help, className) {
  return el("tr", { class: className }, el("th", { scope: "row" }, name), el("td", { class: "num" }, whole(count)),
    el("td", { class: "num" }, shareOf(count, total)), el("td", { class: "help" }, words(help || "")));
}

// Each sum is the one before it less the rows between.
function unitTable(units) {
  return el("table", { class: "counts told" }, el("tbody", {}, units.map(({ name, count, help, is_sum }) =>
    countRow(is_sum ? words(name) : ["− ", words(name)], count, units[0].count, help, is_sum ? "sum" : null))));
}

function sideNotes({ sides, repeated_sources }) {
  const said = sides.map((side) => el("li", {}, words(side.name), side.known ? [" (", words(side.known), ")"] : "", `: ${whole(side.characters)} characters, ${whole(side.words)} words`));
  if (repeated_sources) said.push(el("li", {}, `${whole(repeated_sources)} sources stood before with another target`));
  return el("ul", { class: "note plain" }, said);
}

function heldTable({ held }) {
  const rows = held.map((part) => el("tr", {}, el("th", { scope: "row" }, words(part.name)), el("td", { class: "num" }, whole(part.pairs)),
    ...[part.sources_met, part.pairs_met].map((count) => el("td", { class: "num" }, `${whole(count)} (${shareOf(count, part.pairs)})`))));
  const met = held.some((part) => part.sources_met);
  const head = ["", "Pairs", "Source stands here", "With the same target"].map((name) => el("th", { scope: "col" }, name));
  return el("div", {}, el("table", { class: "counts" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)),
    el("p", { class: "note" }, met ? "Case, punctuation and spaces do not count. Scores on such sentences flatter; the filter overlap leaves them out of training."
      : "None of their sources stands here, whatever its case, punctuation and spaces."));
}

function filterTable({ filters, silent, left, examined }) {
  const tags = (one) => [one.applied ? " · in use" : "", one.recommended ? "" : " · not recommended"].join("");
  const rows = filters.map((one) => countRow([words(one.name), el("span", { class: "note" }, tags(one))], one.count, examined, one.help));
  rows.push(countRow("left", left, examined, "after all recommended ones", "sum"));
  return el("div", {}, el("table", { class: "counts told" }, el("tbody", {}, rows)), silent.length ? el("p", { class: "note" }, `Nothing for ${silent.map(isolated).join(", ")}.`) : null);
}

function nothingFound({ left, units, examined, usable }) {
  const said = "Nothing to report: every unit is a pair that can be used" +
    (left === null ? "." : `, and no filter would drop one${examined < usable ? " of those looked at" : ""}.`);
  return el("p", { class: "calm" }, units[0].count ? said : "There is nothing in it.");
}

function findingList({ findings }, severity) {
  const chosen = findings.filter((finding) => finding.severity === severity);
  return chosen.length ? [el("h3", { class: severity === "stop" ? "wrong" : null }, SEVERITIES[severity]), ...chosen.map(findingCard)] : [];
}

function findingCard({ kind, help, severity, count, of, examples }) {
  return el("details", { class: "finding", open: severity === "stop" },
    el("summary", {}, el("strong", {}, words(kind)), " ", el("span", { class: "num" }, whole(count)), " ",
      el("span", { class: "note num" }, isNumber(of) ? shareOf(count, of) : ""), " ", el("span", { class: "note help" }, words(help))),
    el("ol", {}, examples.map(exampleItem)),
    count > examples.length ? el("p", { class: "note" }, `The first ${examples.length} of ${whole(count)}.`) : null);
}

function exampleItem({ place, detail, source, target }) {
  const line = (name, text) => (text ? el("p", { class: "text" }, el("span", { class: "side" }, name), words(text)) : null);
  return el("li", {}, el("p", { class: "mono" }, words(place)), el("p", { class: "note" }, words(detail)), line("source", source), line("target", target));
}
