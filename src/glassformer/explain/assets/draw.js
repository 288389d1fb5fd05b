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
// The space before a piece (␣) is pale.
const words = (text, className) => el("bdi", { dir: "auto", class: className }, typeof text === "string" ? text.split(/(␣+)/).map(paleSpace) : text);
const paleSpace = (part, i, parts) => (part.startsWith("␣") ? el("span", { class: "space", "aria-hidden": parts.join("") !== part && "true" }, part) : part);
// The same inside one of our own strings, where an element cannot be used.
const isolated = (text) => `\u2068${text}\u2069`;

// A cell of a table's head; an empty one is no heading.
const heading = (content, attributes) => (content === "" ? el("td") : el("th", { scope: "col", ...attributes }, content));

// A part that is as wide as the page and can be scrolled, also with the keys, where its content is wider.
function scrollable(label, child) {
  const box = el("div", { class: "scroll", role: "group", "aria-label": label }, child);
  const watch = new ResizeObserver(() => {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
  [box, child].forEach((node) => watch.observe(node));
  return box;
}

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

// Probabilities as people read them, also very small ones.
function probability(value) {
  if (!isNumber(value)) return "–";
  if (value >= 0.0995) return percent(value);
  if (value < 1e-6) return value > 0 ? "<0.0001%" : "0%";
  return `${(100 * value).toFixed(Math.max(0, 1 - Math.floor(Math.log10(100 * value))))}%`;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function rgb(hex) {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

// What is painted on a canvas is painted again when the colours change.
const painted = [];

function keepPainted(canvas, paint) {
  painted.push([canvas, paint]);
  paint();
}

function repaint() {
  painted.splice(0, painted.length, ...painted.filter(([canvas]) => canvas.isConnected));
  painted.forEach(([, paint]) => paint());
}
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
window.addEventListener("beforeprint", repaint);
window.addEventListener("afterprint", repaint);

// Relative luminance (WCAG 2), 0 to 1.
function luminance(channels) {
  const [red, green, blue] = channels.map((value) => (value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// Black or white, whichever can be read on a colour: one of them always has a contrast of at least 4.5.
const inkOn = (channels) => (luminance(channels) > 0.179 ? "#000000" : "#ffffff");

// A group of buttons; exactly one is pressed.
function choice(options, chosen, onchoose, label) {
  const buttons = options.map(([key, label]) =>
    el("button", { type: "button", "aria-pressed": String(key === chosen), onclick: () => press(key) }, label));
  function press(key) {
    options.forEach(([other], i) => buttons[i].setAttribute("aria-pressed", String(other === key)));
    onchoose(key);
  }
  return el("div", { class: "controls", role: "group", "aria-label": label }, buttons);
}

// The arrow keys as steps [down, right].
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
