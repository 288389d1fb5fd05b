// Runs side by side: scores, differences with their intervals, curves over each other, sentences apart.

const COMPARED = [
  ["valid_bleu", "BLEU on validation sentences", "higher is better", Math.max],
  ["valid_loss", "Validation loss", "lower is better", Math.min],
  ["train_loss", "Training loss", "lower is better", Math.min],
  ["tokens_per_second", "Tokens per second", "", null],
];

function drawDifferences({ compared }, section) {
  const head = el("tr", {}, el("th"), compared.names.map((name) => el("th", { scope: "col", class: "num" }, words(name))));
  const rows = compared.scores[0].map((score, i) => el("tr", {}, el("th", { scope: "row" }, score.name),
    compared.scores.map((scores) => el("td", { class: "num" }, scoreText(scores[i])))));
  section.append(el("div", { class: "scroll" }, el("table", { class: "counts" }, el("thead", {}, head), el("tbody", {}, rows))));
  const metrics = [...new Set(compared.differences.map((one) => one.metric))];
  section.append(el("div", { class: "tiles" }, metrics.map((metric) => differenceCard(metric, compared))));
  section.append(...compared.notes.map((note) => el("p", { class: "note after" }, note)));
  return true;
}

const scoreText = ({ value, low, high }) => `${fixed(value)}${isNumber(low) ? ` (${fixed(low)} to ${fixed(high)})` : ""}`;
const fixed = (value) => (isNumber(value) ? value.toFixed(1) : "–");
const signed = (value) => (value > 0 ? "+" : "") + value.toFixed(1).replace("-", "−");

function differenceCard(metric, { differences, names }) {
  const rows = differences.filter((one) => one.metric === metric);
  const end = Math.max(0.1, ...rows.flatMap((one) => [Math.abs(one.low), Math.abs(one.high)])) * 1.1;
  return el("div", { class: "card" }, el("h3", {}, metric),
    rows.map((one) => [
      el("div", { class: "big", title: one.words }, signed(one.value)),
      el("p", { class: "note", style: "margin:0" }, words(one.name), " against ", words(names[0])),
      differenceBar(one, end),
      el("p", { class: "note num" }, `95% interval ${signed(one.low)} to ${signed(one.high)} · ${one.p < 0.001 ? "p < 0.001" : "p = " + Number(one.p.toPrecision(2))} · `,
        one.p < 0.05 && one.value !== 0 ? el("span", { class: "right" }, "more than chance") : el("span", { class: "wrong" }, "may be chance")),
    ]));
}

// Zero in the middle: an interval that does not reach it is a difference.
function differenceBar({ value, low, high }, end) {
  const x = (v) => 150 + (v / end) * 140;
  return svg("svg", { class: "interval", viewBox: "0 0 300 30", role: "img", "aria-label": `${low} to ${high}, zero in the middle` },
    svg("line", { class: "axis", x1: 4, x2: 296, y1: 14, y2: 14 }),
    svg("line", { class: "rule", x1: 150, x2: 150, y1: 0, y2: 28 }),
    svg("line", { class: "series s0", x1: x(low), x2: Math.max(x(high), x(low) + 2), y1: 14, y2: 14, style: "stroke-width:9;stroke-linecap:butt;opacity:.45" }),
    svg("line", { class: "series s0", x1: x(value), x2: x(value), y1: 5, y2: 23 }));
}

function drawComparedCurves({ compared }, section) {
  const charts = COMPARED.map(([key, title, note, best]) => lineChart(
    { title, note, best, zero: !best, series: compared.names.map((name, i) => [`${key} ${i}`, name]) }, compared.curves)).filter(Boolean);
  if (charts.length) section.append(el("div", { class: "charts" }, charts));
  return charts.length > 0;
}

function drawComparedSettings({ compared }, section) {
  const head = el("tr", {}, el("th"), compared.names.map((name) => el("th", { scope: "col" }, words(name))));
  const rows = compared.settings.map(([name, values]) =>
    el("tr", {}, el("th", { scope: "row" }, name), values.map((value) => el("td", {}, words(value)))));
  section.append(el("div", { class: "scroll" }, el("table", { class: "counts" }, el("thead", {}, head), el("tbody", {}, rows))));
  return true;
}

function drawApart({ compared }, section) {
  section.append(
    el("p", { class: "note" }, "The sentences whose translations lie farthest apart in chrF, given before each. ",
      el("mark", {}, "Marked"), " is what the translation above does not have."),
    el("div", { class: "watched" }, compared.sentences.map((one) => apartCard(one, compared.names))));
  return true;
}

function apartCard({ source, references, translations, chrf }, names) {
  const row = (text, i) => el("tr", {}, el("th", { scope: "row", class: "num" }, words(names[i]), ` · ${fixed(chrf[i])}`),
    el("td", {}, el("bdi", { dir: "auto" }, i ? changes(translations[i - 1], text) : text)));
  const meant = el("tr", { class: "meant" }, el("th", { scope: "row" }, "reference"),
    el("td", {}, references.map((text) => el("div", {}, words(text)))));
  return el("div", { class: "card" }, el("h3", {}, words(source)), el("table", {}, el("tbody", {}, translations.map(row), meant)));
}
