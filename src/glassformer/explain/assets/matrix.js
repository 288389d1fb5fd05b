// A matrix on a canvas, of any size: only what is in view is painted. Pointer and arrow keys read it; it is also there as a table.

const CELL = { most: 44, tallest: 30, enlarged: 24, numbers: 25, lines: 9, label: 15 }; // pixels
const LEVELS = 257; // colours from one end to the other; an odd number, so that zero has its own
const MOST_IN_TABLE = 10000, LARGEST = 8; // cells; beyond that, the largest of each row

const TONES = { even: (share) => share, small: Math.sqrt };

// How values become colours. Signed values have two ends, and zero is the colour of the paper.
function lookOf({ signed = false, most = 1, tone = "even" }) {
  const names = signed ? ["--negative", "--card", "--positive"] : ["--card", "--ramp"];
  const level = (value) => {
    const share = clamp((value || 0) / most, signed ? -1 : 0, 1);
    return Math.round((LEVELS - 1) * (signed ? (share + 1) / 2 : TONES[tone](share)));
  };
  return { level, colours: () => blend(names.map((name) => rgb(colour(name)))) };
}

function blend(stops) {
  return Array.from({ length: LEVELS }, (_, i) => {
    const at = (i / (LEVELS - 1)) * (stops.length - 1), from = Math.min(Math.floor(at), stops.length - 2);
    return stops[from].map((value, channel) => Math.round(value + (at - from) * (stops[from + 1][channel] - value)));
  });
}

// One pixel per cell.
function paintPixels(canvas, values, look) {
  canvas.height = values.length;
  canvas.width = values[0].length;
  const colours = look.colours(), image = new ImageData(canvas.width, canvas.height), bytes = image.data;
  let at = 0;
  for (const row of values) {
    for (const value of row) {
      const channels = colours[look.level(value)];
      bytes[at] = channels[0]; bytes[at + 1] = channels[1]; bytes[at + 2] = channels[2]; bytes[at + 3] = 255;
      at += 4;
    }
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// `read(row, column)` is called for the selected cell, `text(value)` is what a cell or the table shows of a value.
function matrixView({ rows, columns, text, read, label, hint }) {
  const canvas = el("canvas", { "aria-hidden": "true" }), extent = el("div", { class: "extent" }, canvas);
  const box = el("div", { class: "matrix-view", tabindex: 0, role: "application", "aria-label": `${label}. ${hint}` }, extent), frame = el("div", { class: "matrix-frame" }, box);
  const state = { rows, columns, text, canvas, frame, box, extent, pixels: document.createElement("canvas"), values: null, look: null, marked: [], at: null, enlarged: false };
  const paint = () => { if (state.values && state.layout) paintMatrix(state); };
  const place = () => { if (frame.clientWidth) { state.layout = layoutOf(state); paint(); } };
  const select = (row, column) => {
    state.at = [clamp(row, 0, rows.length - 1), clamp(column, 0, columns.length - 1)];
    paint();
    read(...state.at);
  };
  const go = (row, column) => { select(row, column); if (state.layout) { reveal(state); paint(); } };
  whenPlaced(frame, place);
  box.addEventListener("scroll", paint);
  readMatrix(state, select, go);
  const recolour = () => { if (state.values) paintPixels(state.pixels, state.values, state.look); paint(); };
  keepPainted(canvas, recolour);
  return {
    node: frame, go,
    selected: () => state.at,
    tooSmall: () => (state.layout ? state.layout.fit < CELL.label : columns.length > 40),
    enlarge: (enlarged) => { state.enlarged = enlarged; box.classList.toggle("enlarged", enlarged); place(); if (state.at) reveal(state); },
    show: (values, look, marked = []) => { Object.assign(state, { values, look, marked }); recolour(); if (state.at) read(...state.at); },
  };
}

// Sizes of labels and cells, so that the whole matrix fits on the page; enlarged, it is scrolled.
function layoutOf({ rows, columns, frame, extent, enlarged }) {
  const wide = frame.clientWidth, longest = (list) => Math.max(...list.map((piece) => textWidth(piece.slice(0, 60))));
  const side = Math.ceil(clamp(longest(rows) + 14, 30, Math.min(150, wide * 0.3)));
  const top = Math.ceil(clamp(longest(columns) + 14, 30, 120));
  const fit = Math.min(CELL.most, (wide - side - 2) / columns.length);
  const cell = enlarged ? Math.max(fit, CELL.enlarged) : fit;
  const free = (0.8 * window.innerHeight - top) / rows.length;
  const tall = Math.min(CELL.tallest, enlarged ? cell : clamp(free, 0.6 * cell, 1.5 * cell));
  extent.style.cssText = `width:${Math.floor(side + cell * columns.length) + 2}px;height:${Math.ceil(top + tall * rows.length) + 2}px`;
  return { side, top, fit, cell, tall };
}

const rangeOf = (scrolled, length, size, count) => [Math.max(0, Math.floor(scrolled / size)), Math.min(count, Math.ceil((scrolled + length) / size))];

function paintMatrix(state) {
  const { box, canvas, layout: { side, top, cell, tall }, rows, columns } = state;
  const wide = box.clientWidth, high = box.clientHeight, sharp = window.devicePixelRatio || 1;
  canvas.style.cssText = `width:${wide}px;height:${high}px`;
  canvas.width = Math.round(wide * sharp);
  canvas.height = Math.round(high * sharp);
  const context = canvas.getContext("2d");
  context.setTransform(sharp, 0, 0, sharp, 0, 0);
  const view = {
    context, x: (column) => side + column * cell - box.scrollLeft, y: (row) => top + row * tall - box.scrollTop,
    down: rangeOf(box.scrollTop, high - top, tall, rows.length), across: rangeOf(box.scrollLeft, wide - side, cell, columns.length),
    ink: colour("--ink"), faint: colour("--faint"), card: colour("--card"), line: colour("--line"), accent: colour("--second"),
  };
  context.save();
  context.beginPath();
  context.rect(side, top, wide - side, high - top);
  context.clip();
  paintCells(state, view);
  context.restore();
  paintLabels(state, view, wide, high);
}

function paintCells({ pixels, rows, columns, layout: { cell, tall }, marked, at, values, look, text }, view) {
  const { context, x, y, down, across, ink, accent } = view;
  const [first, last, left, right] = [...down, ...across];
  context.imageSmoothingEnabled = Math.min(cell, tall) * (window.devicePixelRatio || 1) < 1; // several cells in one pixel are averaged
  context.drawImage(pixels, left, first, right - left, last - first, x(left), y(first), (right - left) * cell, (last - first) * tall);
  if (cell >= CELL.lines && tall >= CELL.lines) cellLines(view, rows.length, columns.length);
  else outline(view, view.line, 1, x(0), y(0), x(columns.length) - x(0), y(rows.length) - y(0));
  if (cell >= CELL.numbers) cellNumbers({ values, look, text, cell, tall }, view);
  for (const [column, row] of marked) outline(view, accent, 2.5, x(column), y(row), cell, tall);
  if (!at) return;
  outline(view, view.line, 1, x(0), y(at[0]), x(columns.length) - x(0), tall);
  outline(view, view.line, 1, x(at[1]), y(0), cell, y(rows.length) - y(0));
  const grow = Math.max(0, (8 - Math.min(cell, tall)) / 2); // a tiny cell gets a frame that can be seen
  outline(view, ink, 2, x(at[1]) - grow, y(at[0]) - grow, cell + 2 * grow, tall + 2 * grow);
}

function outline({ context }, ink, thick, x, y, wide, tall) {
  context.strokeStyle = ink;
  context.lineWidth = thick;
  context.strokeRect(x + thick / 2, y + thick / 2, wide - thick, tall - thick);
}

function cellLines({ context, x, y, down, across, line }, rows, columns) {
  context.fillStyle = line;
  for (let row = down[0]; row <= Math.min(down[1], rows); row += 1) context.fillRect(x(across[0]), y(row) - 0.5, x(across[1]) - x(across[0]), 1);
  for (let column = across[0]; column <= Math.min(across[1], columns); column += 1) context.fillRect(x(column) - 0.5, y(down[0]), 1, y(down[1]) - y(down[0]));
}

// The value in each cell where it fits, in black or white: whichever can be read on the colour of the cell.
function cellNumbers({ values, look, text, cell, tall }, { context, x, y, down, across }) {
  const inks = look.colours().map(inkOn);
  context.font = LABEL_FONT.replace("13px", "12px");
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.direction = "ltr";
  for (let row = down[0]; row < down[1]; row += 1) {
    for (let column = across[0]; column < across[1]; column += 1) {
      const value = values[row][column], shown = text(value);
      if (!shown || context.measureText(shown).width > cell - 4) continue;
      context.fillStyle = inks[look.level(value)];
      context.fillText(shown, x(column) + cell / 2, y(row) + tall / 2 + 0.5);
    }
  }
}

// Labels of rows on the left and of columns on top. Where they do not all fit, every k-th, and always the selected one.
function paintLabels({ rows, columns, layout: { side, top, cell, tall }, at }, view, wide, high) {
  const { context, x, y, down, across } = view;
  const every = (size) => Math.max(1, Math.ceil(CELL.label / size));
  const clipped = (left, upper, width, height, draw) => {
    context.save();
    context.beginPath();
    context.rect(left, upper, width, height);
    context.clip();
    draw();
    context.restore();
  };
  clipped(0, top - 8, side, high - top + 8, () => labels(rows, down, every(tall), at && at[0], (piece, row, lit) =>
    label(view, piece, { x: side - 6, y: y(row) + tall / 2, width: side - 10, lit })));
  clipped(side - 8, 0, wide - side + 8, top, () => labels(columns, across, every(cell), at && at[1], (piece, column, lit) => {
    context.save();
    context.translate(x(column) + cell / 2, top - 6);
    context.rotate(-Math.PI / 2);
    label(view, piece, { x: 0, y: 0, width: top - 10, lit, align: "left" });
    context.restore();
  }));
}

function labels(pieces, [first, last], every, lit, draw) {
  for (let i = Math.ceil(first / every) * every; i < last; i += every) if (i !== lit) draw(pieces[i], i, false);
  if (lit !== null && lit >= first && lit < last) draw(pieces[lit], lit, true); // last: it may cover its neighbours
}

function label({ context, ink, faint, card, accent }, piece, { x, y, width, lit, align = "right" }) {
  if (lit) {
    const long = Math.min(width, textWidth(fitting(piece, width))) + 2, left = align === "right" ? x - long : x;
    context.fillStyle = card;
    context.fillRect(left - 2, y - 9, long + 4, 18);
    context.fillStyle = accent;
    context.fillRect(left, y + 8, long, 2);
  }
  context.save();
  context.beginPath();
  context.rect(x - width - 4, y - 13, 2 * width + 8, 26); // marks above and below letters stay in their row
  context.clip();
  drawPiece(context, piece, x, y, { align, width, ink, faint });
  context.restore();
}

// Scrolls so that the selected cell is in view.
function reveal({ box, at, layout: { side, top, cell, tall } }) {
  const within = (scrolled, from, size, length) => clamp(scrolled, from + size - length, from);
  box.scrollLeft = within(box.scrollLeft, at[1] * cell, cell, box.clientWidth - side);
  box.scrollTop = within(box.scrollTop, at[0] * tall, tall, box.clientHeight - top);
}

function readMatrix(state, select, go) {
  const { box, rows, columns } = state;
  box.addEventListener("pointermove", (event) => {
    const { side, top, cell, tall } = state.layout, edge = box.getBoundingClientRect();
    const [x, y] = [event.clientX - edge.left - side, event.clientY - edge.top - top];
    if (x < 0 || y < 0) return;
    const [row, column] = [Math.floor((y + box.scrollTop) / tall), Math.floor((x + box.scrollLeft) / cell)];
    if (row < rows.length && column < columns.length && !(state.at && state.at[0] === row && state.at[1] === column)) select(row, column);
  });
  box.addEventListener("focus", () => { if (!state.at && box.matches(":focus-visible")) select(0, 0); });
  box.addEventListener("keydown", (event) => {
    const to = nextCell(event, state.at || [0, -1], rows.length, columns.length);
    if (!to) return;
    event.preventDefault();
    go(...to);
  });
}

// Arrow keys move by one cell; Home and End along the row, with Ctrl to the corners; Page Up and Down by ten rows.
function nextCell(event, [row, column], rows, columns) {
  const { key, ctrlKey } = event, move = ARROWS[key];
  if (move && !ctrlKey && !event.altKey) return [row + move[0], Math.max(0, column + move[1])];
  if (key === "Home") return [ctrlKey ? 0 : row, 0];
  if (key === "End") return [ctrlKey ? rows - 1 : row, columns - 1];
  if (key === "PageUp" || key === "PageDown") return [row + (key === "PageUp" ? -10 : 10), Math.max(0, column)];
  return null;
}

// The same matrix as a table, made when it is opened. Returns its node and a function to call when the values change.
function matrixTable({ rows, columns, text, corner = "" }, values) {
  const place = el("div"), node = el("details", { class: "as-table" }, el("summary", {}, "As a table"), scrollable("The matrix as a table", place));
  const full = rows.length * columns.length <= MOST_IN_TABLE;
  const fillIn = () => { if (node.open) place.replaceChildren(full ? fullTable(rows, columns, values(), text, corner) : largestTable(rows, columns, values(), text)); };
  node.addEventListener("toggle", fillIn);
  return { node, update: fillIn };
}

function fullTable(rows, columns, values, text, corner) {
  const head = el("tr", {}, heading(corner), columns.map((name) => heading(words(name))));
  const body = rows.map((name, t) => el("tr", {}, el("th", { scope: "row" }, words(name)), values[t].map((value) => el("td", { class: "num" }, text(value)))));
  return el("table", { class: "counts whole-matrix" }, el("thead", {}, head), el("tbody", {}, body));
}

function largestTable(rows, columns, values, text) {
  const head = el("tr", {}, ["Row", `Its ${LARGEST} largest values`].map((name) => heading(name)));
  const largest = (row) => row.map((value, s) => [value || 0, s]).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, LARGEST);
  const body = rows.map((name, t) => el("tr", {}, el("th", { scope: "row" }, words(name)),
    el("td", {}, largest(values[t]).map(([value, s], i) => [i ? " · " : "", words(columns[s]), ` ${text(value) || "0"}`]))));
  return el("table", { class: "counts" }, el("thead", {}, head), el("tbody", {}, body));
}
