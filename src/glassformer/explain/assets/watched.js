// The same held-out sentences at successive validations. Changes since the previous version are marked.

const VERSIONS = 5; // shown of each sentence, until the reader asks for all

function drawWatched(data, section) {
  let all = Boolean(remembered().versions);
  const list = el("div", { class: "watched" });
  const button = el("button", { type: "button", onclick: () => { all = !all; remember({ versions: all }); show(); } });
  const most = Math.max(...data.watched.map((one) => one.versions.length));
  function show() {
    list.replaceChildren(...data.watched.map((one) => watchedCard(one, all ? Infinity : VERSIONS)));
    button.textContent = all ? `Show at most ${VERSIONS} versions of each` : "Show every version";
  }
  show();
  section.append(
    el("p", { class: "note" }, `Held-out ${data.held} and their ${data.predictions} at the validations. `,
      el("mark", {}, "Marked"), " words are new since the version above; ‸ shows where words were removed."),
    list);
  if (most > VERSIONS) section.append(el("div", { class: "controls" }, button));
  return true;
}

function watchedCard({ source, references, versions }, most) {
  const kept = spread(versions, most);
  const rows = kept.map((version, i) => versionRow(version, kept[i - 1], references));
  const meant = el("tr", { class: "meant" }, el("th", { scope: "row" }, "reference"),
    el("td", {}, references.map((text) => el("div", {}, words(text)))));
  return el("div", { class: "card" }, el("h3", {}, words(source)),
    el("table", {}, el("tbody", {}, rows, meant)));
}

// At most `most` of them: the first, the last, and some evenly spaced between.
function spread(list, most) {
  if (list.length <= most) return list;
  return Array.from({ length: most }, (_, i) => list[Math.round((i * (list.length - 1)) / (most - 1))]);
}

// A model that has not learned to end its output repeats itself: the beginning is enough.
function shortened(text, references) {
  const most = 60 + 2 * Math.max(...references.map((one) => one.length));
  return text.length > most ? text.slice(0, most) + " …" : text;
}

function versionRow(version, before, references) {
  const steps = version.step === version.until ? whole(version.step) : `${whole(version.step)} – ${whole(version.until)}`;
  const equal = references.includes(version.text) ? el("span", { class: "right", title: "equals a reference" }, " ✓") : null;
  const now = shortened(version.text, references);
  const text = now.trim() ? el("bdi", { dir: "auto" }, before ? changes(shortened(before.text, references), now) : now)
    : el("span", { class: "note" }, "(nothing)");
  return el("tr", {}, el("th", { scope: "row", class: "num" }, "step " + steps), el("td", {}, text, equal));
}

// Words, also in languages without spaces between words.
function piecesOf(text) {
  if (!window.Intl || !Intl.Segmenter) return text.split(/(\s+)/).filter(Boolean);
  return [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)].map((one) => one.segment);
}

// `now`, with marks on what is not in the longest common subsequence with `before`.
function changes(before, now) {
  const a = piecesOf(before), b = piecesOf(now);
  const longest = commonLengths(a, b);
  const parts = []; // [text, is new, words were removed before it]
  let i = 0, j = 0, gone = false;
  while (j < b.length) {
    const same = i < a.length && a[i] === b[j];
    if (!same && i < a.length && longest[i + 1][j] >= longest[i][j + 1]) {
      gone = gone || Boolean(a[i].trim());
      i += 1;
    } else {
      parts.push([b[j], !same, same && gone]);
      gone = false;
      j += 1;
      if (same) i += 1;
    }
  }
  return joined(parts).flatMap(([text, isNew, went]) =>
    [went ? el("span", { class: "gone", title: "words were removed here" }, "‸") : "", isNew ? el("mark", {}, text) : text]);
}

// Joins adjacent new words, with the spaces between them.
function joined(parts) {
  const found = [];
  parts.forEach(([text, isNew, went], i) => {
    const space = !text.trim();
    const fresh = space ? Boolean(i && i + 1 < parts.length && parts[i - 1][1] && parts[i + 1][1]) : isNew;
    if (found.length && found.at(-1)[1] === fresh && !went) found.at(-1)[0] += text;
    else found.push([text, fresh, went && !space]);
  });
  return found;
}

// [i][j]: the length of the longest common subsequence of a from i and b from j.
function commonLengths(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table;
}
