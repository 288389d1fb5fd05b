// Drawing helpers: elements, numbers, ticks, canvases. Text from the run is only ever inserted as text nodes.

const SVG = document.getElementById("namespace").namespaceURI;

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Text in the user's languages: the browser finds its direction, and it cannot change the direction of the text around it.
const words = (text, className) => el("bdi", { dir: "auto", class: className }, text);
// The same inside one of our own strings, where an element cannot be used.
const isolated = (text) => `\u2068${text}\u2069`;

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const whole = (value) => Math.round(value).toLocaleString("en");

const fixed = (value) => (isNumber(value) ? value.toFixed(1) : "–"); // the only place where scores are rounded

function percent(value) {
  if (value > 0 && value < 0.0005) return "<0.1%";
  return (100 * value).toFixed(value >= 0.9995 ? 0 : 1) + "%";
}

function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return whole(value);
  if (size < 0.0001) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

// About `count` round numbers between low and high.
function ticks(low, high, count) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const list = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) list.push(i * step + 0); // + 0: no "-0"
  return list;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function rgb(hex) {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

// A matrix with one pixel per cell: one hue, with the value as opacity, so that it works on any background.
const pictures = [];

function matrixCanvas(rows, opacity, attributes) {
  const canvas = el("canvas", { width: rows[0].length, height: rows.length, ...attributes });
  const paint = () => paintMatrix(canvas, rows, opacity);
  pictures.push(paint);
  paint();
  return canvas;
}

function paintMatrix(canvas, rows, opacity) {
  const [red, green, blue] = rgb(colour("--ramp"));
  const image = new ImageData(canvas.width, canvas.height);
  rows.flat().forEach((value, i) => image.data.set([red, green, blue, Math.round(255 * opacity(value || 0))], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

const repaint = () => pictures.forEach((paint) => paint());
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
window.addEventListener("beforeprint", repaint);
window.addEventListener("afterprint", repaint);

// A group of buttons; exactly one is pressed.
function choice(options, chosen, onchoose) {
  const buttons = options.map(([key, label]) =>
    el("button", { type: "button", "aria-pressed": String(key === chosen), onclick: () => press(key) }, label));
  function press(key) {
    options.forEach(([other], i) => buttons[i].setAttribute("aria-pressed", String(other === key)));
    onchoose(key);
  }
  return el("div", { class: "controls", role: "group" }, buttons);
}

// The arrow keys as steps [down, right].
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
