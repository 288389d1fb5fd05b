// The lab of norms: change one number or the padding, and see which outputs move.

import { useSignal } from "@preact/signals";
import { at, cellsOf } from "../views/cells";
import { Choice, NumberField, Panel, Slider } from "./controls";
import type { Lesson } from "./data";
import { needs, normalised, type Kind, type Settings } from "./norm";
import { Numbers } from "./numbers";
import { matrix } from "./reckon";

const STILL = 1e-5; // smaller movements are rounding
const FIRST = 3; // tokens of the first sentence
const MOST = 20; // zero vectors

type Place = { row: number; column: number };
type Chosen = Place & { kind: Kind };

const NAMES: Record<Kind, string> = { layer: "LayerNorm", batch: "BatchNorm" };
const HOW: Record<Kind, string> = { layer: "along each row: one token by itself", batch: "down each column: all tokens, padding too" };

interface InputsProps {
  settings: Settings;
  values: number[][];
  padding: number;
  chosen: Chosen;
  edited: Place | null;
  onChange(row: number, column: number, value: number): void;
}

function PaddingRow({ text, features, chosen }: { text: string; features: string[]; chosen: Chosen }) {
  const needed = (column: number) => needs(chosen.kind, chosen, -1, column);
  return <tr class="padding"><th scope="row">{text}</th>{features.map((name, column) => <td key={name} class={needed(column) ? "needed" : ""}>0</td>)}</tr>;
}

/** The batch: two sentences and padding. What the selected output needs is marked. */
function Inputs({ settings, values, padding, chosen, edited, onChange }: InputsProps) {
  const { names, features } = settings;
  const line = (row: number) => (
    <tr key={row}>
      <th scope="row">{names[row]}</th>
      {features.map((feature, column) => {
        const mark = [needs(chosen.kind, chosen, row, column) ? "needed" : "", edited?.row === row && edited.column === column ? "edited" : ""].join(" ").trim();
        return <td key={feature}><NumberField label={`${names[row]}, ${feature}`} step={1} value={values[row]![column]!} mark={mark} onChange={(value) => onChange(row, column, value)} /></td>;
      })}
    </tr>
  );
  const all = names.map((_, i) => i);
  return (
    <div class="scroll"><table class="fields">
      <thead><tr><td />{features.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
      <tbody><tr class="of-sentence"><th colSpan={features.length + 1} scope="rowgroup">sentence 1</th></tr>{all.slice(0, FIRST).map(line)}</tbody>
      <tbody>
        <tr class="of-sentence"><th colSpan={features.length + 1} scope="rowgroup">sentence 2</th></tr>{all.slice(FIRST).map(line)}
        {padding > 0 && <PaddingRow text={`‹pad›${padding > 1 ? ` ×${padding}` : ""}`} features={features} chosen={chosen} />}
      </tbody>
    </table></div>
  );
}

interface OutputsProps {
  kind: Kind;
  settings: Settings;
  now: ReturnType<typeof normalised>;
  before: ReturnType<typeof normalised>;
  chosen: Chosen;
  shown: string;
  onPick(place: Place): void;
}

function Outputs({ kind, settings, now, before, chosen, shown, onPick }: OutputsProps) {
  const change = matrix(settings.names.map((_, r) => settings.features.map((__, c) => {
    const gap = at(cellsOf({ ...now, signed: true }), r, c) - at(cellsOf({ ...before, signed: true }), r, c);
    return Math.abs(gap) > STILL ? gap : 0;
  })));
  const count = change.data.filter((gap) => gap !== 0).length;
  const picked = chosen.kind === kind ? chosen : { row: -1, column: -1 };
  return (
    <Panel title={NAMES[kind]} note={HOW[kind]}>
      <Numbers title={`${NAMES[kind]}, ${shown}`} values={shown === "change" ? change : now} rows={settings.names} columns={settings.features} names={["token", "value"]} signed top={shown === "change" ? 1 : 2}
        picked={picked} onPick={(row, column) => onPick({ row, column })} />
      <p class="count"><b>{count}</b> of {change.data.length} outputs moved</p>
    </Panel>
  );
}

function verdict(moved: Record<Kind, number[]>, edited: Place | null, padding: number, names: string[]): string {
  if (!edited && !padding) return "Change any number on the left, or add padding.";
  const others = (rows: number[]) => rows.filter((row) => row !== edited?.row).map((row) => names[row]);
  const [batch, layer] = [others(moved.batch), others(moved.layer)];
  const cause = edited ? `You changed ${names[edited.row]}${padding ? " and added padding" : ""}.` : "You only added padding.";
  const said = (list: (string | undefined)[]) => (list.length ? `moved ${list.join(", ")}` : "moved no other token");
  return `${cause} BatchNorm ${said(batch)}; LayerNorm ${said(layer)}.`;
}

export function NormLab({ lesson }: { lesson: Lesson<Settings> }) {
  const { settings } = lesson;
  const values = useSignal(settings.values);
  const padding = useSignal(0);
  const edited = useSignal<Place | null>(null);
  const shown = useSignal("values");
  const chosen = useSignal<Chosen>({ kind: "batch", row: 0, column: 0 });
  const kinds: Kind[] = ["layer", "batch"];
  const now = { batch: normalised("batch", values.value, padding.value, settings.eps), layer: normalised("layer", values.value, padding.value, settings.eps) };
  const before = { batch: normalised("batch", settings.values, 0, settings.eps), layer: normalised("layer", settings.values, 0, settings.eps) };
  const width = settings.features.length;
  const movedRows = (kind: Kind) => settings.names.map((_, r) => r).filter((r) => (
    Array.from({ length: width }, (__, c) => Math.abs(now[kind].data[r * width + c]! - before[kind].data[r * width + c]!)).some((gap) => gap > STILL)
  ));
  const change = (row: number, column: number, value: number): void => {
    values.value = values.value.map((old, r) => (r === row ? old.map((one, c) => (c === column ? value : one)) : old));
    edited.value = { row, column };
    shown.value = "change";
  };
  const reset = (): void => { values.value = settings.values; padding.value = 0; edited.value = null; shown.value = "values"; };
  const { kind, row, column } = chosen.value;
  const name = `${settings.names[row]}, ${settings.features[column]}`;
  return (
    <div class="cards">
      <Panel title="A batch of two sentences" note="change one number">
        <Inputs settings={settings} values={values.value} padding={padding.value} chosen={chosen.value} edited={edited.value} onChange={change} />
        <p class="note">Click an output: <span class="needed-sign" /> what {NAMES[kind]} needs for {name}: {kind === "layer" ? `${width} numbers, all of this token` : `${settings.names.length + padding.value} numbers, one of each token${padding.value ? ", padding too" : ""}`}</p>
        <Slider label="Padding after sentence 2" value={padding} min={0} max={MOST} />
        <div class="line-of-controls">
          <button type="button" onClick={() => change(4, 0, values.value[4]![0]! + 10)}>Add 10 to {settings.names[4]}, {settings.features[0]}</button>
          <button type="button" onClick={reset}>Start again</button>
        </div>
      </Panel>
      <div class="stacked">
        <Panel title="Who moves?">
          <p class="verdict" aria-live="polite">{verdict({ batch: movedRows("batch"), layer: movedRows("layer") }, edited.value, padding.value, settings.names)}</p>
          <Choice label="Show" value={shown} options={[["change", "what moved"], ["values", "the outputs"]]} />
        </Panel>
        {kinds.map((one) => <Outputs key={one} kind={one} settings={settings} now={now[one]} before={before[one]} chosen={chosen.value} shown={shown.value} onPick={(place) => { chosen.value = { ...place, kind: one }; }} />)}
      </div>
    </div>
  );
}
