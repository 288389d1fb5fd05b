// Every head as a small picture; the selected head enlarged, and what a piece reads as lines or as shaded text.

const MOST_LINES = 32; // pieces: beyond this, shaded text instead of lines
const EVEN_UP_TO = 30; // columns: beyond this, weights are small, and the colours begin with a scale that shows them

const KINDS = {
  cross: { key: "cross_attention", label: "Cross-attention", rows: "target", columns: "source",
    note: "Each row is a target piece, at the step that chose it; its columns show how much it read from each source piece." },
  encoder: { key: "encoder_attention", label: "Encoder self-attention", rows: "source", columns: "source",
    note: "Each row is a source piece; its columns show how much it read from each source piece. Every row sums to 1." },
  decoder: { key: "decoder_attention", label: "Decoder self-attention", rows: "read", columns: "read",
    note: "Each row is a target piece that the decoder has read; its columns show how much it read from the pieces before it and from itself." },
};

function drawAttention(data, section) {
  const kinds = Object.keys(KINDS).filter((kind) => (data.sentence[KINDS[kind].key] || []).length);
  if (!kinds.length) return false;
  const stage = el("div");
  const show = (kind) => stage.replaceChildren(...attentionKind(data, kind));
  if (kinds.length > 1) section.append(choice(kinds.map((kind) => [kind, KINDS[kind].label]), kinds[0], show, "Kind of attention"));
  section.append(stage);
  show(kinds[0]);
  return true;
}

// A click on a head paints the canvases again; nothing else is built.
function attentionKind(data, kind) {
  const { key, note, rows, columns } = KINDS[kind], { sentence } = data;
  const patterns = sentence[key], pieces = { rows: sentence[rows], columns: sentence[columns] };
  const gold = kind === "cross" && data.alignment ? data.alignment.links : [];
  let [layer, head] = kind === "cross" && data.alignment ? [data.alignment.layer, data.alignment.head] : bestLooking(patterns);
  let tone = pieces.columns.length > EVEN_UP_TO ? "small" : "even";
  const title = el("h3"), readout = el("p", { class: "readout", "aria-live": "polite" }, "Point at a cell, or use the arrow keys, to see its weight.");
  const heads = thumbnails(patterns, [layer, head], (...at) => { [layer, head] = at; show(); });
  const matrix = matrixView({ ...pieces, text: cellText, label: "The weights of this head", hint: "Arrow keys read the weights",
    read: (t, s) => {
      readout.replaceChildren(words(pieces.rows[t]), " reads ", words(pieces.columns[s]), ` with weight ${patterns[layer][head][t][s]}`);
      beside.show(patterns[layer][head], lookOf({ tone }), t);
    } });
  const beside = pieces.rows.length > MOST_LINES || pieces.columns.length > MOST_LINES ? shadedText(pieces, (t) => matrix.go(t, strongest(patterns[layer][head][t]))) : linkPicture(pieces);
  const table = matrixTable({ ...pieces, text: percent, corner: "reads" }, () => patterns[layer][head]);
  const key_ = colourKey(gold.length > 0);
  function show() {
    const pattern = patterns[layer][head], look = lookOf({ tone });
    title.replaceChildren(`Layer ${layer + 1}, head ${head + 1}`, el("span", { class: "note" }, alignmentNote(data, kind, layer, head)));
    matrix.show(pattern, look, gold);
    if (!matrix.selected()) beside.show(pattern, look, null);
    table.update();
  }
  const setTone = (chosen) => { tone = chosen; heads.paint(lookOf({ tone })); key_.show(tone); show(); };
  setTone(tone);
  return [el("p", { class: "note" }, note, " Select a head to enlarge it; the arrow keys move from head to head."), heads.node, title,
    el("div", { class: "viewing" }, toneChoice(tone, setTone), sizeChoice(pieces, matrix)),
    el("div", { class: beside.below ? "large below" : "large" }, el("div", { class: "matrix-side" }, matrix.node, readout, key_.node), beside.node), table.node];
}

const strongest = (weights) => weights.reduce((best, value, s) => (value > weights[best] ? s : best), 0);
const cellText = (value) => (value >= 0.005 ? String(Math.round(100 * value)) : "");
const toneChoice = (tone, setTone) => choice([["even", "Even scale"], ["small", "Small weights too"]], tone, setTone, "Colours");

// Only where the cells of the whole matrix are too small for labels.
function sizeChoice({ columns }, matrix) {
  if (columns.length <= EVEN_UP_TO && matrix.tooSmall() === false) return null;
  return choice([["whole", "Whole"], ["enlarged", "Enlarged"]], "whole", (size) => matrix.enlarge(size === "enlarged"), "Size");
}

// The head that looks most like an alignment: sharp rows and sharp columns, without the end token.
function bestLooking(patterns) {
  const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
  const score = (pattern) => {
    const rows = pattern.length > 1 ? pattern.slice(0, -1) : pattern;
    const inner = rows.map((row) => (row.length > 1 ? row.slice(0, -1) : row));
    const columns = inner[0].map((_, j) => Math.max(...inner.map((row) => row[j])));
    return mean(inner.map((row) => Math.max(...row))) * mean(columns);
  };
  const all = patterns.flatMap((heads, n) => heads.map((pattern, h) => [score(pattern), n, h]));
  return all.reduce((a, b) => (b[0] > a[0] ? b : a)).slice(1);
}

function thumbnails(patterns, first, show) {
  let look = null;
  const paintings = [];
  const buttons = patterns.map((heads, n) => heads.map((pattern, h) => {
    const canvas = el("canvas", { "aria-hidden": "true", class: pattern[0].length > 60 ? "smooth" : null });
    const paint = () => { if (look) paintPixels(canvas, pattern, look); };
    paintings.push(paint);
    keepPainted(canvas, paint);
    return el("button", { type: "button", class: "thumb", "aria-label": `Layer ${n + 1}, head ${h + 1}`, onclick: () => press(n, h) }, canvas, `head ${h + 1}`);
  }));
  function mark(n, h) {
    buttons.forEach((row, i) => row.forEach((button, j) => {
      button.setAttribute("aria-pressed", String(i === n && j === h));
      button.tabIndex = i === n && j === h ? 0 : -1;
    }));
  }
  function press(n, h) { mark(n, h); show(n, h); }
  buttons.forEach((row, n) => row.forEach((button, h) => button.addEventListener("keydown", (event) => {
    const move = ARROWS[event.key];
    if (!move) return;
    event.preventDefault();
    const i = clamp(n + move[0], 0, buttons.length - 1), j = clamp(h + move[1], 0, buttons[i].length - 1);
    press(i, j);
    buttons[i][j].focus();
  })));
  mark(...first);
  const node = el("div", { class: "heads", role: "group", "aria-label": "Heads" }, buttons.map((row, n) =>
    el("div", { class: "layer" }, el("span", { class: "name" }, `Layer ${n + 1}`), el("div", { class: "row", style: `--across:${Math.min(8, row.length)}` }, row))));
  return { node, paint: (now) => { look = now; paintings.forEach((paint) => paint()); } };
}

function alignmentNote(data, kind, layer, head) {
  const best = data.alignment;
  if (kind !== "cross" || !best || best.layer !== layer || best.head !== head) return "";
  const rates = [["validation", best.valid_aer], ["test", best.test_aer]].filter(([, rate]) => isNumber(rate));
  const said = rates.map(([name, rate]) => `${percent(rate)} on ${name}`).join(", ");
  return " · the head closest to the gold alignments" + (said ? `; error rate ${said}` : "");
}

// What the colours mean, at some weights.
function colourKey(gold) {
  const strip = el("canvas", { "aria-hidden": "true" }), marks = el("span", { class: "marks" });
  let look = null;
  const paint = () => { if (look) paintPixels(strip, [Array.from({ length: 101 }, (_, i) => i / 100)], look); };
  keepPainted(strip, paint);
  const node = el("div", { class: "key" }, el("span", { class: "strip" }, strip, marks),
    gold ? el("p", { class: "note" }, "Outlined: linked in the gold alignment.") : null, el("p", { class: "note" }));
  return { node, show: (tone) => {
    look = lookOf({ tone: "even" });
    const at = tone === "even" ? [0, 0.25, 0.5, 0.75, 1] : [0, 0.05, 0.25, 0.5, 1];
    marks.replaceChildren(...at.map((value) => el("span", { style: `left:${100 * TONES[tone](value)}%` }, `${Math.round(100 * value)}%`)));
    node.lastChild.textContent = tone === "even" ? "" : "The colour follows the square root of the weight, so that small weights can be seen.";
    paint();
  } };
}
