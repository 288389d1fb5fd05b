// What is always there: the sentence and its answer, what was verified, the model's figure, the view, the reckoning.

import type { ComponentType } from "preact";
import { picked, select, selection, VIEWS, type View } from "../state/selection";
import { toHash } from "../state/selection";
import { busy, places, trouble } from "../state/store";
import { T } from "../state/strings";
import { asking, touring } from "../state/touring";
import { Tour } from "../tour/tour";
import { Choice } from "./choice";
import { Head } from "./head";
import { Heads } from "./heads";
import { Pieces } from "./pieces";
import { Proof } from "./proof";
import { here, placeInWords, Rail } from "./rail";
import { ReckoningPanel } from "./reckoning";
import { Stream } from "./stream";
import { Top } from "./top";
import { Verified } from "./verified";
import { WhatIfBar } from "./whatif";
import { Whole } from "./whole";
import { Windows } from "./windows";

const PAGES: Record<View, ComponentType> = { whole: Whole, pieces: Pieces, head: Head, heads: Heads, stream: Stream, choice: Choice, proof: Proof };

function Views() {
  const now = picked.view.value;
  const choose = (view: View) => (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    select({ view });
  };
  return (
    <nav class="views" aria-label={T.viewsLabel}>
      {VIEWS.map((view, i) => (
        <a key={view} href={toHash({ ...selection.peek(), view }, {})} aria-current={view === now ? "page" : undefined} onClick={choose(view)}><b>{i + 1}</b>{T.views[view]}</a>
      ))}
    </nav>
  );
}

/** The figure at the side; on narrow screens one line says where the selection is, and opens it. */
function RailSide() {
  const place = places.value.find((one) => one.id === here.value);
  const wide = window.matchMedia("(min-width: 1100.02px)").matches;
  return (
    <aside class="railside" aria-label={T.figure}>
      <details class="stay" open={wide}>
        <summary>{T.figure}{place ? ` › ${placeInWords(place).replaceAll(", ", " › ")}` : ""}</summary>
        <Rail />
      </details>
    </aside>
  );
}

function CurrentView() {
  const Page = PAGES[picked.view.value];
  return <Page />;
}

function Trouble() {
  return trouble.value ? <div class="trouble" role="alert"><p>{trouble.value}</p></div> : null;
}

export function Frame() {
  return (
    <div class={["page", touring.value && "touring", asking.value && "asking"].filter(Boolean).join(" ")} aria-busy={busy.value ? "true" : undefined}>
      <a class="skip" href="#view" onClick={(event) => { event.preventDefault(); document.querySelector("main")?.focus(); }}>{T.skip}</a>
      <Top />
      <div class="second-line"><Views /><Verified /><WhatIfBar /></div>
      <RailSide />
      <main id="view" tabIndex={-1}><Trouble /><CurrentView /></main>
      <ReckoningPanel />
      <Tour />
      <Windows />
    </div>
  );
}
