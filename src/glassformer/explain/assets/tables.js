// Tables of the task, one section each. In a shaded table of counts, each cell is shaded by its share of the row.

const tableSections = (data) => (data.tables || []).map((table) =>
  [table.key, isolated(table.title), () => table.rows.length, (_, section) => drawTable(table, section)]);

function drawTable({ title, note, head, rows, shaded }, section) {
  if (note) section.append(el("p", { class: "note" }, words(note)));
  const titles = el("tr", {}, head.map((name, i) => heading(name && words(name), { class: shaded && i ? "num" : null })));
  const kind = rows.every((row) => row.every((value) => String(value).length < 60)) ? "samples values" : "samples";
  const fits = head.map((_, i) => rows.every((row) => String(row[i]).length < 30));
  section.append(scrollable(isolated(title), el("table", { class: shaded ? "counts matrix" : kind },
    el("thead", {}, titles), el("tbody", {}, rows.map((row) => tableRow(row, head, shaded, fits))))));
  return true;
}

function tableRow(row, head, shaded, fits) {
  const total = shaded ? row.slice(1).reduce((sum, value) => sum + value, 0) : 0;
  return el("tr", {}, row.map((value, i) => {
    if (shaded && !i) return el("th", { scope: "row" }, words(value));
    const text = isNumber(value) ? (Number.isInteger(value) ? whole(value) : short(value)) : words(value);
    if (!shaded) return el("td", { "data-name": head[i], class: fits[i] ? "fits" : "" }, text);
    const share = total ? value / total : 0;
    return el("td", { class: "num", style: `--share:${(100 * share).toFixed(1)}%`, title: percent(share) + " of the row" }, text);
  }));
}
