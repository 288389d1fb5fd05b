// The position table as a picture: one row per position, one column per dimension.

function drawPositions(data, section) {
  const table = data.positions;
  const flat = table.flat().filter(isNumber);
  const low = Math.min(...flat), high = Math.max(...flat);
  const resting = `${table.length} positions (down) by ${table[0].length} dimensions (across), from ${short(low)} (light) to ${short(high)} (full).`;
  const readout = el("p", { class: "readout", "aria-live": "polite" }, resting);
  const cursor = el("span", { class: "cursor", hidden: true });
  const canvas = matrixCanvas(table, (value) => (value - low) / (high - low || 1), {
    tabindex: 0, role: "img", "aria-label": `Position table: ${resting} Arrow keys read the values.` });
  readTable(canvas, table, cursor, readout, resting);
  section.append(
    el("p", { class: "note" }, "The vector that is added to each token so that the model can see the order." +
      (isSinusoidal(table) ? " Fast waves are on the left, slow ones on the right; no two rows are the same." : "")),
    el("div", { class: "picture" }, canvas, cursor), readout);
  return true;
}

// Sinusoids start with 0, 1, 0, 1, ...; learned tables do not.
const isSinusoidal = (table) => table[0].every((value, i) => value === i % 2);

function readTable(canvas, table, cursor, readout, resting) {
  const rows = table.length, columns = table[0].length;
  let at = [0, 0];
  const show = (row, column) => {
    at = [clamp(row, 0, rows - 1), clamp(column, 0, columns - 1)];
    cursor.hidden = false;
    cursor.style.cssText = `left:${(100 * at[1]) / columns}%;top:${(100 * at[0]) / rows}%;width:${100 / columns}%;height:${100 / rows}%`;
    readout.textContent = `position ${at[0]}, dimension ${at[1]}: ${table[at[0]][at[1]]}`;
  };
  const leave = () => { cursor.hidden = true; readout.textContent = resting; };
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    show(Math.floor(((event.clientY - box.top) / box.height) * rows), Math.floor(((event.clientX - box.left) / box.width) * columns));
  });
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("blur", leave);
  canvas.addEventListener("keydown", (event) => {
    const move = ARROWS[event.key];
    if (move) { event.preventDefault(); show(at[0] + move[0], at[1] + move[1]); }
  });
}
