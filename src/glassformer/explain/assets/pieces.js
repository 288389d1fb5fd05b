// Pieces of text on a canvas, in both writing directions.

const RIGHT_TO_LEFT = /^[^\p{L}]*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
const directionOf = (text) => (RIGHT_TO_LEFT.test(text) ? "rtl" : "ltr");
const LABEL_FONT = "13px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', sans-serif";

function measurer() {
  const context = document.createElement("canvas").getContext("2d");
  context.font = LABEL_FONT;
  return (text) => context.measureText(text).width;
}
const textWidth = measurer();

const letters = (text) => (window.Intl && Intl.Segmenter ? [...new Intl.Segmenter().segment(text)].map((one) => one.segment) : [...text]);

// The beginning of a piece that fits into a width. A very long piece is cut before it is measured.
function fitting(piece, width) {
  const text = piece.slice(0, 200);
  if (text === piece && textWidth(text) <= width) return text;
  const signs = letters(text);
  let [least, most] = [0, signs.length];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (textWidth(signs.slice(0, middle).join("") + "…") <= width) least = middle;
    else most = middle - 1;
  }
  return signs.slice(0, least).join("") + "…";
}

// A piece beside (x, y): its left or right end is at x, its middle at y. The space before it is pale.
function drawPiece(context, piece, x, y, { align, width, ink, faint }) {
  const text = fitting(piece, width), spaces = /^␣*/.exec(text)[0], rest = text.slice(spaces.length);
  const direction = directionOf(rest);
  const parts = direction === "ltr" ? [[spaces, faint], [rest, ink]] : [[rest, ink], [spaces, faint]];
  context.font = LABEL_FONT;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.direction = direction;
  let at = align === "right" ? x - textWidth(spaces) - textWidth(rest) : x;
  for (const [part, colour] of parts) {
    context.fillStyle = colour;
    context.fillText(part, at, y);
    at += textWidth(part);
  }
}
