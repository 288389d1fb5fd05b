// View 7, the proof: what was compared with Python, the rules, a test run live, every step, and where the page comes from.

import { computed } from "@preact/signals";
import type { Checks, Run } from "../engine/header";
import { isRecorded, unrecorded } from "../state/checking";
import { attentions, checks, header, run, source } from "../state/store";
import { T } from "../state/strings";
import { ErrorChart } from "./error-chart";
import { LeakTest } from "./leak-test";
import { StepList } from "./step-list";
import { StepValues } from "./step-values";

type Rule = Checks["rules"][number];

/** No hidden place of a pattern may have a share. */
const hiddenRule = computed<Rule>(() => {
  let count = 0;
  for (const one of attentions.value) {
    const before = one.lines.at(-2);
    if (!run.value || !before) continue;
    const [scores, shares] = [run.value.pass.values(before.name).data, run.value.pass.values(one.pattern.name).data];
    for (let i = 0; i < scores.length; i++) {
      if (scores[i] !== -Infinity) continue;
      count++;
      if (shares[i] !== 0) return { name: T.proof.hidden, ok: false, detail: T.proof.hiddenBad(one.pattern.name) };
    }
  }
  return { name: T.proof.hidden, ok: true, detail: T.proof.hiddenOk(count) };
});

const ruled = new WeakMap<Run, Rule[]>();

/** The rules of the shown run: they need nothing that Python recorded. */
const rules = computed<Rule[]>(() => {
  const [from, of] = [source.value, run.value];
  if (!from || !of) return [];
  const checked = isRecorded(of) ? checks.value?.rules : undefined; // in the background, if it takes long
  const known = ruled.get(of) ?? checked ?? from.verify(of).rules;
  ruled.set(of, known);
  return [...known, hiddenRule.value];
});

function Rules() {
  return (
    <section class="panel">
      <h3>{T.proof.rules}<small>{run.value && isRecorded(run.value) ? "" : T.proof.rulesOwn}</small></h3>
      <ul class="rules">
        {rules.value.map((rule) => (
          <li key={rule.name} class={rule.ok ? "" : "broken"}><b>{rule.ok ? "✓" : "✗"}</b><span><strong>{rule.name}</strong> {rule.detail}</span></li>
        ))}
      </ul>
    </section>
  );
}

function Provenance() {
  const facts = Object.entries(header.value?.provenance ?? {});
  const left = header.value?.left_out ?? [];
  return (
    <section class="panel">
      <h3>{T.proof.provenance}</h3>
      <dl class="facts wide">{facts.map(([name, value]) => <><dt>{T.proof.names[name] ?? name}</dt><dd>{value}</dd></>)}</dl>
      {left.length > 0 && <><h3>{T.proof.leftOut}</h3><ul>{left.map((one) => <li key={one}>{one}</li>)}</ul></>}
    </section>
  );
}

export function Proof() {
  const [found, other] = [checks.value, unrecorded(run.value)];
  const words = T.proof;
  const only = found?.steps.filter((step) => step.only).length ?? 0;
  return (
    <>
      <h2>{words.title}</h2>
      {found ? <p class="lead">{words.lead(found.compared, found.steps.length - only, only)}</p> : <p class="lead">{words.pending}</p>}
      {found && other && <p class="note warn">{words.ofRecorded(other.which, other.text)}</p>}
      {found && !found.ok && <p class="warn" role="alert">{words.failed}</p>}
      {found && <div class="row proofrow"><Rules /><ErrorChart found={found} /></div>}
      <LeakTest />
      <StepValues />
      <StepList />
      <Provenance />
    </>
  );
}
