// Windows over the page: the keys and the jump.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { visible } from "../state/labels";
import { open } from "../state/keys";
import { select } from "../state/selection";
import { attentions, program, run, selectNumber } from "../state/store";
import { T } from "../state/strings";

/** A modal window: Escape and the button close it, and focus returns to where it was. */
function Window({ title, children }: { title: string; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    ref.current!.showModal();
    return () => { if (before instanceof HTMLElement) before.focus(); };
  }, []);
  return (
    <dialog ref={ref} aria-label={title} onClose={() => { open.value = ""; }}>
      <h2>{title}</h2>
      {children}
      <button type="button" onClick={() => { open.value = ""; }}>{T.compare.close}</button>
    </dialog>
  );
}

function Keys() {
  return (
    <Window title={T.keys.title}>
      <ul>{T.keys.list.map(([key, what]) => <li key={key}><kbd>{key}</kbd><span>{what}</span></li>)}</ul>
    </Window>
  );
}

interface Found {
  name: string;
  go(): void;
}

/** Everything that can be jumped to: heads ("cross 2.4"), steps by their names, pieces. */
function everything(): Found[] {
  const heads = attentions.value.flatMap((one) => Array.from({ length: one.heads }, (_, head): Found => {
    const kind = [one.stack, one.kind.replace("_attention", "").replaceAll("_", " ")].filter(Boolean).join(" ");
    return { name: T.jump.head(kind, one.layer + 1, head + 1), go: () => select({ view: "head", stack: one.stack, kind: one.kind, layer: one.layer, head, tap: "" }) };
  }));
  const pieces = Object.entries(run.value?.pieces ?? {}).flatMap(([sequence, all]) => all.map((piece, at): Found => ({
    name: T.jump.piece(visible(piece), sequence),
    go: () => select(attentions.value.some((one) => one.queries === sequence) ? { query: at } : { key: at }),
  })));
  const steps = (program.value?.steps ?? []).map((step): Found => ({ name: step.name, go: () => { selectNumber(step.name, step.shape.map(() => 0)); select({ view: "proof" }); } }));
  return [...heads, ...pieces, ...steps];
}

const looked = signal("");

/** Those that contain every word that was typed. */
function matching(text: string): Found[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return everything().filter((one) => words.every((word) => one.name.toLowerCase().includes(word))).slice(0, 12);
}

function Jump() {
  const found = matching(looked.value);
  const go = (one: Found | undefined) => { if (one) { open.value = ""; looked.value = ""; one.go(); } };
  return (
    <Window title={T.jump.title}>
      <form onSubmit={(event) => { event.preventDefault(); go(found[0]); }}>
        <input type="search" aria-label={T.jump.title} placeholder={T.jump.placeholder} value={looked.value} onInput={(event) => { looked.value = event.currentTarget.value; }} />
      </form>
      <ul class="found">{found.map((one) => <li key={one.name}><button type="button" onClick={() => go(one)}>{one.name}</button></li>)}</ul>
      {!found.length && <p class="note">{T.jump.nothing}</p>}
    </Window>
  );
}

export function Windows() {
  if (open.value === "keys") return <Keys />;
  if (open.value === "jump") return <Jump />;
  return null;
}
