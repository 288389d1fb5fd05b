// Every head as a small picture; the selected head enlarged, as a grid of numbers and as lines between the pieces.

const SHOW_NUMBERS_UP_TO = 26; // columns: beyond this the cells are too narrow for numbers

const KINDS = {
  cross: { key: "cross_attention", label: "Cross-attention", rows: "target", columns: "source",
    note: "Each row is a target piece, at the step that chose it; its columns show how much it read from each source piece." },
  encoder: { key: "encoder_attention", label: "Encoder self-attention", rows: "source", columns: "source",
    note: "Each row is a source piece; its columns show how much it read from each source piece. Every row sums to 1." },
};

function drawAttention(data, section) {
  const kinds = Object.keys(KINDS).filter((kind) => (data.sentence[KINDS[kind].key] || []).length);
  if (!kinds.length) return false;
  const stage = el("div");
  const show = (kind) => stage.replaceChildren(...attentionKind(data, kind));
  if (kinds.length > 1) section.append(choice(kinds.map((kind) => [kind, KINDS[kind].label]), kinds[0], show));
  section.append(stage);
  show(kinds[0]);
  return true;
}

function attentionKind(data, kind) {
  const { key, note, rows, columns } = KINDS[kind];
  const patterns = data.sentence[key];
  const first = kind === "cross" && data.alignment ? [data.alignment.layer, data.alignment.head] : bestLooking(patterns);
  const large = el("div");
  const show = (layer, head) => large.replaceChildren(...largeHead(data, kind, layer, head, data.sentence[rows], data.sentence[columns]));
  const thumbs = thumbnails(patterns, first, show);
  show(...first);
  return [el("p", { class: "note" }, note, " Select a head to enlarge it; the arrow keys move from head to head."), thumbs, large];
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
  const buttons = patterns.map((heads, n) => heads.map((pattern, h) => thumbnail(pattern, n, h, () => press(n, h))));
  function press(n, h) {
    buttons.forEach((row, i) => row.forEach((button, j) => {
      button.setAttribute("aria-pressed", String(i === n && j === h));
      button.tabIndex = i === n && j === h ? 0 : -1;
    }));
    show(n, h);
  }
  buttons.forEach((row, n) => row.forEach((button, h) => button.addEventListener("keydown", (event) => {
    const move = ARROWS[event.key];
    if (!move) return;
    event.preventDefault();
    const [i, j] = [clamp(n + move[0], 0, buttons.length - 1), clamp(h + move[1], 0, row.length - 1)];
    press(i, j);
    buttons[i][j].focus();
  })));
  press(...first);
  return el("div", { class: "heads", role: "group", "aria-label": "Heads" }, buttons.map((row, n) =>
    el("div", { class: "layer" }, el("span", { class: "name" }, `Layer ${n + 1}`), el("div", { class: "row", style: `--across:${Math.min(8, row.length)}` }, row))));
}

function thumbnail(pattern, n, h, onclick) {
  return el("button", { type: "button", class: "thumb", "aria-label": `Layer ${n + 1}, head ${h + 1}`, onclick },
    matrixCanvas(pattern, (value) => value, { "aria-hidden": "true" }), `head ${h + 1}`);
}

function largeHead(data, kind, layer, head, rows, columns) {
  const pattern = data.sentence[KINDS[kind].key][layer][head];
  const gold = kind === "cross" && data.alignment ? data.alignment.links : [];
  const readout = el("p", { class: "readout", "aria-live": "polite" }, "Point at a cell, or use the arrow keys, to see its weight.");
  const title = `Layer ${layer + 1}, head ${head + 1}`;
  return [
    el("h3", {}, title, el("span", { class: "note" }, alignmentNote(data, kind, layer, head))),
    el("div", { class: "large" }, el("div", { class: "scroll" }, grid(pattern, rows, columns, gold, readout, title)), linkPicture(pattern, rows, columns)),
    readout,
    el("p", { class: "note" }, "0", el("span", { class: "key", "aria-hidden": "true" }), "1", gold.length ? " · outlined: linked in the gold alignment" : ""),
  ];
}

function alignmentNote(data, kind, layer, head) {
  const best = data.alignment;
  if (kind !== "cross" || !best || best.layer !== layer || best.head !== head) return "";
  const rates = [["validation", best.valid_aer], ["test", best.test_aer]].filter(([, rate]) => isNumber(rate));
  const said = rates.map(([name, rate]) => `${percent(rate)} on ${name}`).join(", ");
  return " · the head closest to the gold alignments" + (said ? `; error rate ${said}` : "");
}

function grid(pattern, rows, columns, gold, readout, title) {
  const isGold = new Set(gold.map(([s, t]) => `${t},${s}`));
  const numbers = columns.length <= SHOW_NUMBERS_UP_TO;
  const head = columns.map((piece) => el("th", { scope: "col" }, words(piece)));
  const side = rows.map((piece) => el("th", { scope: "row" }, words(piece)));
  const cell = (value, t, s) => {
    const className = [value > 0.62 ? "deep" : "", isGold.has(`${t},${s}`) ? "gold" : ""].join(" ").trim();
    const text = numbers && value >= 0.005 ? String(Math.round(100 * value)) : "";
    return el("td", { style: `--w:${value}`, class: className || null, tabindex: t || s ? -1 : 0, "data-t": t, "data-s": s }, text);
  };
  const cells = pattern.map((row, t) => row.map((value, s) => cell(value || 0, t, s)));
  const table = el("table", { class: "grid", "aria-label": `${title}, in percent` },
    el("thead", {}, el("tr", {}, el("td", { style: "visibility:hidden" }), head)),
    el("tbody", {}, cells.map((row, t) => el("tr", {}, side[t], row))));
  readGrid(table, cells, (t, s) => {
    head.forEach((th, i) => th.classList.toggle("lit", i === s));
    side.forEach((th, i) => th.classList.toggle("lit", i === t));
    readout.replaceChildren(words(rows[t]), " reads ", words(columns[s]), ` with weight ${pattern[t][s]}`);
  });
  return table;
}

// Pointer and arrow keys both call read(t, s).
function readGrid(table, cells, read) {
  const place = (target) => (target.dataset && target.dataset.t !== undefined ? [+target.dataset.t, +target.dataset.s] : null);
  table.addEventListener("pointerover", (event) => { const at = place(event.target); if (at) read(...at); });
  table.addEventListener("focusin", (event) => { const at = place(event.target); if (at) read(...at); });
  table.addEventListener("keydown", (event) => {
    const at = place(event.target), move = ARROWS[event.key];
    if (!at || !move) return;
    event.preventDefault();
    const next = cells[clamp(at[0] + move[0], 0, cells.length - 1)][clamp(at[1] + move[1], 0, cells[0].length - 1)];
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

// The pieces that are read on the left, those that read on the right; thicker lines mean larger weights.
function linkPicture(pattern, rows, columns) {
  const height = 26 * Math.max(rows.length, columns.length) + 34, y = (i, n) => 40 + (i + 0.5) * ((height - 40) / n);
  const cut = (piece) => (piece.length > 14 ? piece.slice(0, 13) + "…" : piece);
  const lines = pattern.flatMap((row, t) => row.map((value, s) => (value > 0.04
    ? svg("line", { x1: 128, x2: 272, y1: y(s, columns.length), y2: y(t, rows.length), "stroke-width": (0.5 + 4 * value).toFixed(2), opacity: value.toFixed(2) },
        svg("title", {}, `${isolated(rows[t])} reads ${isolated(columns[s])}: ${value}`)) : null)));
  const names = (list, x, anchor) => list.map((piece, i) => svg("text", { x, y: y(i, list.length) + 4, "text-anchor": anchor, style: "unicode-bidi:plaintext" }, cut(piece)));
  const heads = [svg("text", { x: 120, y: 18, "text-anchor": "end", style: "fill:var(--soft)" }, "is read"),
    svg("text", { x: 280, y: 18, style: "fill:var(--soft)" }, "reads")];
  return svg("svg", { class: "links", viewBox: `0 0 400 ${height}`, role: "img", "aria-label": "The same weights as lines from each piece to the pieces it reads" },
    lines, names(columns, 120, "end"), names(rows, 280, "start"), heads);
}
