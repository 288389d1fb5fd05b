// The lab of masks: what is hidden, and whether a later word changes an earlier one.

import { useComputed, useSignal } from "@preact/signals";
import { dim } from "../engine/tensor";
import { FUTURE, OPEN, PADDING } from "../views/cells";
import { Check, Choice, Panel, Slider, TextField } from "./controls";
import type { Lesson } from "./data";
import { hiddenBy, masked, moved, withPadding, type Hidden, type Mask, type Settings } from "./mask";
import { Numbers } from "./numbers";
import { matrix, numbered, row, sinusoidal, vectorFor, wordsOf } from "./reckon";

const MOST = 10; // words
const STILL = 1e-6; // smaller movements are rounding
const WHY: Record<Hidden, string> = { "": "", future: "hidden: it comes later", window: "hidden: outside the window", padding: "hidden: padding" };
const HATCH: Record<Hidden, number> = { "": OPEN, future: FUTURE, window: FUTURE, padding: PADDING };

interface Movement {
  labels: readonly string[];
  by: readonly number[];
  changed: number;
  real: number;
}

/** What the learner must notice, in words. */
function verdictOf({ labels, by, changed, real }: Movement): { leak: boolean; text: string } {
  const before = labels.slice(0, changed).filter((_, i) => by[i]! > STILL);
  if (changed >= real) {
    const touched = labels.slice(0, real).some((_, i) => by[i]! > STILL);
    return touched ? { leak: true, text: "Padding is read: another padding vector changes real words." } : { leak: false, text: "Padding is hidden: whatever stands there, no real word moves." };
  }
  if (before.length) return { leak: true, text: `A leak: ${before.map((name) => `“${name}”`).join(", ")} move${before.length > 1 ? "" : "s"}, though “${labels[changed]}” comes later. A model that learns like this copies the answer.` };
  if (changed === 0) return { leak: false, text: "Nothing comes before the first word. Change a later one." };
  return { leak: false, text: `No leak: nothing before “${labels[changed]}” moves, so all positions can be trained in one pass.` };
}

function Moves(props: Movement) {
  const { labels, by, changed, real } = props;
  const top = Math.max(...by, STILL);
  const verdict = verdictOf(props);
  return (
    <>
      <p class={verdict.leak ? "verdict bad-news" : "verdict good-news"} aria-live="polite"><b>{verdict.leak ? "✗" : "✓"}</b> {verdict.text}</p>
      <table class="moves"><tbody>{labels.map((label, i) => {
        const leak = by[i]! > STILL && i < changed && i < real;
        return (
          <tr key={i} class={leak ? "leak" : i === changed ? "changed" : ""}>
            <th scope="row"><bdi>{label}</bdi>{i === changed && <small> changed</small>}</th>
            <td class="num">{by[i]! > STILL ? by[i]!.toFixed(3) : "0"}</td>
            <td class="bar"><i style={{ width: `${by[i]! > STILL ? Math.max(1, (100 * by[i]!) / top) : 0}%` }} /></td>
          </tr>
        );
      })}</tbody></table>
    </>
  );
}

export function MaskLab({ lesson }: { lesson: Lesson<Settings> }) {
  const { settings, arrays } = lesson;
  const [own, padding] = [arrays.vectors!, arrays.padding!];
  const width = dim(own, 1);
  const text = useSignal(settings.words.join(" "));
  const causal = useSignal(settings.mask === "causal" || settings.mask === "window");
  const windowed = useSignal(settings.mask === "window");
  const window = useSignal(settings.window);
  const pads = useSignal(settings.mask === "padding" ? 2 : 0);
  const hidePads = useSignal(true);
  const changed = useSignal(settings.words.length - 1);
  const picked = useSignal({ row: settings.words.length - 1, column: 0 });
  const words = useComputed(() => wordsOf(text.value, MOST));
  const x = useComputed(() => {
    const same = words.value.join(" ") === settings.words.join(" ");
    const places = sinusoidal(words.value.length, width);
    const vectors = words.value.map((word, t) => vectorFor(word, width).map((value, i) => value + row(places, t)[i]!));
    return withPadding(same ? own : matrix(vectors), padding, pads.value);
  });
  const real = words.value.length;
  const labels = [...numbered(words.value), ...Array.from({ length: pads.value }, (_, i) => `‹pad ${i + 1}›`)];
  const mask: Mask = { causal: causal.value, window: windowed.value ? window.value : 0, real: hidePads.value ? real : labels.length };
  const one = masked(x.value, mask);
  const at = Math.min(changed.value, labels.length - 1);
  const by = moved(x.value, mask, at);
  const hidden = (r: number, c: number): number => HATCH[hiddenBy(mask, r, c)];
  const place = { row: Math.min(picked.value.row, labels.length - 1), column: Math.min(picked.value.column, labels.length - 1) };
  const why = WHY[hiddenBy(mask, place.row, place.column)];
  const pick = (r: number, c: number): void => { picked.value = { row: r, column: c }; };
  return (
    <div class="cards">
      <Panel title="What may be read?" wide>
        <div class="line-of-controls">
          <Check label="causal: hide what comes later" value={causal} />
          <Check label="window: hide what is far away" value={windowed} />
          <Check label="hide padding" value={hidePads} />
          <TextField label="Up to 10 words" value={text.value} onText={(typed) => { if (wordsOf(typed).length) text.value = typed; }} />
        </div>
        <div class="two-sliders">
          <Slider label="Padding after the words" value={pads} min={0} max={dim(padding, 0)} />
          <Slider label="Words that a window has" value={window} min={1} max={MOST} />
        </div>
      </Panel>
      <Panel title="Scores + M" note="hatched: −∞ was added">
        <Numbers title="Scores with the mask" values={one.scores} rows={labels} columns={labels} names={["reads", "is read"]} signed hidden={hidden} picked={place} onPick={pick} bare={false} />
      </Panel>
      <Panel title="Shares: softmax(scores + M)" note="every row still sums to 1">
        <Numbers title="Shares" values={one.shares} rows={labels} columns={labels} names={["reads", "is read"]} hidden={hidden} picked={place} onPick={pick}
          say={(r, c, value) => `${labels[r]} reads ${value.toFixed(3)} from ${labels[c]}`} bare={false} />
        <p class="sum">{why ? <>e^−∞ = 0: <b>0</b></> : <>e^{row(one.scores, place.row)[place.column]!.toFixed(2).replace("-", "−")} ÷ the sum of the row’s powers = <b>{row(one.shares, place.row)[place.column]!.toFixed(3)}</b></>}</p>
      </Panel>
      <Panel title={`“${labels[at]}” becomes another word. Who moves?`} note="how far each output vector moves" wide>
        <Choice label="Change" value={changed} options={labels.map((label, i) => [i, label] as const)} />
        <Moves labels={labels} by={by} changed={at} real={real} />
      </Panel>
    </div>
  );
}
