// Builds the page from sections. Parts missing from the data get no section; a section that fails is reported and does not stop the others.

const SECTIONS = [
  ["progress", (data) => (data.progress.refresh ? "Training in progress" : "Training was stopped"), (data) => data.progress, drawProgress],
  ["verdict", "In plain words", (data) => data.verdict, drawVerdict],
  ["scores", (data) => `Scores on ${data.part ? isolated(data.part) : "held-out " + data.held}`, (data) => data.scores, drawScores],
  ["differences", "Scores and differences", (data) => data.compared, drawDifferences],
  ["learned", "How they learned", (data) => data.compared && data.compared.curves.length, drawComparedCurves],
  ["settings", "Settings that differ", (data) => data.compared && data.compared.settings.length, drawComparedSettings],
  ["apart", "Where they differ most", (data) => data.compared && data.compared.sentences.length, drawApart],
  ["curves", "How it learned", (data) => data.curves, drawCurves],
  ["lines", "Charts", (data) => data.lines, drawLines],
  ["watched", (data) => `How the ${data.predictions} improved`, (data) => data.watched, drawWatched],
  ["samples", "Translations", (data) => data.samples, drawSamples],
  ["tables"],
  ["galleries"],
  ["sentence", "A sentence, piece by piece", (data) => data.sentence, drawSentence],
  ["steps", "Decoding, step by step", (data) => data.sentence && data.sentence.steps.length, drawSteps],
  ["attention", "Attention", (data) => data.sentence, drawAttention],
  ["positions", "Positions", (data) => data.positions, drawPositions],
  ["data", "The data", (data) => data.data, drawData],
  ["facts", "The run", (data) => data.facts, drawFacts],
];

function trouble(message) {
  const place = document.getElementById("trouble");
  place.hidden = false;
  place.textContent += `A part of this page could not be drawn: ${message} `;
}
window.addEventListener("error", (event) => trouble(event.message));

function drawSection([id, named, wanted, draw], data) {
  if (!wanted(data)) return null;
  const title = typeof named === "function" ? named(data) : named;
  const section = el("section", { id, "aria-labelledby": id + "-title" }, el("h2", { id: id + "-title" }, title));
  try {
    if (!draw(data, section)) return null;
    section.dataset.drawn = "yes";
  } catch (error) {
    trouble(`${title}: ${error.message}`);
  }
  document.getElementById("main").append(section);
  return el("li", {}, el("a", { href: "#" + id }, title));
}

function drawPage() {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.getElementById("top").append(
    el("p", { class: "kicker" }, `Glassformer · ${data.about ? isolated(data.about) : "report of a run"}`),
    el("h1", {}, words(data.title || "")),
    data.subtitle ? el("p", { class: "subtitle" }, words(data.subtitle)) : "");
  const links = SECTIONS.flatMap((section) => (section[0] === "tables" ? tableSections(data) : section[0] === "galleries" ? gallerySections(data) : [section])).map((section) => drawSection(section, data)).filter(Boolean);
  const nav = document.getElementById("contents");
  if (links.length > 1) nav.append(el("ul", {}, links));
  else nav.remove();
  document.documentElement.dataset.drawn = "yes";
  scrollBack();
}

drawPage();
