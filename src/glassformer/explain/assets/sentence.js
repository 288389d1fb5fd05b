// One sentence through the model: its pieces with their ids, and how the tokenizer made them.

function drawSentence(data, section) {
  const { sentence } = data;
  section.append(
    el("p", { class: "pair" }, words(sentence.text), el("span", { class: "arrow", "aria-hidden": "true" }, "→"), el("span", { class: "spoken" }, " becomes "), words(sentence.translation)),
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
