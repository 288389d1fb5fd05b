// Inside one sub-layer: which pieces a head brings its part from, which neurons add most, which expert computes what.

import { computed } from "@preact/signals";
import type { Neuron } from "../analysis/contributions";
import type { Patch, Step } from "../engine/header";
import { contributions, neurons, openPart, splits } from "../state/adding";
import { output, place, placeName } from "../state/inside";
import { labelsOf, numbered, visible } from "../state/labels";
import { picked, select } from "../state/selection";
import { addPatch, attentions, hasPatch, program, removePatch, run, selectNumber, source, stepNamed } from "../state/store";
import { T } from "../state/strings";
import { largest, type Cells } from "./cells";
import { brief, nats, percent, withSign } from "./format";
import { Matrix, type Axis } from "./matrix";
import { adding } from "./pathlines";
import { WithPieces } from "./tokens";

/** The name of the sub-layer that is looked into. */
const where = computed(() => adding.value.find((line) => line.step === openPart.value?.step)?.name ?? "");

// --- Heads and the pieces that they read --------------------------------------------------------------------------------

const split = computed(() => splits.value.get(openPart.value?.step ?? "") ?? null);

const attention = computed(() => {
  const stack = output.value?.stream.stack;
  return attentions.value.find((one) => one.stack === stack && one.layer === openPart.value?.layer && one.kind === openPart.value?.what) ?? null;
});

const keyCells = computed<Cells>(() => {
  const heads = split.value?.heads ?? [];
  const columns = heads[0]?.keys.length ?? 1;
  const values = Float32Array.from(heads.flatMap((head) => head.keys));
  return { values, offset: 0, rows: Math.max(1, heads.length), columns, signed: true, top: largest(values) || 1 };
});

const headNames = computed<Axis>(() => ({ name: T.stream.keys.heads, labels: numbered(split.value?.heads.length ?? 1) }));
const keyNames = computed<Axis>(() => {
  const pattern = attention.value?.pattern;
  return { name: T.stream.keys.pieces, labels: pattern ? labelsOf(pattern, -1, keyCells.value.columns) : numbered(keyCells.value.columns) };
});
const pickedKey = computed(() => ({ row: picked.head.value, column: picked.key.value }));

function chooseKey(head: number, key: number): void {
  const read = attention.value;
  if (!read) return;
  select({ stack: read.stack, kind: read.kind, layer: read.layer, head, key, query: place.peek(), tap: read.pattern.name, row: place.peek(), column: key });
}

function Keys() {
  const found = split.value!;
  const words = T.stream.keys;
  const say = (head: number, key: number, value: number): string => words.cell(head + 1, visible(keyNames.value.labels[key] ?? ""), withSign(value));
  return (
    <section class="panel">
      <h3>{words.title(where.value)}</h3>
      <p class="note"><WithPieces text={words.lead(placeName(place.value))} /> {Math.abs(found.rest) > 1e-9 && words.rest(withSign(found.rest))}</p>
      <Matrix cells={keyCells} rows={headNames} columns={keyNames} picked={pickedKey} onPick={chooseKey} title={words.title(where.value)} say={say} />
    </section>
  );
}

// --- Neurons --------------------------------------------------------------------------------------------------------------

function silencing(neuron: Neuron): Patch {
  return { step: neuron.step, how: "zero", column: neuron.neuron };
}

function NeuronRow({ neuron, top }: { neuron: Neuron; top: number }) {
  const words = T.stream.neurons;
  const patch = silencing(neuron);
  const gone = hasPatch(patch);
  const expert = /\.each\.(\d+)\./.exec(neuron.step)?.[1];
  const name = expert === undefined ? String(neuron.neuron + 1) : words.expert(Number(expert) + 1, neuron.neuron + 1);
  return (
    <tr>
      <th scope="row"><button type="button" class="plain" onClick={() => selectNumber(neuron.step, [neuron.row, neuron.neuron])}>{name}</button></th>
      <td class="num">{brief(neuron.active)}</td>
      <td class="num">{withSign(neuron.value, nats)}</td>
      <td class="barcell"><span class="around" aria-hidden="true"><i class={neuron.value < 0 ? "minus" : "plus"} style={{ width: `${(50 * Math.abs(neuron.value)) / top}%`, left: neuron.value < 0 ? `${50 - (50 * Math.abs(neuron.value)) / top}%` : "50%" }} /></span></td>
      <td>{source.value?.live && <button type="button" aria-pressed={gone} aria-label={words.silenceLabel(neuron.neuron + 1)} onClick={() => void (gone ? removePatch(patch) : addPatch(patch))}>{gone ? words.silenced : words.silence}</button>}</td>
    </tr>
  );
}

function Neurons() {
  const found = neurons.value!;
  const words = T.stream.neurons;
  const top = largest(found.top.map((one) => one.value)) || 1;
  return (
    <section class="panel">
      <h3>{words.title(where.value)}</h3>
      <p class="note">{words.lead(found.count, withSign(found.rest), withSign(found.bias))}</p>
      <table class="neurons">
        <thead><tr><th>{words.neuron}</th><th class="num">{words.active}</th><th class="num">{words.adds}</th><td /><td /></tr></thead>
        <tbody>{found.top.map((one) => <NeuronRow neuron={one} top={top} key={`${one.step} ${one.neuron} ${one.row}`} />)}</tbody>
      </table>
    </section>
  );
}

// --- Experts --------------------------------------------------------------------------------------------------------------

interface Router {
  chosen: Step;
  weights: Step;
  probabilities: Step;
}

/** The router of the sub-layer that is looked into. */
const router = computed<Router | null>(() => {
  const part = stepNamed(openPart.value?.step ?? "")?.part;
  const steps = program.value?.steps.filter((step) => step.part === part) ?? [];
  const named = (what: string): Step | undefined => steps.find((step) => step.name.endsWith(`router.${what}`));
  const [chosen, weights, probabilities] = [named("chosen"), named("weights"), named("probabilities")];
  return chosen && weights && probabilities ? { chosen, weights, probabilities } : null;
});

/** Pieces in rows, experts in columns: the share of each chosen expert. */
const expertCells = computed<Cells>(() => {
  const [found, of] = [router.value, run.value];
  if (!found || !of) return { values: [0], offset: 0, rows: 1, columns: 1, signed: false, top: 1 };
  const [chosen, weights, all] = [found.chosen, found.weights, found.probabilities].map((step) => of.pass.values(step.name));
  const [rows, columns] = all!.shape as [number, number];
  const values = new Float32Array(rows * columns);
  const perToken = chosen!.shape.at(-1)!;
  chosen!.data.forEach((expert, i) => { values[Math.floor(i / perToken) * columns + expert] = weights!.data[i]!; });
  return { values, offset: 0, rows, columns, signed: false, top: 1 };
});
const expertNames = computed<Axis>(() => ({ name: T.stream.experts.expert, labels: numbered(expertCells.value.columns) }));
const pieceNames = computed<Axis>(() => ({
  name: T.stream.experts.piece, labels: router.value ? labelsOf({ ...router.value.probabilities, name: "" }, -2, expertCells.value.rows) : [],
}));
const pickedExpert = computed(() => ({ row: picked.step.value, column: picked.tap.value === router.value?.probabilities.name ? picked.column.value : -1 }));

function Experts() {
  const found = router.value!;
  const words = T.stream.experts;
  const say = (row: number, expert: number, value: number): string => {
    const piece = visible(pieceNames.value.labels[row] ?? "");
    return value > 0 ? words.cell(piece, expert + 1, percent(value)) : words.none(piece, expert + 1);
  };
  const perToken = Number(found.chosen.shape.at(-1));
  return (
    <section class="panel">
      <h3>{words.title(where.value)}</h3>
      <p class="note">{words.lead(expertCells.value.columns, perToken)}</p>
      <Matrix cells={expertCells} rows={pieceNames} columns={expertNames} picked={pickedExpert} onPick={(row, column) => { selectNumber(found.probabilities.name, [row, column]); select({ step: row }); }} title={words.title(where.value)} say={say} />
    </section>
  );
}

export function Within() {
  if (!contributions.value || !openPart.value) return null;
  return (
    <>
      {split.value && <Keys />}
      {router.value && <Experts />}
      {neurons.value && <Neurons />}
    </>
  );
}

