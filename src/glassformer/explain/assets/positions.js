// The position table as a picture: one row per position, one column per dimension; negative and positive in two colours.

function drawPositions(data, section) {
  const table = data.positions, most = Math.max(...table.flat().filter(isNumber).map(Math.abs)) || 1;
  const rows = table.map((_, i) => String(i)), columns = table[0].map((_, i) => String(i));
  const resting = `${table.length} positions (down) by ${table[0].length} dimensions (across). Point at a cell, or use the arrow keys, to see its value.`;
  const readout = el("p", { class: "readout", "aria-live": "polite" }, resting);
  const matrix = matrixView({ rows, columns, text: () => "", label: `Position table: ${table.length} positions by ${table[0].length} dimensions`,
    hint: "Arrow keys read the values", read: (row, column) => { readout.textContent = `position ${row}, dimension ${column}: ${table[row][column]}`; } });
  matrix.show(table, lookOf({ signed: true, most }));
  section.append(
    el("p", { class: "note" }, "The vector that is added to each token so that the model can see the order." +
      (isSinusoidal(table) ? " Fast waves are on the left, slow ones on the right; no two rows are the same." : "")),
    matrix.node, readout, signedKey(most), matrixTable({ rows, columns, text: short }, () => table).node);
  return true;
}

// Sinusoids start with 0, 1, 0, 1, ...; learned tables do not.
const isSinusoidal = (table) => table[0].every((value, i) => value === i % 2);

function signedKey(most) {
  const strip = el("canvas", { "aria-hidden": "true" });
  const values = [Array.from({ length: 101 }, (_, i) => ((i - 50) / 50) * most)];
  keepPainted(strip, () => paintPixels(strip, values, lookOf({ signed: true, most })));
  const marks = [-most, 0, most].map((value, i) => el("span", { style: `left:${50 * i}%` }, short(value).replace("-", "−")));
  return el("div", { class: "key" }, el("span", { class: "strip" }, strip, el("span", { class: "marks" }, marks)));
}
