// Windows over the page: the keys and the jump.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { open } from "../state/keys";
import { examples, matching, type Found } from "../state/jumping";
import { T } from "../state/strings";

/** A modal window: Escape and the button close it, and focus returns to where it was. */
function Window({ title, children }: { title: string; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    ref.current!.showModal();
    return () => { if (before instanceof HTMLElement) before.focus(); };
  }, []);
  // A field of a search would take the first Escape to empty itself.
  const escape = (event: KeyboardEvent): void => { if (event.key === "Escape") { event.preventDefault(); open.value = ""; } };
  return (
    <dialog ref={ref} aria-label={title} onKeyDown={escape} onClose={() => { open.value = ""; }}>
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

const looked = signal("");

function Jump() {
  const found = matching(looked.value);
  const go = (one: Found | undefined) => { if (one) { open.value = ""; looked.value = ""; one.go(); } };
  return (
    <Window title={T.jump.title}>
      <form onSubmit={(event) => { event.preventDefault(); go(found[0]); }}>
        <input type="search" aria-label={T.jump.title} placeholder={T.jump.placeholder} value={looked.value} onInput={(event) => { looked.value = event.currentTarget.value; }} />
      </form>
      {!looked.value.trim() && <p class="note">{T.jump.examples} {examples().map((text) => <button type="button" class="plain" key={text} onClick={() => { looked.value = text; }}>{text}</button>)}</p>}
      <ul class="found">{found.map((one, i) => <li key={i}><button type="button" onClick={() => go(one)}>{one.name}</button></li>)}</ul>
      {!found.length && <p class="note">{T.jump.nothing}</p>}
    </Window>
  );
}

export function Windows() {
  if (open.value === "keys") return <Keys />;
  if (open.value === "jump") return <Jump />;
  return null;
}
