// The line that says what was checked.

import { select } from "../state/selection";
import { unrecorded } from "../state/checking";
import { checks, run, source } from "../state/store";
import { T } from "../state/strings";
import { tiny } from "./format";

export function Verified() {
  const [found, from] = [checks.value, source.value];
  const words = T.verified;
  if (!found || !from) return <p class="verified" role="status">{words.pending}</p>;
  const more = <a href="#proof" onClick={(event) => { event.preventDefault(); select({ view: "proof" }); }}>{words.why}</a>;
  const first = found.failures[0]?.step ?? found.rules.find((rule) => !rule.ok)?.name ?? "";
  if (!found.ok) return <p class="verified failed" role="status">✗ {words.failed(Math.max(1, found.failures.length), first)} · {more}</p>;
  const other = unrecorded(run.value);
  if (other || !found.compared) return <p class="verified" role="status">{run.value?.inexact && <b>{words.inexact(run.value.inexact)} </b>}{other ? words.other(other.which, other.probes, other.text) : words.nothing} · {more}</p>;
  const text = (from.live ? words.ok : words.recorded)(found.compared, tiny(found.worst?.error ?? 0));
  return <p class="verified ok" role="status"><b>✓</b> {text} · {more}</p>;
}
