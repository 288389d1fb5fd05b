// Line charts over the training steps, with a read-out that follows the pointer or the arrow keys.

const MARGIN = { top: 14, right: 16, bottom: 34, left: 50 };
const CHART_HEIGHT = 250;

const BEST = { "lower is better": Math.min, "higher is better": Math.max };

// Charts over something else than steps: lengths, distances. They share all of the drawing.
function drawLines(data, section) {
  const charts = data.lines.map(({ title, note, across, digits, zero, lines }) => lineChart(
    { ...chartOf({ title, digits, unit: "", zero, series: lines.map(([name], i) => ["line" + i, name]) }), across, explained: note },
    lines.flatMap(([, points], i) => points.map(([x, y]) => ({ step: x, ["line" + i]: y }))))).filter(Boolean);
  if (charts.length) section.append(el("div", { class: "charts" }, charts));
  return charts.length > 0;
}

// A chart as described in the data (explain/charts.py), with what is needed to draw it.
function chartOf({ title, series, better, digits, unit, zero }) {
  const shown = isNumber(digits) ? (value) => isNumber(value) ? value.toFixed(digits) + unit : "–" : undefined;
  return { title, series, zero, note: better, best: BEST[better], digits: shown };
}

function drawCurves(data, section) {
  const notes = data.curve_notes || {};
  const charts = data.charts.map((chart) => lineChart({ ...chartOf(chart), explained: notes[chart.key] }, data.curves)).filter(Boolean);
  if (charts.length) section.append(el("div", { class: "charts" }, charts));
  return charts.length > 0;
}

function lineChart(chart, curves) {
  const series = chart.series
    .map(([key, name], i) => ({ name, i, points: curves.filter((p) => isNumber(p[key])).map((p) => [p.step, p[key]]) }))
    .filter((one) => one.points.length > 0);
  if (!series.length) return null;
  const holder = el("div", { style: `min-height:${CHART_HEIGHT}px` }); // reserves the height before the chart is drawn
  const readout = el("p", { class: "readout", "aria-live": "polite" }, summary(series, chart));
  const draw = () => holder.replaceChildren(chartSvg(chart, series, holder.clientWidth || 480, readout));
  whenPlaced(holder, draw);
  const caption = chart.note ? [chart.title, el("span", { class: "note" }, " · " + chart.note)] : [chart.title];
  return el("figure", { class: "card" }, el("figcaption", {}, caption), legend(series), holder, readout,
    chart.explained ? el("p", { class: "note" }, words(chart.explained)) : null);
}

// Draws as soon as this script has placed the holder in the page, without waiting for a frame, and again when its width changes.
function whenPlaced(holder, draw) {
  queueMicrotask(draw);
  let width = 0;
  new ResizeObserver(() => {
    if (holder.clientWidth !== width) { width = holder.clientWidth; draw(); }
  }).observe(holder);
}

function legend(series) {
  if (series.length < 2) return null;
  const sample = (i) => svg("svg", { "aria-hidden": "true", viewBox: "0 0 30 10" },
    svg("line", { class: "series s" + i, x1: 1, x2: 29, y1: 5, y2: 5 }));
  return el("div", { class: "legend" }, series.map((one) => el("span", {}, sample(one.i), one.name)));
}

function summary(series, chart) {
  const shown = chart.digits || short;
  const parts = series.map(({ name, points }) => {
    const values = points.map((point) => point[1]);
    if (chart.across) return `${name} ${shown(values[0])} to ${shown(values.at(-1))}`;
    const last = `${name} ${shown(values.at(-1))} at the end`;
    if (!chart.best || points.length < 2) return last;
    const best = chart.best(...values);
    const step = points[values.indexOf(best)][0];
    return step === points.at(-1)[0] ? `${last} (its best)` : `${last}, best ${shown(best)} at step ${whole(step)}`;
  });
  return parts.join(" · ");
}

function scales(series, width, zero) {
  const all = series.flatMap((one) => one.points);
  const xs = all.map((p) => p[0]), ys = all.map((p) => p[1]);
  let [left, right] = [Math.min(...xs), Math.max(...xs)];
  if (left === right) { left -= 1; right += 1; }
  let [low, high] = [zero ? 0 : Math.min(...ys), Math.max(...ys)];
  if (low === high) { low -= Math.abs(low) * 0.1 || 1; high += Math.abs(high) * 0.1 || 1; }
  const room = (high - low) * 0.05;
  [low, high] = [zero || (low >= 0 && low - room < 0) ? Math.min(low, 0) : low - room, high + room];
  const x = (v) => MARGIN.left + ((v - left) / (right - left)) * (width - MARGIN.left - MARGIN.right);
  const y = (v) => CHART_HEIGHT - MARGIN.bottom - ((v - low) / (high - low)) * (CHART_HEIGHT - MARGIN.top - MARGIN.bottom);
  return { x, y, left, right, low, high };
}

function chartSvg(chart, series, width, readout) {
  const scale = scales(series, width, chart.zero);
  const rule = svg("g", { visibility: "hidden" });
  const root = svg("svg", {
    class: "chart", height: CHART_HEIGHT, viewBox: `0 0 ${width} ${CHART_HEIGHT}`, tabindex: 0, role: "img",
    "aria-label": `${chart.title}: ${summary(series, chart)}. Arrow keys read the values.`,
  }, axes(scale, width, chart.across), series.map((one) => seriesLine(one, scale)), rule);
  follow(root, rule, { chart, series, scale, readout, width });
  return root;
}

function axes({ x, y, left, right, low, high }, width, across = "step") {
  const base = CHART_HEIGHT - MARGIN.bottom;
  const rows = ticks(low, high, 5).map((v) => [
    svg("line", { class: "axis", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(v), y2: y(v) }),
    svg("text", { x: MARGIN.left - 8, y: y(v) + 4, "text-anchor": "end" }, short(v)),
  ]);
  const columns = ticks(left, right, Math.max(4, Math.floor(width / 110))).map((v) => [
    svg("line", { class: "axis", x1: x(v), x2: x(v), y1: base, y2: base + 4 }),
    svg("text", { x: x(v), y: base + 17, "text-anchor": "middle" }, whole(v)),
  ]);
  const name = svg("text", { x: width - MARGIN.right, y: CHART_HEIGHT - 2, "text-anchor": "end" }, across);
  return [...rows, ...columns].flat().concat(name);
}

function seriesLine({ points, i }, { x, y }) {
  const path = points.map(([s, v], j) => `${j ? "L" : "M"}${x(s).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  const dots = points.length <= 2 ? points.map(([s, v]) => svg("circle", { class: "dot" + i, cx: x(s), cy: y(v), r: 3.5 })) : [];
  return [svg("path", { class: "series s" + i, d: path }), ...dots];
}

// Moves the rule to the step nearest the pointer, or to the next one on an arrow key.
function follow(root, rule, { chart, series, scale, readout, width }) {
  const steps = [...new Set(series.flatMap((one) => one.points.map((p) => p[0])))].sort((a, b) => a - b);
  let at = steps.length - 1;
  const show = (i) => {
    at = clamp(i, 0, steps.length - 1);
    const here = series.map((one) => ({ ...one, point: nearest(one.points, steps[at]) }));
    const px = scale.x(steps[at]);
    rule.replaceChildren(
      svg("line", { class: "rule", x1: px, x2: px, y1: MARGIN.top, y2: CHART_HEIGHT - MARGIN.bottom }),
      ...here.map((one) => svg("circle", { class: "dot" + one.i, cx: scale.x(one.point[0]), cy: scale.y(one.point[1]), r: 4 })));
    rule.setAttribute("visibility", "visible");
    readout.textContent = `${chart.across || "step"} ${whole(steps[at])}: ` + here.map((one) =>
      `${one.name} ${(chart.digits || short)(one.point[1])}${one.point[0] === steps[at] ? "" : ` (${chart.across || "step"} ${whole(one.point[0])})`}`).join(" · ");
  };
  const leave = () => { rule.setAttribute("visibility", "hidden"); readout.textContent = summary(series, chart); };
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    const px = ((event.clientX - box.left) / box.width) * width;
    show(nearestIndex(steps, (step) => Math.abs(scale.x(step) - px)));
  });
  root.addEventListener("pointerleave", leave);
  root.addEventListener("blur", leave);
  root.addEventListener("focus", () => { if (root.matches(":focus-visible")) show(at); });
  root.addEventListener("keydown", (event) => {
    const move = ARROWS[event.key];
    if (move && move[1]) { event.preventDefault(); show(at + move[1]); }
  });
}

function nearestIndex(list, distance) {
  let best = 0;
  list.forEach((item, i) => { if (distance(item) < distance(list[best])) best = i; });
  return best;
}

const nearest = (points, step) => points[nearestIndex(points, (point) => Math.abs(point[0] - step))];
