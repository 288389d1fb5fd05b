// The verdict, the scores with their intervals, sample translations, and the facts of the run.

const FIRST_SAMPLES = 12;

function drawVerdict(data, section) {
  section.append(...data.verdict.map((sentence) => el("p", {}, words(sentence))));
  return true;
}

function drawScores(data, section) {
  section.append(el("div", { class: "tiles" }, data.scores.map((score) => scoreCard(score, metricOf(score, data.metrics), data.held))));
  return true;
}

// The description of a score's metric, found by its key or its label.
const UNKNOWN_METRIC = { digits: 1, unit: "", better: "", low: 0, high: 100 };
const metricOf = ({ key, name }, metrics) =>
  (metrics || []).find((one) => (key ? one.key === key : one.label === name)) || UNKNOWN_METRIC;
const metricText = (value, { digits, unit }) => (isNumber(value) ? value.toFixed(digits) + unit : "–");

function scoreCard(score, metric, held) {
  const shown = (value) => metricText(value, metric);
  const hasInterval = isNumber(score.low) && isNumber(score.high);
  const said = [];
  if (hasInterval) said.push(`95% interval ${shown(score.low)} to ${shown(score.high)}`);
  if (isNumber(score.sentences)) said.push(`${whole(score.sentences)} ${held}`);
  if (score.decoding) said.push(isolated(score.decoding));
  return el("div", { class: "card" },
    el("h3", {}, words(score.name)),
    el("div", { class: "big" }, isNumber(score.value) ? shown(score.value) : "not measured"),
    hasInterval && isNumber(score.value) ? intervalBar(score, metric) : null,
    said.length ? el("p", { class: "note", style: "margin:0" }, said.join(" · ")) : null,
    score.signature ? el("p", { class: "note mono", style: "margin:.5rem 0 0" }, words(score.signature)) : null);
}

// The whole scale, with the interval as a thick line and the value as a tick. Nothing for an open scale.
function intervalBar({ value, low, high }, metric) {
  if (!isNumber(metric.high)) return null;
  const begin = metric.low, end = metric.high;
  const x = (v) => 4 + ((clamp(v, begin, end) - begin) / (end - begin)) * 292;
  const mark = (v, text, anchor) => svg("text", { x: x(v), y: 34, "text-anchor": anchor }, text);
  return svg("svg", { class: "interval", viewBox: "0 0 300 36", role: "img", "aria-label": `${metricText(low, metric)} to ${metricText(high, metric)} on a scale of ${begin} to ${end}` },
    svg("line", { class: "axis", x1: 4, x2: 296, y1: 12, y2: 12 }),
    svg("line", { class: "series s0", x1: x(low), x2: Math.max(x(high), x(low) + 2), y1: 12, y2: 12, "stroke-width": 9, style: "stroke-width:9;stroke-linecap:butt;opacity:.45" }),
    svg("line", { class: "series s0", x1: x(value), x2: x(value), y1: 4, y2: 20 }),
    mark(begin, String(begin), "start"), mark(end, String(end), "end"));
}

function drawSamples(data, section) {
  const exact = data.samples.filter((sample) => sample.exact).length;
  section.append(el("p", { class: "note" },
    `${whole(exact)} of these ${whole(data.samples.length)} are equal to a reference. A translation that differs is not always wrong: read it.`));
  let filter = "all", most = FIRST_SAMPLES;
  const body = el("tbody"), more = el("button", { type: "button", onclick: () => { most = Infinity; show(); } });
  const kinds = { all: () => true, equal: (s) => s.exact, differs: (s) => !s.exact };
  function show() {
    const chosen = data.samples.filter(kinds[filter]);
    body.replaceChildren(...chosen.slice(0, most).map(sampleRow));
    more.textContent = `Show all ${whole(chosen.length)}`;
    more.hidden = chosen.length <= most;
  }
  const head = ["", "Source", "Translation", "Reference"].map((name) => heading(name, { class: name && "third" }));
  if (exact && exact < data.samples.length) {
    section.append(choice([["all", "All"], ["equal", "✓ Equal"], ["differs", "✗ Different"]], "all", (key) => { filter = key; show(); }));
  }
  show();
  section.append(el("table", { class: "samples" }, el("thead", {}, el("tr", {}, head)), body), more);
  return true;
}

function sampleRow(sample) {
  const mark = sample.exact ? el("span", { class: "right" }, "✓ equal") : el("span", { class: "wrong" }, "✗ differs");
  const score = isNumber(sample.score) ? el("div", { class: "note num" }, `score ${short(sample.score)}`) : null;
  const references = sample.exact && sample.references.length === 1 ? [el("span", { class: "same" }, "the same")]
    : sample.references.map((text) => el("div", {}, words(text)));
  return el("tr", {}, el("td", { class: "fits mark" }, mark, score),
    el("td", { "data-name": "Source" }, words(sample.source)),
    el("td", { "data-name": "Translation" }, words(sample.hypothesis)),
    el("td", { "data-name": "Reference" }, references));
}

function drawFacts(data, section) {
  const card = ([group, rows]) => el("div", { class: "card" }, el("h3", {}, words(group)),
    el("dl", {}, rows.map(([name, value]) => [el("dt", {}, words(name)), el("dd", {}, words(String(value)))])));
  section.append(el("div", { class: "facts" }, Object.entries(data.facts).map(card)));
  return true;
}
