"use strict";
// A map of words on a canvas. Labels are drawn where they hit no other, the most frequent words first; zooming shows more.
const data = JSON.parse(document.getElementById("data").textContent);
const canvas = document.getElementById("map"), pen = canvas.getContext("2d");
const byId = id => document.getElementById(id);
const rows = new Map(data.words.map((word, row) => [word.toLowerCase(), row]).reverse());
const FONT = 13, MARGIN = 0.06, MOST_ZOOM = 400;
let layout = 0, turned = false, scale = 1, middle = [0.5, 0.5], chosen = -1, frame = 0;

const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
for (const one of data.layouts) {
  one.turned = one.points.map(([x, y]) => [y, x]);
  one.size = [0, 1].map(axis => one.points.reduce((most, point) => Math.max(most, 2 * Math.abs(point[axis] - 0.5)), 0.02));
}
const points = () => turned ? data.layouts[layout].turned : data.layouts[layout].points;
function side() {
  const size = data.layouts[layout].size, [across, down] = turned ? [size[1], size[0]] : size;
  return Math.min(canvas.clientWidth / across, canvas.clientHeight / down) * (1 - 2 * MARGIN) * scale;
}

// Only distances mean something, so on a tall screen a wide picture is mirrored at its diagonal.
function fit() {
  const size = data.layouts[layout].size, turn = canvas.clientHeight > canvas.clientWidth !== size[1] > size[0];
  if (turn !== turned) [turned, middle] = [turn, [middle[1], middle[0]]];
}

function place(row) {
  const [x, y] = points()[row], size = side();
  return [canvas.clientWidth / 2 + (x - middle[0]) * size, canvas.clientHeight / 2 + (y - middle[1]) * size];
}

function draw() {
  frame = 0;
  fit();
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.textBaseline = "middle";
  const near = chosen < 0 ? [] : data.near[chosen], ink = color("--ink"), soft = color("--soft");
  if (chosen >= 0) lines(near);
  const taken = new Map(), first = chosen < 0 ? [] : [chosen, ...near], listed = new Set(first);
  const order = [...first, ...data.words.keys()].filter((row, i) => i < first.length || !listed.has(row));
  const seen = order.map(row => [row, ...place(row), listed.has(row)])
    .filter(([row, x, y]) => x >= 0 && y >= 0 && x <= width && y <= height);
  const shade = (row, marked, usual) => row === chosen ? color("--mark") : marked ? color("--near") : usual;
  for (const [row, x, y, marked] of seen) {
    pen.fillStyle = shade(row, marked, soft);
    pen.beginPath();
    pen.arc(x, y, marked ? 4 : width < 600 ? 1.5 : 2, 0, 7);
    pen.fill();
  }
  pen.strokeStyle = color("--paper");
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  for (const [row, x, y, marked] of seen) {
    pen.font = `${row === chosen ? "bold " : ""}${FONT}px system-ui, sans-serif`;
    const box = free(taken, x, y, pen.measureText(data.words[row]).width, width, height);
    if (!box) continue;
    const line = [data.words[row], box[0], box[1] + FONT / 2 + 1];
    pen.strokeText(...line);  // no point crosses a letter
    pen.fillStyle = shade(row, marked, ink);
    pen.fillText(...line);
  }
}

function lines(near) {
  const [x, y] = place(chosen);
  pen.strokeStyle = color("--line");
  pen.lineWidth = 1;
  for (const row of near) {
    const [a, b] = place(row);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(a, b);
    pen.stroke();
  }
}

// The place of a label right or left of its point, above or below it, that no other label has; or nothing.
function free(taken, x, y, width, right, bottom) {
  const high = FONT + 3, between = Math.min(Math.max(x - width / 2, 4), right - width - 4);
  for (const [left, top] of [[x + 6, y - high / 2], [x - 6 - width, y - high / 2], [between, y - high - 4], [between, y + 5]]) {
    if (left < 2 || left + width > right - 2 || top < 0 || top + high > bottom) continue;
    const box = [left - 3, top, left + width + 3, top + high], cells = [];
    let clear = true;
    for (let i = Math.floor(box[0] / 40); i <= Math.floor(box[2] / 40) && clear; i++) {
      for (let j = Math.floor(box[1] / 20); j <= Math.floor(box[3] / 20) && clear; j++) {
        const key = i + "," + j;
        cells.push(key);
        clear = !(taken.get(key) || []).some(o => box[0] < o[2] && box[2] > o[0] && box[1] < o[3] && box[3] > o[1]);
      }
    }
    if (!clear) continue;
    for (const key of cells) taken.set(key, [...(taken.get(key) || []), box]);
    return [left, top];
  }
  return null;
}

const redraw = () => { frame = frame || requestAnimationFrame(draw); };

function zoom(by, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const before = side();
  scale = Math.min(MOST_ZOOM, Math.max(0.5, scale * by));
  const dx = x - canvas.clientWidth / 2, dy = y - canvas.clientHeight / 2;
  middle = [middle[0] + dx / before - dx / side(), middle[1] + dy / before - dy / side()];
  redraw();
}

function choose(row) {
  chosen = row;
  const about = byId("about");
  about.replaceChildren();
  if (row >= 0) {
    const title = document.createElement("h2");
    title.textContent = data.words[row];
    const text = document.createElement("div");
    text.textContent = "Nearest by cosine, among the words shown:";
    about.append(title, text, ...data.near[row].map(other => button(data.words[other], () => { choose(other); centre(other); })));
  }
  redraw();
}

function button(text, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}

function centre(row) {
  middle = [...points()[row]];
  scale = Math.max(scale, 4);
  redraw();
}

function nearestTo(x, y) {
  let best = -1, least = 400;
  for (const row of data.words.keys()) {
    const [a, b] = place(row), far = (a - x) ** 2 + (b - y) ** 2;
    if (far < least) [best, least] = [row, far];
  }
  return best;
}

function show(number) {
  layout = number;
  fit();
  for (const [i, one] of [...byId("layouts").children].entries()) one.setAttribute("aria-pressed", String(i === number));
  const { name, kept, note } = data.layouts[number];
  byId("note").textContent = `${data.words.length} words. ${name}: ${note}; ${kept} of each word's 10 nearest words are also nearest here.`;
  if (chosen >= 0) centre(chosen);
  redraw();
}

// Fingers and the mouse: one moves the map, two zoom it, a short press chooses a word.
const held = new Map();
let moved = 0;
canvas.addEventListener("pointerdown", event => {
  canvas.setPointerCapture(event.pointerId);
  held.set(event.pointerId, [event.offsetX, event.offsetY]);
  moved = held.size > 1 ? 99 : 0;
});
canvas.addEventListener("pointermove", event => {
  const before = held.get(event.pointerId);
  if (!before) return;
  const now = [event.offsetX, event.offsetY], others = [...held].filter(([id]) => id !== event.pointerId);
  if (others.length) {
    const [x, y] = others[0][1], apart = p => Math.hypot(p[0] - x, p[1] - y);
    zoom(apart(now) / Math.max(1, apart(before)), x, y);
  } else {
    middle = [middle[0] - (now[0] - before[0]) / side(), middle[1] - (now[1] - before[1]) / side()];
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
  }
  held.set(event.pointerId, now);
  redraw();
});
const release = event => {
  if (held.delete(event.pointerId) && moved < 5 && event.type === "pointerup") choose(nearestTo(event.offsetX, event.offsetY));
};
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * 0.002), event.offsetX, event.offsetY);
}, { passive: false });
canvas.addEventListener("keydown", event => {
  const step = 60 / side(), moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
  if (moves[event.key]) middle = [middle[0] + moves[event.key][0], middle[1] + moves[event.key][1]];
  else if (event.key === "+" || event.key === "=") zoom(1.4);
  else if (event.key === "-") zoom(1 / 1.4);
  else if (event.key === "Escape") choose(-1);
  else return;
  event.preventDefault();
  redraw();
});

function search() {
  const row = rows.get(byId("word").value.trim().toLowerCase());
  if (row !== undefined) { choose(row); centre(row); }
  return row !== undefined;
}
byId("find").addEventListener("submit", event => {
  event.preventDefault();
  if (!search()) {
    const begins = data.words.findIndex(word => word.toLowerCase().startsWith(byId("word").value.trim().toLowerCase()));
    if (begins >= 0) { choose(begins); centre(begins); }
    else byId("about").textContent = `“${byId("word").value}” is not on this map.`;
  }
});
byId("word").addEventListener("input", search);
byId("in").addEventListener("click", () => zoom(1.6));
byId("out").addEventListener("click", () => zoom(1 / 1.6));
byId("all").addEventListener("click", () => { scale = 1; middle = [0.5, 0.5]; choose(-1); });
byId("words").append(...data.words.slice(0, 2000).map(word => Object.assign(document.createElement("option"), { value: word })));
byId("layouts").append(...data.layouts.map((one, i) => button(one.name, () => show(i))));
window.addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
show(0);
