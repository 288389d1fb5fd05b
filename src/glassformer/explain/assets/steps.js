// Decoding, step by step: how probable each chosen token was, and its rivals on a scale that also shows small probabilities.

const FIRST_STEPS = 24; // cards, until the reader asks for all
const STEP_CHART = { high: 190, left: 46, right: 12, top: 22, bottom: 40 };

function drawSteps(data, section) {
  const { steps, score, certain } = data.sentence;
  section.append(el("p", { class: "note" }, "At each step the model gives every token of the vocabulary a probability; the highest are shown." +
    (isNumber(score) ? ` Log-probability of the whole sentence: ${withSign(score, 3)}.` : "")));
  if (certain) section.append(el("p", { class: "note" }, certainNote(certain)));
  section.append(stepFigure(steps, certain), candidateNote(steps), ...stepCards(steps));
  return true;
}

const certainNote = ({ smoothing, vocabulary, probability: most }) =>
  `Why not 100%? This model was trained with label smoothing ${short(smoothing)}: it was taught to give the right token ${percent(most)}, and to spread ` +
  `the rest over all ${whole(vocabulary)} tokens. So about ${percent(most)} is full certainty; the dashed line shows it.`;

// The chosen tokens, on an even scale from 0 to 100%.
function stepFigure(steps, certain) {
  const lowest = steps.reduce((least, step, i) => (step.probability < steps[least].probability ? i : least), 0);
  const mean = sumOf(steps.map((step) => step.probability || 0)) / steps.length;
  const resting = `mean ${percent(mean)}; lowest ${probability(steps[lowest].probability)} at step ${lowest + 1}, ${isolated(steps[lowest].chosen)}`;
  const figure = barFigure("Probability of the chosen token at each step", resting, (width, readout) => stepSvg(steps, certain, width, readout, resting));
  figure.classList.add("wide");
  return figure;
}

function stepSvg(steps, certain, width, readout, resting) {
  const { high, left, right, top, bottom } = STEP_CHART, base = high - bottom, tall = base - top;
  const step = Math.min(90, (width - left - right) / steps.length), end = left + step * steps.length;
  const y = (value) => base - (value || 0) * tall;
  const cursor = svg("rect", { class: "cursor", y: top, height: tall, width: step, visibility: "hidden" });
  const rows = [0, 0.5, 1].map((value) => [svg("line", { class: "axis", x1: left, x2: end, y1: y(value), y2: y(value) }),
    svg("text", { x: left - 7, y: y(value) + 4, "text-anchor": "end" }, `${100 * value}%`)]);
  const root = barSvg(width, high, `Probability of the chosen token at each step: ${resting}`, rows, cursor,
    svg("path", { class: "bars fill0", d: barPath(steps.map((one) => one.probability), left, step, (value) => value * tall, base, true) }),
    certain ? certainLine(certain, { left, end, at: y(certain.probability) }) : null, stepNames(steps, { left, step, base, width }));
  readBars(root, { width, count: steps.length, first: 0, barAt: (px) => Math.floor((px - left) / step),
    show: (i) => {
      cursor.setAttribute("x", left + i * step);
      cursor.setAttribute("visibility", "visible");
      readout.replaceChildren(`step ${i + 1}: `, ...steps[i].top.flatMap(([piece, value], k) => [k ? " · " : "", words(piece), ` ${probability(value)}`]));
    },
    rest: () => { cursor.setAttribute("visibility", "hidden"); readout.textContent = resting; } });
  return root;
}

function certainLine({ probability: most }, { left, end, at }) {
  const line = (x1, x2, y) => ["casing", "certain"].map((name) => svg("line", { class: name, x1, x2, y1: y, y2: y }));
  return [line(left, end, at), line(left, left + 26, 8), svg("text", { x: left + 32, y: 12 }, `certain: ${percent(most)} (label smoothing)`)];
}

// The tokens below their bars where they fit, else the numbers of the steps.
function stepNames(steps, { left, step, base, width }) {
  const at = (i) => left + (i + 0.5) * step;
  if (step >= 40) return steps.map((one, i) => svg("text", { x: at(i), y: base + 18, "text-anchor": "middle", style: "unicode-bidi:plaintext" }, fitting(one.chosen, step - 4)));
  const round = ticks(1, steps.length, Math.max(3, Math.floor(width / 70))).filter((value) => Number.isInteger(value) && value >= 1);
  return [round.map((value) => svg("text", { x: at(value - 1), y: base + 18, "text-anchor": "middle" }, whole(value))),
    svg("text", { x: left + step * steps.length, y: base + 35, "text-anchor": "end" }, "step")];
}

// The rivals: bars on a logarithmic scale, each line a factor of ten.

const lowestPower = (steps) => {
  const seen = steps.flatMap((step) => step.top.map(([, value]) => value)).filter((value) => value > 0);
  return clamp(Math.floor(Math.log10(Math.min(0.01, ...seen)) - 1e-9), -6, -3);
};

const powerName = (power) => `${(100 * 10 ** power).toFixed(Math.max(0, -2 - power))}%`;

const candidateNote = (steps) => el("p", { class: "note after" },
  `The candidates of each step. Their bars are on a logarithmic scale: from each line to the next the probability is ten times as large, from ${powerName(lowestPower(steps))} on the left to 100% on the right.`);

function stepCards(steps) {
  const low = lowestPower(steps), list = el("ol", { class: "steps", style: `--decades:${-low}` });
  const more = el("button", { type: "button", onclick: () => show(Infinity) }, `Show all ${whole(steps.length)} steps`);
  function show(most) {
    list.replaceChildren(...steps.slice(0, most).map((step, i) => stepCard(step, i, low)));
    more.hidden = steps.length <= most;
  }
  show(FIRST_STEPS);
  return [list, el("div", { class: "controls" }, more)];
}

function stepCard(step, i, low) {
  return el("li", { class: "card" },
    el("h3", {}, el("span", { class: "piece" }, el("span", { class: "note" }, `${i + 1}. `), words(step.chosen)), el("span", { class: "num" }, probability(step.probability))),
    el("div", { class: "candidates" }, step.top.map(([piece, value]) => candidate(piece, value, piece === step.chosen, low))),
    el("div", { class: "candidates decades", "aria-hidden": "true" }, el("span", {}, el("span", {}, powerName(low)), el("span", {}, "100%"))));
}

function candidate(piece, value, chosen, low) {
  const share = value > 0 ? clamp(1 - Math.log10(value) / low, 0, 1) : 0;
  return [
    el("span", { class: chosen ? "piece chosen" : "piece" }, words(piece), chosen ? [el("span", { "aria-hidden": "true" }, " ◂"), el("span", { class: "spoken" }, " (chosen)")] : null),
    el("span", { class: "bar", "aria-hidden": "true" }, el("i", { style: `width:${(100 * share).toFixed(1)}%` })),
    el("span", { class: "num" }, probability(value)),
  ];
}
