// Runs side by side: scores, differences with their intervals, overlaid curves, and the examples that differ most.

function drawDifferences({ compared }, section) {
  const head = el("tr", {}, heading(""), compared.names.map((name) => heading(words(name), { class: "num" })));
  const rows = compared.scores[0].map((score, i) => el("tr", {}, el("th", { scope: "row" }, words(score.name)),
    compared.scores.map((scores) => el("td", { class: "num" }, scoreText(scores[i], metricOf(score, compared.metrics))))));
  section.append(scrollable("Scores", el("table", { class: "counts" }, el("thead", {}, head), el("tbody", {}, rows))));
  const metrics = [...new Set(compared.differences.map((one) => one.metric))];
  section.append(el("div", { class: "tiles" }, metrics.map((metric) => differenceCard(metric, compared))));
  section.append(...compared.notes.map((note) => el("p", { class: "note after" }, words(note))));
  return true;
}

const scoreText = ({ value, low, high }, metric) =>
  `${metricText(value, metric)}${isNumber(low) ? ` (${metricText(low, metric)} to ${metricText(high, metric)})` : ""}`;
const withSign = (value, digits) => (value > 0 ? "+" : "") + value.toFixed(digits).replace("-", "−");

function differenceCard(metric, { differences, names, metrics }) {
  const { digits, better } = metricOf({ name: metric }, metrics);
  const signed = (value) => withSign(value, digits);
  const rows = differences.filter((one) => one.metric === metric);
  const end = Math.max(10 ** -digits, ...rows.flatMap((one) => [Math.abs(one.low), Math.abs(one.high)])) * 1.1;
  return el("div", { class: "card" }, el("h3", {}, words(metric), el("span", { class: "note" }, " · " + better)),
    rows.map((one) => [
      el("div", { class: "big", title: isolated(one.words) }, signed(one.value)),
      el("p", { class: "note", style: "margin:0" }, words(one.name), " compared with ", words(names[0])),
      isNumber(one.low) ? [differenceBar(one, end, digits),
      el("p", { class: "note num" }, `95% interval ${signed(one.low)} to ${signed(one.high)} · ${one.p < 0.001 ? "p < 0.001" : "p = " + Number(one.p.toPrecision(2))} · `,
        one.p < 0.05 && one.value !== 0 ? el("span", { class: "right" }, "significant") : el("span", { class: "wrong" }, "may be chance"))]
        : el("p", { class: "note wrong" }, "too few examples to decide"),
    ]));
}

// Zero is in the middle. An interval that excludes zero shows a difference.
function differenceBar({ value, low, high }, end, digits) {
  const x = (v) => 150 + (v / end) * 140;
  return svg("svg", { class: "interval", viewBox: "0 0 300 30", role: "img", "aria-label": `${low.toFixed(digits)} to ${high.toFixed(digits)}, zero in the middle` },
    svg("line", { class: "axis", x1: 4, x2: 296, y1: 14, y2: 14 }),
    svg("line", { class: "rule", x1: 150, x2: 150, y1: 0, y2: 28 }),
    svg("line", { class: "series s0", x1: x(low), x2: Math.max(x(high), x(low) + 2), y1: 14, y2: 14, style: "stroke-width:9;stroke-linecap:butt;opacity:.45" }),
    svg("line", { class: "series s0", x1: x(value), x2: x(value), y1: 5, y2: 23 }));
}

function drawComparedCurves({ compared }, section) {
  const charts = compared.charts.map((chart) => lineChart(
    { ...chartOf(chart), series: chart.series.map(([key, name]) => [key, isolated(name)]) }, compared.curves)).filter(Boolean);
  if (charts.length) section.append(el("div", { class: "charts" }, charts));
  return charts.length > 0;
}

function drawComparedSettings({ compared }, section) {
  const head = el("tr", {}, heading(""), compared.names.map((name) => heading(words(name))));
  const rows = compared.settings.map(([name, values]) =>
    el("tr", {}, el("th", { scope: "row" }, words(name)), values.map((value) => el("td", {}, words(value)))));
  section.append(scrollable("Settings", el("table", { class: "counts" }, el("thead", {}, head), el("tbody", {}, rows))));
  return true;
}

function drawApart({ compared }, section) {
  section.append(
    el("p", { class: "note" }, "Where the runs differ most", compared.judged_by ? [" in ", words(compared.judged_by.label), " (", compared.judged_by.better, ")"] : "", ". ",
      compared.sentences[0].predictions.length ? [el("mark", {}, "Marked"), " words are not in the row above."] : ""),
    el("div", { class: "watched" }, compared.sentences.map((one) => apartCard(one, compared))));
  return true;
}

function apartCard({ source, references, predictions, scores }, { names, judged_by }) {
  const row = (score, i) => el("tr", {}, el("th", { scope: "row", class: "num" }, words(names[i]), ` · ${metricText(score, judged_by || UNKNOWN_METRIC)}`),
    predictions.length ? el("td", {}, el("bdi", { dir: "auto" }, i ? changes(predictions[i - 1], predictions[i]) : predictions[i])) : null);
  const meant = references.length ? el("tr", { class: "meant" }, el("th", { scope: "row" }, "reference"),
    el("td", {}, references.map((text) => el("div", {}, words(text))))) : null;
  return el("div", { class: "card" }, el("h3", {}, words(source)), el("table", {}, el("tbody", {}, scores.map(row), meant)));
}
