// The lab of the 6 × 6 matrix: click a share and see the sum that it is made of.

import { useComputed, useSignal } from "@preact/signals";
import { dim } from "../engine/tensor";
import { cellsOf } from "../views/cells";
import { full } from "../views/format";
import { Strip } from "../views/strip";
import { reading, termsOf, type Reading, type Settings } from "./cat";
import { Check, Panel, Slider, TextField } from "./controls";
import type { Lesson } from "./data";
import { Numbers } from "./numbers";
import { matrix, numbered, row, vectorFor, wordsOf } from "./reckon";

const FOLDED = 64; // numbers in a line of the strip

/** The products in lines of 64, so that all are seen at once. */
function folded(terms: Float32Array) {
  const columns = Math.min(FOLDED, terms.length);
  const rows = Math.ceil(terms.length / columns);
  const data = new Float32Array(rows * columns);
  data.set(terms);
  return { data, shape: [rows, columns], signed: true };
}

function Products({ one, query, keyOf, scale }: { one: Reading; query: number; keyOf: number; scale: number }) {
  const terms = termsOf(one, query, keyOf);
  const cells = useSignal(cellsOf(folded(terms), [], 2));
  cells.value = cellsOf(folded(terms), [], 2);
  const sum = terms.reduce((total, term) => total + term, 0);
  return (
    <>
      <p><b>1.</b> {terms.length} products, one for each dimension: blue adds, orange takes away.</p>
      <Strip cells={cells} title="Products of query and key" tall={8} wide={7} />
      <p class="sum">Their sum: <b>{full(sum)}</b></p>
      <p class="sum"><b>2.</b> ÷ √{terms.length}{scale === 1 ? "" : ` × ${scale.toFixed(2)}`} = <b>{full(dim(one.scores, 0) ? row(one.scores, query)[keyOf]! : 0)}</b></p>
    </>
  );
}

/** One row of scores becomes one row of shares. */
function Shares({ one, labels, query, keyOf, onPick }: { one: Reading; labels: string[]; query: number; keyOf: number; onPick(key: number): void }) {
  const [scores, shares] = [row(one.scores, query), row(one.shares, query)];
  const top = Math.max(...scores);
  const powers = Array.from(scores, (score) => Math.exp(score - top));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return (
    <>
      <p><b>3.</b> e^(score − {top.toFixed(2)}), divided by the sum of the row:</p>
      <div class="scroll"><table class="row-sum">
        <thead><tr><th scope="col">reads</th><th scope="col" class="num">score</th><th scope="col" class="num">power</th><th scope="col" class="num">share</th><td /></tr></thead>
        <tbody>{labels.map((label, i) => (
          <tr key={i} data-on={i === keyOf ? "" : undefined}>
            <th scope="row"><button type="button" class="plain" onClick={() => onPick(i)}><bdi>{label}</bdi></button></th>
            <td class="num">{scores[i]!.toFixed(3)}</td><td class="num">{powers[i]!.toFixed(4)}</td><td class="num">{shares[i]!.toFixed(3)}</td>
            <td class="bar"><i style={{ width: `${100 * shares[i]!}%` }} /></td>
          </tr>
        ))}</tbody>
        <tfoot><tr><th scope="row">sum</th><td /><td class="num">{total.toFixed(4)}</td><td class="num"><b>{shares.reduce((sum, one) => sum + one, 0).toFixed(3)}</b></td><td /></tr></tfoot>
      </table></div>
    </>
  );
}

/** Which equal words attention can tell apart. */
function Twins({ words, one }: { words: readonly string[]; one: Reading }) {
  const first = words.findIndex((word, i) => words.indexOf(word, i + 1) > 0);
  if (first < 0) return null;
  const second = words.indexOf(words[first]!, first + 1);
  const [a, b] = [row(one.shares, first), row(one.shares, second)];
  const gap = Math.max(...a.map((value, i) => Math.abs(value - b[i]!)));
  const name = words[first]!;
  return <p class="verdict">{gap < 1e-6
    ? <><b>The two “{name}” are the same.</b> Without positions they read exactly the same shares: attention cannot know which one came first.</>
    : <><b>The two “{name}” differ.</b> They share one embedding; their positions make their rows differ by up to {gap.toFixed(3)}.</>}</p>;
}

export function CatLab({ lesson }: { lesson: Lesson<Settings> }) {
  const { words: given, spread } = lesson.settings;
  const own = lesson.arrays.embeddings!;
  const width = dim(own, 1);
  const text = useSignal(given.join(" "));
  const positions = useSignal(true);
  const scale = useSignal(1);
  const picked = useSignal({ row: Math.min(1, given.length - 1), column: Math.min(4, given.length - 1) });
  const words = useComputed(() => wordsOf(text.value));
  const one = useComputed(() => {
    const vectors = words.value.map((word) => (given.includes(word) ? [...row(own, given.indexOf(word))] : vectorFor(word, width, spread)));
    return reading(matrix(vectors), positions.value, scale.value);
  });
  const labels = numbered(words.value);
  const query = Math.min(picked.value.row, labels.length - 1);
  const keyOf = Math.min(picked.value.column, labels.length - 1);
  const pick = (r: number, c: number): void => { picked.value = { row: r, column: c }; };
  return (
    <div class="cards">
      <Panel title="The sentence" note="a new word gets a random vector" wide>
        <div class="line-of-controls">
          <TextField label="Up to 12 words" value={text.value} onText={(typed) => { if (wordsOf(typed).length) text.value = typed; }} />
          <Check label="add positions" value={positions} />
        </div>
        <Slider label="Scores ×" value={scale} min={0} max={4} step={0.05} shown={(value) => value.toFixed(2)} />
      </Panel>
      <Panel title="Who reads whom?" note="click a share: its sum is beside it">
        <Numbers title="Shares" values={one.value.shares} rows={labels} columns={labels} names={["reads", "is read"]} picked={{ row: query, column: keyOf }} onPick={pick}
          say={(r, c, value) => `${labels[r]} reads ${value.toFixed(3)} from ${labels[c]}`} bare={false} largest={72} />
        <Twins words={words.value} one={one.value} />
      </Panel>
      <Panel title={`How much does “${labels[query]}” read from “${labels[keyOf]}”?`}>
        <p class="large-number">{row(one.value.shares, query)[keyOf]!.toFixed(3)}</p>
        <Products one={one.value} query={query} keyOf={keyOf} scale={scale.value} />
        <Shares one={one.value} labels={labels} query={query} keyOf={keyOf} onPick={(key) => pick(query, key)} />
      </Panel>
    </div>
  );
}
