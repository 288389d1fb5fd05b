// Lengths of lines, and of targets relative to their sources: bars with a read-out, limits and medians.

const BARS = { left: 46, right: 14, labels: 38, half: 104, axis: 36 };
const RATIO_TICKS = [[1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16], [0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.4]];

// A share in percent, never rounded to 0% or 100%.
function shareOf(count, total) {
  const part = total ? (100 * count) / total : 0;
  if (count === 0 || count === total) return `${part.toFixed(0)}%`;
  if (part < 0.01) return "under 0.01%";
  return part < 10 ? `${Number(part.toPrecision(2))}%` : `${Math.min(part, 99.9).toFixed(1)}%`;
}

const compact = (value) => Intl.NumberFormat("en", { notation: "compact" }).format(value + 0); // no -0
const sumOf = (list) => list.reduce((a, b) => a + b, 0);

// A chart that is drawn for each width, with a line below that describes the bar under the pointer.
function barFigure(caption, resting, draw, ...rest) {
  const holder = el("div"), readout = el("p", { class: "readout", "aria-live": "polite" }, resting);
  const paint = () => holder.replaceChildren(draw(holder.clientWidth || 480, readout));
  paint(); // at once, so that switching charts does not flicker; again when the width is known
  whenPlaced(holder, paint);
  return el("figure", { class: "card" }, el("figcaption", {}, caption), ...rest, holder, readout);
}

function barSvg(width, height, label, ...children) {
  return svg("svg", { class: "chart", height, viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "img",
    "aria-label": `${label}. Arrow keys read the bars.` }, children);
}

// Pointer and arrow keys both call show(bar); leaving calls rest().
function readBars(root, { width, count, barAt, first, show, rest }) {
  let at = first;
  const go = (bar) => { at = clamp(bar, 0, count - 1); show(at); };
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    go(barAt(((event.clientX - box.left) / box.width) * width));
  });
  root.addEventListener("pointerleave", rest);
  root.addEventListener("blur", rest);
  root.addEventListener("focus", () => { if (root.matches(":focus-visible")) go(at); });
  root.addEventListener("keydown", (event) => {
    const move = ARROWS[event.key];
    if (move && move[1]) { event.preventDefault(); go(at + move[1]); }
  });
}

// All bars as one path; a count above 0 always gets a visible height.
function barPath(bars, left, step, height, base, up) {
  return bars.map((count, i) => {
    if (!count) return "";
    const tall = Math.max(1.5, height(count)), gap = step > 3 ? 1 : 0;
    return `M${(left + i * step).toFixed(2)} ${base}h${(step - gap).toFixed(2)}v${(up ? -tall : tall).toFixed(2)}h${(gap - step).toFixed(2)}z`;
  }).join("");
}

function mark(x, label, { lines, y, prefer, left, right, className }) {
  const room = 7 * label.length;
  const after = prefer === "after" ? x + room < right : x - room < left;
  return [
    svg("line", { class: className, x1: x, x2: x, y1: lines[0], y2: lines[1] }),
    svg("text", { class: "mark", x: after ? x + 4 : x - 4, y, "text-anchor": after ? "start" : "end" }, label),
  ];
}

// Lengths: the source is drawn upwards, the target downwards.

function lengthFigures(data) {
  const { lengths, ratios, tokens, examined, usable } = data;
  const stage = el("div", { class: "charts" });
  const show = (key) => stage.replaceChildren(lengthChart(data, lengths.find((one) => one.measure === key)), ...(ratios ? [ratioFigure(data)] : []));
  const names = lengths.map(({ measure }) => [measure, measure[0].toUpperCase() + measure.slice(1)]);
  show(lengths[0].measure);
  return el("div", {}, choice(names, lengths[0].measure, show), stage, tokens ? tokenNote(tokens) : null,
    examined < usable ? el("p", { class: "note" }, `Only the first ${whole(examined)} of ${whole(usable)} pairs were examined, here and below.`) : null);
}

function tokenNote({ allowed, left_out, of }) {
  const said = left_out ? `left out ${whole(left_out)} of ${whole(of)} pairs (${shareOf(left_out, of)}), which have` : "left out no pair: none has";
  return el("p", { class: "note after" }, `Training ${said} more than ${whole(allowed)} tokens (data.max_tokens) on a side${left_out ? ", or none" : ""}.`);
}

function lengthChart({ sides, examined }, shown) {
  const { measure, medians, p95, longest_known, limit, over_limit } = shown;
  const known = (value) => (value >= longest_known ? `${whole(value)} or more` : whole(value));
  const resting = sides.map((side, i) => `${isolated(side.name)}: half up to ${known(medians[i])}, 95% up to ${known(p95[i])}`).join(" · ");
  const swatch = (i) => svg("svg", { "aria-hidden": "true", viewBox: "0 0 30 10" }, svg("rect", { class: "dot" + i, x: 8, width: 14, height: 10 }));
  const legend = el("div", { class: "legend" }, sides.map((side, i) => el("span", {}, swatch(i), words(side.name), i ? " ↓" : " ↑")));
  const caption = [`Length in ${measure}`, el("span", { class: "note" }, ` · ${whole(examined)} pairs`)];
  const figure = barFigure(caption, resting, (width, readout) => lengthSvg(shown, sides, width, readout, resting), legend);
  if (limit) figure.append(el("p", { class: "note" }, limitNote(limit, measure, over_limit)));
  return figure;
}

const limitNote = (limit, measure, over) =>
  `The filter too-long allows ${whole(limit)} ${measure} on a side; ${over ? `${whole(over)} ${over === 1 ? "pair has" : "pairs have"} more` : "no pair has more"}.`;

function barName({ width, bars, is_open, measure }, i) {
  const from = i * width + 1, last = bars[0].length - 1;
  if (is_open && i === last) return `${whole(from)} or more ${measure}`;
  return width === 1 ? `${whole(from)} ${from === 1 ? measure.slice(0, -1) : measure}` : `${whole(from)} to ${whole(from + width - 1)} ${measure}`;
}

function lengthSvg(shown, sides, width, readout, resting) {
  const { bars, width: each, is_open } = shown, count = bars[0].length;
  const right = width - BARS.right, step = (right - BARS.left) / count;
  const middle = BARS.labels + BARS.half, bottom = middle + BARS.half + BARS.labels, height = bottom + BARS.axis;
  const most = Math.max(1, ...bars.flat()), tall = (value) => (value / most) * BARS.half;
  const end = (count - (is_open ? 1 : 0)) * each; // the longest length in a bar that is not open
  const x = (length) => BARS.left + (length > end ? end + each / 2 : length - 0.5) * (step / each);
  const cursor = svg("rect", { class: "cursor", y: BARS.labels, height: 2 * BARS.half, width: step, visibility: "hidden" });
  const root = barSvg(width, height, `Length in ${shown.measure}: ${resting}`,
    lengthAxes({ width, right, middle, bottom, most, tall, end, x, shown }), cursor,
    bars.map((side, i) => svg("path", { class: "bars fill" + i, d: barPath(side, BARS.left, step, tall, middle, i === 0) })),
    svg("line", { class: "base", x1: BARS.left, x2: right, y1: middle, y2: middle }),
    bars.map((_, i) => lengthMarks(shown, i, { x, right, middle })));
  readBars(root, {
    width, count, first: Math.min(count - 1, Math.floor((shown.medians[0] - 1) / each)), barAt: (px) => Math.floor((px - BARS.left) / step),
    show: (i) => {
      cursor.setAttribute("x", BARS.left + i * step);
      cursor.setAttribute("visibility", "visible");
      readout.textContent = `${barName(shown, i)}: ` + sides.map((side, s) =>
        `${isolated(side.name)} ${whole(bars[s][i])} (${shareOf(bars[s][i], sumOf(bars[s]))})`).join(" · ");
    },
    rest: () => { cursor.setAttribute("visibility", "hidden"); readout.textContent = resting; },
  });
  return root;
}

function lengthMarks({ medians, p95, longest_known }, i, { x, right, middle }) {
  const sign = i ? 1 : -1, far = middle + sign * BARS.half, text = (row) => middle + sign * (BARS.half + 8 + 15 * row) + (i ? 9 : 0);
  const known = (value) => (value >= longest_known ? `${whole(value)} or more` : whole(value));
  return [
    mark(x(p95[i]), `95% up to ${known(p95[i])}`, { lines: [middle, far + sign * 26], y: text(1), prefer: "after", left: BARS.left, right, className: "quantile dashed" }),
    mark(x(medians[i]), `median ${known(medians[i])}`, { lines: [middle, far + sign * 12], y: text(0), prefer: "before", left: BARS.left, right, className: "quantile" }),
  ];
}

function lengthAxes({ width, right, middle, bottom, most, tall, end, x, shown }) {
  const { is_open, limit, measure } = shown;
  const rows = ticks(0, most, 3).filter(Number.isInteger).flatMap((value) => (value ? [-1, 1] : [1]).map((sign) => {
    const y = middle + sign * tall(value);
    return [svg("line", { class: "axis", x1: BARS.left, x2: right, y1: y, y2: y }),
      svg("text", { x: BARS.left - 7, y: y + 4, "text-anchor": "end" }, compact(value))];
  }));
  const openAt = x(end + 1);
  const round = ticks(0, end, Math.max(5, Math.floor(width / 60))).filter((v) => v >= 1 && Number.isInteger(v) && (!is_open || openAt - x(v) > 40));
  const columns = [...round.map((v) => [x(v), whole(v)]), ...(is_open ? [[openAt, `${whole(end + 1)}+`]] : [])].map(([px, text]) => [
    svg("line", { class: "axis", x1: px, x2: px, y1: bottom, y2: bottom + 4 }),
    svg("text", { x: Math.min(px, right - 3.5 * text.length), y: bottom + 17, "text-anchor": "middle" }, text)]);
  const names = [svg("text", { x: right, y: bottom + 33, "text-anchor": "end" }, `${measure} on a side`), svg("text", { x: 0, y: 12 }, "pairs"),
    svg("line", { class: "axis", x1: BARS.left, x2: right, y1: bottom, y2: bottom })];
  const wall = limit && limit < end ? [svg("line", { class: "limit", x1: x(limit + 0.5), x2: x(limit + 0.5), y1: 0, y2: bottom })] : [];
  return [rows, columns, names, wall];
}

// Ratios: length relative to the expected length, on a logarithmic scale.

const times = (value) => `${value >= 10 ? value.toFixed(0) : Number(value.toPrecision(2))}×`;

function ratioFigure({ ratios, examined }) {
  const { factor, over_limit } = ratios;
  const resting = over_limit
    ? `${whole(over_limit)} ${over_limit === 1 ? "pair is" : "pairs are"} outside the limits of the filter ratio (${shareOf(over_limit, examined)})`
    : "no pair is outside the limits of the filter ratio";
  const caption = ["Target length compared with source", el("span", { class: "note" }, ` · ${whole(examined)} pairs`)];
  const figure = barFigure(caption, resting, (width, readout) => ratioSvg(ratios, examined, width, readout, resting));
  figure.append(el("p", { class: "note" }, `Expected: ${short(factor)} target characters per source character, the usual ratio in this data; very short lines get some tolerance.`));
  return figure;
}

function ratioSvg({ bars, first, steps, limit }, pairs, width, readout, resting) {
  const right = width - BARS.right, step = (right - BARS.left) / bars.length;
  const top = BARS.labels, base = top + 2 * BARS.half + BARS.labels, most = Math.max(1, ...bars), tall = (value) => (value / most) * (base - top);
  const x = (ratio) => BARS.left + (Math.log2(ratio) * steps - first + 0.5) * step;
  const ratioOf = (i, part = 0) => 2 ** ((first + i + part) / steps);
  const outside = (i) => ratioOf(i, 0.5) <= 1 / limit || ratioOf(i, -0.5) >= limit;
  const only = (wanted) => bars.map((count, i) => (outside(i) === wanted ? count : 0));
  const cursor = svg("rect", { class: "cursor", y: top, height: base - top, width: step, visibility: "hidden" });
  const root = barSvg(width, base + BARS.axis, `Target length compared with the expected length: ${resting}`,
    ratioAxes({ x, right, base, most, tall, width, low: ratioOf(0), high: ratioOf(bars.length - 1) }), cursor,
    [false, true].map((far) => svg("path", { class: far ? "bars far" : "bars fill0", d: barPath(only(far), BARS.left, step, tall, base, true) })),
    svg("line", { class: "base", x1: BARS.left, x2: right, y1: base, y2: base }),
    [[1 / limit, "start", 4], [limit, "end", -4]].filter(([v]) => x(v) > BARS.left && x(v) < right).map(([v, anchor, off]) => [
      svg("line", { class: "limit", x1: x(v), x2: x(v), y1: 12, y2: base }),
      svg("text", { class: "mark", x: x(v) + off, y: 22, "text-anchor": anchor }, `limit ${times(v)}`)]));
  readBars(root, {
    width, count: bars.length, first: -first, barAt: (px) => Math.floor((px - BARS.left) / step),
    show: (i) => {
      cursor.setAttribute("x", BARS.left + i * step);
      cursor.setAttribute("visibility", "visible");
      const said = i === 0 ? `${times(ratioOf(0, 0.5))} or less` : i === bars.length - 1 ? `${times(ratioOf(i, -0.5))} or more` : `${ratioOf(i, -0.5).toFixed(2)} to ${ratioOf(i, 0.5).toFixed(2)} times`;
      readout.textContent = `${said} the expected length: ${whole(bars[i])} pairs (${shareOf(bars[i], pairs)})`;
    },
    rest: () => { cursor.setAttribute("visibility", "hidden"); readout.textContent = resting; },
  });
  return root;
}

function ratioAxes({ x, right, base, most, tall, width, low, high }) {
  const rows = ticks(0, most, 4).filter(Number.isInteger).map((value) => [
    svg("line", { class: "axis", x1: BARS.left, x2: right, y1: base - tall(value), y2: base - tall(value) }),
    svg("text", { x: BARS.left - 7, y: base - tall(value) + 4, "text-anchor": "end" }, compact(value))]);
  const inside = RATIO_TICKS.map((list) => list.filter((v) => v >= low && v <= high));
  const columns = (inside[0].length >= 3 ? inside[0] : inside[1]).map((v) => [
    svg("line", { class: "axis", x1: x(v), x2: x(v), y1: base, y2: base + 4 }),
    svg("text", { x: x(v), y: base + 17, "text-anchor": "middle" }, times(v))]);
  return [rows, columns, svg("text", { x: right, y: base + 33, "text-anchor": "end" }, "times the expected length"),
    svg("text", { x: 0, y: 12 }, "pairs")];
}
