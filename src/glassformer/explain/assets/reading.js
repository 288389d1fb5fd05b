// What one piece reads, beside the matrix: as lines between the pieces, or for long texts as shaded text.

const LINK = { row: 26, top: 34, wide: 400, left: 128, right: 272, least: 0.04 };

// The pieces that are read on the left, those that read on the right; thicker lines mean larger weights.
function linkPicture({ rows, columns }) {
  const high = LINK.row * Math.max(rows.length, columns.length) + LINK.top;
  const canvas = el("canvas", { role: "img", "aria-label": "The same weights as lines from each piece to the pieces it reads" });
  let drawn = null;
  const paint = () => { if (drawn) paintLinks(canvas, { rows, columns, high, ...drawn }); };
  const node = el("div", { class: "links" }, canvas);
  keepPainted(canvas, paint);
  return { node, below: false, show: (pattern, look, row) => { drawn = { pattern, row }; paint(); } };
}

function paintLinks(canvas, { rows, columns, pattern, row, high }) {
  const sharp = window.devicePixelRatio || 1, context = canvas.getContext("2d");
  canvas.width = LINK.wide * sharp;
  canvas.height = high * sharp;
  context.scale(sharp, sharp);
  const y = (i, count) => LINK.top + (i + 0.5) * ((high - LINK.top) / count);
  const inks = { ink: colour("--ink"), faint: colour("--faint") }, soft = { ink: colour("--soft"), faint: inks.faint };
  context.strokeStyle = colour("--ramp");
  context.lineCap = "round";
  pattern.forEach((weights, t) => weights.forEach((value, s) => {
    if (!(value > LINK.least)) return;
    context.globalAlpha = row === null || row === t ? value : value / 6; // the selected piece is emphasised
    context.lineWidth = 0.5 + 4 * value;
    context.beginPath();
    context.moveTo(LINK.left, y(s, columns.length));
    context.lineTo(LINK.right, y(t, rows.length));
    context.stroke();
  }));
  context.globalAlpha = 1;
  const width = LINK.left - 12;
  columns.forEach((piece, s) => drawPiece(context, piece, LINK.left - 8, y(s, columns.length), { align: "right", width, ...inks }));
  rows.forEach((piece, t) => drawPiece(context, piece, LINK.right + 8, y(t, rows.length), { align: "left", width, ...(row === null || row === t ? inks : soft) }));
  drawPiece(context, "is read", LINK.left - 8, 14, { align: "right", width, ...soft });
  drawPiece(context, "reads", LINK.right + 8, 14, { align: "left", width, ...soft });
}

// The pieces as text. A click selects the piece that reads; those that it reads are shaded.
function shadedText({ rows, columns }, select) {
  const readers = flowing(rows, "reader"), read = rows === columns ? readers : flowing(columns, "");
  readers.spans.forEach((span, t) => span.addEventListener("click", () => select(t)));
  let drawn = null;
  const paint = () => { if (drawn) shade(read.spans, readers.spans, drawn); };
  const node = el("div", { class: "shaded card" },
    el("p", { class: "note" }, "Select a piece of this text to see what it reads; the pieces that it reads are shaded."), readers.node,
    rows === columns ? null : [el("p", { class: "note" }, "What it reads:"), read.node]);
  keepPainted(node, paint);
  return { node, below: true, show: (pattern, look, row) => { drawn = { pattern, look, row }; paint(); } };
}

function flowing(pieces, className) {
  const spans = pieces.map((piece) => el(piece.startsWith("‹") ? "bdi" : "span", { class: className }, piece.split(/(␣+)/).map(paleSpace)));
  const spaced = pieces.some((piece) => piece.startsWith("␣"));
  const breaks = (piece) => (!spaced || piece.startsWith("␣") ? "\u200b" : null); // a line may break here
  return { spans, node: el("p", { class: "flow", dir: directionOf(pieces.join(" ")) }, spans.map((span, i) => [breaks(pieces[i]), span])) };
}

function shade(spans, readers, { pattern, look, row }) {
  readers.forEach((span, t) => span.classList.toggle("reading", t === row));
  const colours = look.colours();
  spans.forEach((span, s) => {
    const channels = row === null ? null : colours[look.level(pattern[row][s])];
    span.style.background = channels ? `rgb(${channels})` : "";
    span.style.color = channels ? inkOn(channels) : "";
  });
}
