// The tree of the search: every beginning that was followed, what was weighed after it, and what became of each.

import { computed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { candidatesAfter, drawingOf, pathTo, type Drawing, type Leaf } from "../analysis/tree";
import type { Candidate, SearchRecord } from "../engine/header";
import { spoken } from "../state/labels";
import { picked, select } from "../state/selection";
import { busy, compare, prune, run, source, UNCHANGED, vocabularyText, whatIf } from "../state/store";
import { T } from "../state/strings";
import { brief } from "./format";
import { Piece, WithPieces } from "./tokens";

const WIDE = 94; // CSS pixels from one column to the next
const BOX = 80;
const TALL = 42;
const WEIGHED = 7; // candidates listed, and those that were followed

const search = computed<SearchRecord | null>(() => run.value?.search ?? null);
const drawing = computed<Drawing | null>(() => (search.value ? drawingOf(search.value) : null));
const chosen = computed(() => Math.min(picked.node.value, (search.value?.nodes.length ?? 1) - 1));

function text(node: number): string {
  return pathTo(search.value!, node).map(vocabularyText).join("");
}

function nameOf(leaf: Leaf): string {
  return leaf.node === 0 ? T.choice.start : vocabularyText(leaf.token);
}

/** The nodes from the start to the best answer. */
const best = computed(() => {
  const nodes = new Set<number>([0]);
  const first = search.value?.hypotheses[0]?.node ?? 0;
  for (let at = first; at > 0; at = search.value!.nodes[at]!.parent) nodes.add(at);
  return nodes;
});

function Node({ leaf }: { leaf: Leaf }) {
  const on = leaf.node === chosen.value;
  const fate = leaf.rank === null ? T.choice.fates[leaf.fate] : `${T.choice.fates[leaf.fate]}, ${T.choice.rank1(leaf.rank + 1, brief(leaf.score!))}`;
  const classes = ["node", leaf.fate, best.value.has(leaf.node) ? "best" : ""].join(" ");
  const words = T.choice.node(leaf.node ? spoken(text(leaf.node)) : T.choice.start, brief(leaf.sum), fate);
  return (
    <button
      type="button" class={classes} role="treeitem" aria-selected={on} title={words} tabIndex={on ? 0 : -1} data-node={leaf.node}
      style={{ left: `${leaf.depth * WIDE}px`, top: `${leaf.row * TALL}px`, width: `${BOX}px` }} onClick={() => choose(leaf)}
    ><Piece text={nameOf(leaf)} />{leaf.node > 0 && <small>{leaf.rank !== null ? `${leaf.rank + 1}. ` : ""}{brief(leaf.sum)}</small>}<span class="sr">, {fate}</span></button>
  );
}

/** Selects a node; on the way to the best answer also the place that wrote it. */
function choose(leaf: Leaf): void {
  const at = best.peek().has(leaf.node) && leaf.depth > 0 ? { step: leaf.depth - 1 } : {};
  select({ node: leaf.node, ...at });
}

function Lines({ drawn }: { drawn: Drawing }) {
  return (
    <svg aria-hidden="true" width={drawn.columns * WIDE} height={drawn.rows * TALL}>
      {drawn.leaves.slice(1).map((leaf) => {
        const from = drawn.leaves[leaf.parent]!;
        const [x1, y1, x2, y2] = [from.depth * WIDE + BOX, from.row * TALL + 18, leaf.depth * WIDE, leaf.row * TALL + 18];
        const turn = x1 + 8;
        return <path key={leaf.node} class={best.value.has(leaf.node) ? "best" : leaf.fate} d={y1 === y2 ? `M${x1} ${y1}H${x2}` : `M${x1} ${y1}H${turn}V${y2}H${x2}`} />;
      })}
    </svg>
  );
}

/** Where an arrow key leads from a node. */
function next(key: string, drawn: Drawing, now: Leaf): Leaf | undefined {
  const children = drawn.leaves.filter((leaf) => leaf.node > 0 && leaf.parent === now.node);
  if (key === "ArrowRight") return children.sort((a, b) => a.row - b.row)[0];
  if (key === "ArrowLeft") return drawn.leaves[now.parent];
  const beside = drawn.leaves.filter((leaf) => leaf.depth === now.depth && (key === "ArrowDown" ? leaf.row > now.row : leaf.row < now.row));
  return beside.sort((a, b) => Math.abs(a.row - now.row) - Math.abs(b.row - now.row))[0];
}

function Picture({ drawn }: { drawn: Drawing }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const leaf = drawn.leaves[chosen.value];
    const scroll = box.current;
    if (leaf && scroll && (leaf.depth * WIDE < scroll.scrollLeft || (leaf.depth + 1) * WIDE > scroll.scrollLeft + scroll.clientWidth)) scroll.scrollLeft = leaf.depth * WIDE - 60;
  }, [chosen.value, drawn]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const found = /^Arrow/.test(event.key) && !event.altKey && !event.ctrlKey && !event.metaKey ? next(event.key, drawn, drawn.leaves[chosen.peek()]!) : undefined;
    if (!found) return;
    event.preventDefault();
    choose(found);
    box.current?.querySelector<HTMLElement>(`[data-node="${found.node}"]`)?.focus();
  };
  return (
    <div class="treebox scroll" ref={box} onKeyDown={onKeyDown}>
      <div class="tree" role="tree" aria-label={T.choice.treeLabel} style={{ width: `${drawn.columns * WIDE - 8}px`, height: `${drawn.rows * TALL}px` }}>
        <Lines drawn={drawn} />
        {drawn.leaves.map((leaf) => <Node leaf={leaf} key={leaf.node} />)}
      </div>
    </div>
  );
}

function CandidateRow({ one }: { one: Candidate }) {
  const name = vocabularyText(one.token);
  return (
    <tr class={one.fate}>
      <th scope="row">{one.node === undefined ? <Piece text={name} /> : <button type="button" class="plain" onClick={() => choose(drawing.peek()!.leaves[one.node!]!)}><Piece text={name} /></button>}</th>
      {[one.log_prob, one.sum, one.score].map((value, i) => <td class="num" key={i}>{value === null ? "−∞" : brief(value)}</td>)}
      <td><span class={`fate ${one.fate}`}>{T.choice.fates[one.fate]}</span>{one.rule && <small class="note"> {one.rule}</small>}</td>
    </tr>
  );
}

/** What can be done with a branch: B follows it, or B searches without it. */
function Actions({ leaf }: { leaf: Leaf }) {
  if (!source.value?.live || leaf.node === 0) return null;
  const ids = pathTo(search.value!, leaf.node);
  const beginning = spoken(text(leaf.node));
  const follow = (): void => { select({ node: 0 }); void compare({ ...UNCHANGED, keep: false, forced: Object.fromEntries(ids.map((id, at) => [at, id])) }, "B"); };
  const cut = (): void => { select({ node: 0 }); whatIf.value = { ...whatIf.peek(), forced: {}, keep: false }; void prune(ids); };
  return (
    <p class="controls">
      <button type="button" disabled={busy.value === "B"} aria-label={T.choice.followLabel(beginning)} title={T.choice.followLabel(beginning)} onClick={follow}>{T.choice.follow}</button>
      <button type="button" disabled={busy.value === "B"} aria-label={T.choice.pruneLabel(beginning)} title={T.choice.pruneLabel(beginning)} onClick={cut}>{T.choice.prune}</button>
    </p>
  );
}

function Selected({ drawn }: { drawn: Drawing }) {
  const leaf = drawn.leaves[chosen.value]!;
  const weighed = candidatesAfter(search.value!, leaf.node);
  const all = weighed.filter((one, i) => i < WEIGHED || one.node !== undefined);
  const words = T.choice;
  return (
    <div class="weighed">
      <h3><WithPieces text={leaf.node ? words.after(spoken(text(leaf.node))) : words.afterStart} /></h3>
      <Actions leaf={leaf} />
      {!all.length && <p class="note">{leaf.score === null ? words.notContinued : words.ended(brief(leaf.score))}</p>}
      {all.length > 0 && (
        <div class="scroll"><table>
          <thead><tr><th>{words.sums.candidate}</th><th class="num">{words.sums.logP}</th><th class="num">{words.sums.sum}</th><th class="num">{words.sums.score}</th><th>{words.sums.fate}</th></tr></thead>
          <tbody>{all.map((one) => <CandidateRow one={one} key={one.token} />)}</tbody>
        </table></div>
      )}
    </div>
  );
}

function Answers() {
  const all = search.value!.hypotheses.slice(0, 4);
  return (
    <div class="weighed">
      <h3>{T.choice.answers}</h3>
      <ol class="answerlist">{all.map((one) => (
        <li key={one.node}><button type="button" class="plain" aria-pressed={one.node === chosen.value} onClick={() => select({ node: one.node })}>{spoken(one.ids.map(vocabularyText).join(""))}</button> <span class="note">{brief(one.score)}</span></li>
      ))}</ol>
    </div>
  );
}

export function Tree() {
  const drawn = drawing.value;
  if (!drawn || !search.value) return run.value?.trace ? null : <p class="note">{T.choice.searched}</p>;
  return (
    <section class="panel">
      <h3>{T.choice.tree}</h3>
      <p class="note">{T.choice.treeNote(search.value.width, search.value.widened === true)}</p>
      <Picture drawn={drawn} />
      <div class="row"><Selected drawn={drawn} /><Answers /></div>
    </section>
  );
}
