// What the selected head is worth, measured by running the model without it.

import { useEffect } from "preact/hooks";
import type { Attention } from "../state/anatomy";
import { knockOut } from "../state/keys";
import { spoken } from "../state/labels";
import { picked } from "../state/selection";
import { hasPatch, mode, run, runA, runB, samePatch, source, whatIf } from "../state/store";
import { T } from "../state/strings";
import { askWorths, choicesOf, keyOf, logProbOf, removal, withoutHead, worths } from "../state/worth";
import { brief, loss, withSign } from "./format";
import { WithPieces } from "./tokens";

const LITTLE = 0.1; // nats

/** The head is removed in B, which is shown: what that changed. */
function Removed() {
  const [a, b] = [runA.value, runB.value];
  if (!a || !b || a.written?.ids.join() !== b.written?.ids.join()) return <p>{T.head.worthRemoved}</p>;
  const [before, after] = [logProbOf(a), logProbOf(b)];
  return (
    <>
      <p class="big">{withSign(after - before)}<small> nats</small></p>
      <p>{T.head.worthRemoved} {T.head.worthNow(brief(before), brief(after))}</p>
    </>
  );
}

function Measured({ one, head }: { one: Attention; head: number }) {
  const [worth, a, words] = [worths.value.get(keyOf(one, head)), run.value, T.head];
  if (!a) return null;
  const choices = choicesOf(a);
  if (!choices.length) return <p class="note">{words.worthNothing}</p>;
  if (!worth) return <p class="note" role="status">{words.worthPending}</p>;
  const before = logProbOf(a);
  const said = a.written?.pieces ?? [];
  const most = worth.rows.reduce((best, loss, i) => (loss > worth.rows[best]! ? i : best), 0);
  const piece = said[most];
  const say = worth.loss < 0 ? words.worthGain : words.worthText;
  return (
    <>
      <p class="big">{loss(worth.loss)}<small> nats</small></p>
      <p>{say(loss(Math.abs(worth.loss)), brief(before), brief(before - worth.loss))}{" "}
        {piece && worth.loss > LITTLE && <WithPieces text={words.worthMost(spoken(piece), brief(worth.rows[most]!))} />}</p>
      {worth.loss < LITTLE && <p class="note">{words.worthLittle}</p>}
    </>
  );
}

export function WorthPanel({ one }: { one: Attention }) {
  const head = Math.min(picked.head.value, one.heads - 1);
  const live = source.value?.live ?? false;
  const patch = withoutHead(one, head);
  const gone = patch && mode.value !== "A" ? whatIf.value.patches.find((old) => samePatch(old, patch)) : undefined;
  useEffect(() => {
    const others = Array.from({ length: one.heads }, (_, other) => [one, other] as const).filter(([, other]) => other !== head);
    void askWorths([[one, head], ...others]);
  }, [one, head, run.value, removal.value]);
  return (
    <section class="panel worth">
      <h3>{T.head.worth}</h3>
      {live && gone ? <Removed /> : live ? <Measured one={one} head={head} /> : <p class="note">{T.head.worthRecorded}</p>}
      {live && patch && <p><button type="button" onClick={knockOut}>{hasPatch(patch) ? T.head.giveBack : T.head.remove}</button></p>}
      {live && <p class="note">{T.head.worthHow[gone?.how === "zero" || gone?.how === "mean" ? gone.how : removal.value]}</p>}
    </section>
  );
}
