// One sentence through the model: its pieces with their ids, how the tokenizer made them, and each decoding step.

function drawSentence(data, section) {
  const { sentence } = data;
  section.append(
    el("p", { class: "pair" }, words(sentence.text), el("span", { class: "arrow", "aria-label": "becomes" }, "→"), words(sentence.translation)),
    el("h3", {}, "Source pieces and their ids, as they are read"), chips(sentence.source, sentence.source_ids));
  if (sentence.trace.length) {
    section.append(el("details", {}, el("summary", {}, "How the tokenizer split the text"), el("pre", {}, sentence.trace.map((line) => [words(line), "\n"]))));
  }
  section.append(el("h3", {}, "Target pieces, as the model chose them"), chips(sentence.target, sentence.target_ids));
  return true;
}

function chips(pieces, ids) {
  return el("ol", { class: "chips" }, pieces.map((piece, i) => el("li", {}, words(piece), el("small", {}, String(ids[i])))));
}

function drawSteps(data, section) {
  const { steps, score } = data.sentence;
  section.append(
    el("p", { class: "note" }, "At each step the model gives every token of the vocabulary a probability; the highest are shown." +
      (isNumber(score) ? ` Log-probability of the whole sentence: ${score.toFixed(3)}.` : "")),
    el("ol", { class: "steps" }, steps.map(stepCard)));
  return true;
}

function stepCard(step, i) {
  return el("li", { class: "card" },
    el("h3", {}, el("span", {}, el("span", { class: "note" }, `${i + 1}. `), words(step.chosen)), el("span", { class: "num" }, percent(step.probability))),
    el("div", { class: "candidates" }, step.top.map(([piece, probability]) => candidate(piece, probability, piece === step.chosen))));
}

function candidate(piece, probability, chosen) {
  const width = `width:${(100 * probability).toFixed(1)}%`;
  return [
    el("span", { class: chosen ? "piece chosen" : "piece" }, words(piece), chosen ? el("span", { "aria-label": "chosen" }, " ◂") : null),
    el("span", { class: "bar", "aria-hidden": "true" }, el("i", { style: width })),
    el("span", { class: "num" }, percent(probability)),
  ];
}
