// The data: what happened to every unit, lengths, findings, and what each filter would drop.

const SEVERITIES = { stop: "To fix before training", drop: "Pairs better left out", note: "Worth knowing" };

function drawData({ data }, section) {
  section.append(
    unitTable(data.units), sideNotes(data), ...findingList(data, "stop"),
    ...(data.lengths.length ? [el("h3", {}, "Lengths"), lengthFigures(data)] : []),
    ...(data.held.length ? [el("h3", {}, "Held-out sentences that are also in this data"), heldTable(data)] : []),
    ...(data.left !== null && data.filters.length ? [el("h3", {}, "What each filter would drop"), filterTable(data)] : []),
    ...findingList(data, "drop"), ...findingList(data, "note"), ...(data.findings.length ? [] : [nothingFound(data)]));
  return true;
}

function countRow(name, count, total, help, className) {
  return el("tr", { class: className }, el("th", { scope: "row" }, name), el("td", { class: "num" }, whole(count)),
    el("td", { class: "num" }, shareOf(count, total)), el("td", { class: "help" }, words(help || "")));
}

// Each sum is the sum before it minus the rows between them.
function unitTable(units) {
  return el("table", { class: "counts explained" }, el("tbody", {}, units.map(({ name, count, help, is_sum }) =>
    countRow(is_sum ? words(name) : ["− ", words(name)], count, units[0].count, help, is_sum ? "sum" : null))));
}

function sideNotes({ sides, repeated_sources }) {
  const said = sides.map((side) => el("li", {}, words(side.name), side.known ? [" (", words(side.known), ")"] : "", `: ${whole(side.characters)} characters, ${whole(side.words)} words`));
  if (repeated_sources) said.push(el("li", {}, `${whole(repeated_sources)} sources were seen before with another target`));
  return el("ul", { class: "note plain" }, said);
}

function heldTable({ held }) {
  const rows = held.map((part) => el("tr", {}, el("th", { scope: "row" }, words(part.name)), el("td", { class: "num" }, whole(part.pairs)),
    ...[part.sources_met, part.pairs_met].map((count) => el("td", { class: "num" }, `${whole(count)} (${shareOf(count, part.pairs)})`))));
  const met = held.some((part) => part.sources_met);
  const head = ["", "Pairs", "Source in this data", "With the same target"].map((name) => heading(name));
  return el("div", {}, el("table", { class: "counts" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)),
    el("p", { class: "note" }, met ? "Case, punctuation and spaces are ignored. Scores on these sentences are too high; the filter overlap leaves them out of training."
      : "None of their sources is in this data, ignoring case, punctuation and spaces."));
}

function filterTable({ filters, silent, left, examined }) {
  const tags = (one) => [one.applied ? " · in use" : "", one.recommended ? "" : " · not recommended"].join("");
  const rows = filters.map((one) => countRow([words(one.name), el("span", { class: "note" }, tags(one))], one.count, examined, one.help));
  rows.push(countRow("left", left, examined, "after all recommended filters", "sum"));
  return el("div", {}, el("table", { class: "counts explained" }, el("tbody", {}, rows)), silent.length ? el("p", { class: "note" }, `Nothing to drop for ${silent.map(isolated).join(", ")}.`) : null);
}

function nothingFound({ left, units, examined, usable }) {
  const said = "Nothing to report: every unit is a usable pair" +
    (left === null ? "." : `, and no filter would drop one${examined < usable ? " of those examined" : ""}.`);
  return el("p", { class: "calm" }, units[0].count ? said : "The data is empty.");
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
    count > examples.length ? el("p", { class: "note" }, `The first ${examples.length} of ${whole(count)} are shown.`) : null);
}

function exampleItem({ place, detail, source, target }) {
  const line = (name, text) => (text ? el("p", { class: "text" }, el("span", { class: "side" }, name), words(text)) : null);
  return el("li", {}, el("p", { class: "mono" }, words(place)), el("p", { class: "note" }, words(detail)), line("source", source), line("target", target));
}
