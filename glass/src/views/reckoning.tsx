// The selected number: the sum that it is, with its real terms, and how it compares with Python's.

import { computed, signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Group, Reckoning } from "../engine/header";
import { labelsOf, numbered, visible } from "../state/labels";
import { both, focus, header, reckoner, run, runA, showing, source } from "../state/store";
import { T } from "../state/strings";
import { Canvas } from "./canvas";
import { brief, full, tiny, withSign } from "./format";
import type { Palette } from "./palette";
import { copy, numberInPython } from "./python";
import { storyOf } from "./story";
import { Dotted, Piece } from "./tokens";

const LISTED = 8; // terms beyond these are in one line
const sheetOpen = signal(false); // the bottom sheet of narrow screens
const copied = signal(false);

const reckoning = computed<Reckoning | null>(() => {
  const [at, of, reckon] = [focus.value, run.value, reckoner.value];
  return at && of && reckon ? reckon(of, at.step.name, at.index) : null;
});

const groups = computed<Group[]>(() => {
  const [at, of, found, reckon] = [focus.value, run.value, reckoning.value, reckoner.value];
  return at && of && found && reckon ? storyOf(at.step, found, of, reckon) : [];
});

/** "decoder.blocks.1.cross_attention.core.pattern, head 4, ␣gegessen, te" */
const whereInWords = computed(() => {
  const at = focus.value;
  if (!at || !run.value) return [];
  const shape = run.value.pass.values(at.step.name).shape;
  return at.index.map((index, axis) => {
    const name = at.step.axes[axis] ?? "";
    const labels = labelsOf(at.step, axis, shape[axis]!);
    return labels === numbered(shape[axis]!) ? `${name.replaceAll("_", " ")} ${index + 1}` : visible(labels[index] ?? "");
  });
});

type Terms = Group["terms"];

/** Terms as bars from a line: up is positive. */
function Bars({ terms }: { terms: Terms }) {
  const draw = useMemo(() => (pen: CanvasRenderingContext2D, width: number, height: number, colours: Palette) => {
    const values = terms.map((term) => (Number.isFinite(term.value) ? term.value : 0));
    const [most, least] = [values.reduce((a, b) => Math.max(a, b), 0), values.reduce((a, b) => Math.min(a, b), 0)];
    const unit = (height - 2) / (most - least || 1);
    const zero = 1 + most * unit;
    const step = width / terms.length;
    values.forEach((value, i) => {
      const size = Math.max(Math.abs(value) * unit, 0.5);
      pen.fillStyle = (value < 0 ? colours.minus : colours.plus).css[255]!;
      pen.fillRect(i * step, value < 0 ? zero : zero - size, Math.max(1, step - (step > 3 ? 1 : 0)), size);
    });
    pen.fillStyle = colours.soft;
    pen.fillRect(0, zero, width, 0.5);
  }, [terms]);
  return <div class="bars"><Canvas draw={draw} /></div>;
}

const SIGNS: Record<Group["how"], string> = { sum: "+", product: "×", quotient: "÷", mean: "+", value: "" };

function TermRows({ terms, how }: { terms: Terms; how: Group["how"] }) {
  return (
    <>{terms.map((term, i) => (
      <tr key={i}>
        <td class="note">{i ? SIGNS[how] : ""}</td>
        <td><Piece text={term.name.replace(/^head width /, "")} /></td>
        <td class="num note">{term.factors && `${brief(term.factors[0])} · ${brief(term.factors[1])}`}</td>
        <td class="num">{full(term.value)}</td>
      </tr>
    ))}</>
  );
}

function TermTable({ group, folded }: { group: Group; folded: boolean }) {
  const { terms } = group;
  const how = terms.length > LISTED ? "sum" : group.how;
  const isOpen = useMemo(() => signal(false), []); // thousands of rows are made only when they are looked at
  const table = () => <table class="terms"><tbody><TermRows terms={terms.slice(0, 2048)} how={how} /></tbody></table>;
  if (!folded) return table();
  return (
    <details class="more" onToggle={(event) => { isOpen.value = event.currentTarget.open; }}>
      <summary>{T.reckoning.all(terms.length)}</summary>
      {isOpen.value && <div class="scroll tallest">{table()}</div>}
    </details>
  );
}

function GroupOf({ group }: { group: Group }) {
  const many = group.terms.length > LISTED;
  const sign = group.how === "sum" || group.how === "mean" ? (group.how === "sum" ? "Σ " : T.reckoning.mean) : "";
  return (
    <li>
      <span>{group.label}</span>
      {many && group.how !== "quotient" && <Bars terms={group.terms} />}
      {group.terms.length > 0 && <TermTable group={group} folded={many || (group.how === "quotient" && group.terms.length > 2)} />}
      <span class="result">{group.terms.length > 1 ? sign : ""}= {full(group.result)}</span>
    </li>
  );
}

function Compared() {
  if (!both.value) return null;
  const { before, after } = both.value;
  return (
    <dl class="facts">
      <dt>{T.reckoning.inA}</dt><dd>{full(before)}</dd>
      <dt>{T.reckoning.inB}</dt><dd>{full(after)}</dd>
      <dt>{T.reckoning.change}</dt><dd>{full(after - before)}</dd>
    </dl>
  );
}

function Facts({ found }: { found: Reckoning }) {
  const [at, of, words] = [focus.value!, run.value!, T.reckoning];
  const hollow = source.value?.origin(at.step.name, of) === "recorded";
  const place = [found.tap ?? at.step.name, whereInWords.value.join(", ")];
  const difference = showing.value === "B-A" && both.value !== null;
  const python = header.value && numberInPython(header.value, { of, minus: difference ? runA.value : null, alone: showing.value === "A" }, found.tap ?? at.step.name, at.index);
  const copyIt = () => void copy(python ?? "").then(() => { copied.value = true; setTimeout(() => { copied.value = false; }, 1500); });
  return (
    <>
      <dl class="facts">
        <dt>{words.recorded}</dt><dd>{found.recorded === null ? words.notRecorded : full(found.recorded)}</dd>
        <dt>{words.computed}</dt><dd class={hollow ? "hollow" : undefined}>{hollow ? words.onlyRecorded : full(found.computed)}</dd>
        <dt>{words.difference}</dt><dd>{found.difference === null ? "–" : tiny(Math.abs(found.difference))}</dd>
        <dt>{found.tap ? words.tap : words.step}</dt><dd><Dotted name={place[0]!} /></dd>
        <dt>{words.at}</dt><dd>{place[1]}</dd>
        <dt>{words.code}</dt><dd>{found.code}</dd>
      </dl>
      {found.tap && python && <button type="button" class="more" onClick={copyIt}>{copied.value ? words.copied : words.copy}</button>}
    </>
  );
}

function Sum() {
  const found = reckoning.value;
  if (!found) return <p class="note">{T.reckoning.none}</p>;
  const op = header.value?.ops[found.op];
  const change = showing.value === "B-A" && both.value ? both.value.after - both.value.before : null;
  const others = showing.value === "B-A" && change === null;
  return (
    <>
      <p class="number">{change === null ? full(found.computed) : <>{withSign(change, full)} <small class="note">B − A</small></>}</p>
      {others && <p class="note">{T.reckoning.others}</p>}
      <p class="note where">{whereInWords.value.map((word, i) => <span key={i}>{i > 0 && " · "}<Piece text={word} /></span>)}</p>
      <p class="more formula"><span class="mono">{found.formula || op?.formula}</span>{op && <span class="note"> {op.sentence}</span>}</p>
      <Compared />
      <ol class="sums">{groups.value.map((group, i) => <GroupOf group={group} key={i} />)}</ol>
      <Facts found={found} />
    </>
  );
}

export function ReckoningPanel() {
  const toggle = () => { sheetOpen.value = !sheetOpen.value; };
  return (
    <aside class={`side ${sheetOpen.value ? "open" : ""}`} aria-label={T.reckoning.title}>
      <button type="button" class="plain sheet" aria-expanded={sheetOpen.value} onClick={toggle}>{sheetOpen.value ? T.reckoning.shut : T.reckoning.open}</button>
      <div class="stay"><h2>{T.reckoning.title}</h2><Sum /></div>
    </aside>
  );
}
