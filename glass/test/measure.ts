// npm run measure -- page.html: times a page's engine in Node, and compares its search with Python's record.

import { knockOuts } from "./knockout";
import type { SearchRecord } from "../src/engine/header";
import { ForwardPass } from "../src/engine/run";
import { pageFile } from "./page_file";
import { ModelSource } from "../src/engine/source";

async function timed<T>(what: string, times: number, work: () => T | Promise<T>): Promise<T> {
  const found: number[] = [];
  let result!: T;
  for (let i = 0; i < times; i++) {
    const start = performance.now();
    result = await work();
    found.push(performance.now() - start);
  }
  found.sort((a, b) => a - b);
  console.log(`${what.padEnd(34)} ${found[Math.floor(times / 2)]!.toFixed(1)} ms (fastest ${found[0]!.toFixed(1)}, ${times} times)`);
  return result;
}

function searchGap(own: SearchRecord, python: SearchRecord): string {
  const [a, b] = [own, python].map((one) => one.hypotheses.map(({ ids, score }) => ({ ids: ids.join(" "), score })));
  const same = a!.length === b!.length && a!.every(({ ids }, i) => ids === b![i]!.ids);
  const gap = Math.max(...a!.map(({ score }, i) => Math.abs(score - (b![i]?.score ?? NaN))));
  const fates = (one: SearchRecord): string => JSON.stringify(one.steps.map((rows) => rows.map((row) => [row.node, row.candidates.map((c) => [c.token, c.fate, c.node, c.rule])])));
  return `hypotheses ${same ? "equal" : "DIFFER"} (${a!.length}, ${b!.length}), scores within ${gap.toExponential(1)}, fates ${fates(own) === fates(python) ? "equal" : "DIFFER"}`;
}

for (const path of process.argv.slice(2)) {
  console.log(`\n${path}`);
  const { header, chunks } = await timed("read and unpack", 1, () => pageFile(path));
  const make = (): ModelSource => new ModelSource(header, chunks);
  const source = make();
  const checks = await timed("verify", 3, () => source.verify(source.recorded(0)));
  console.log(`${header.kind}, ${header.tier}, ${source.product}: ok ${checks.ok}, ${checks.compared} numbers, worst ${checks.worst?.error.toExponential(1)} at ${checks.worst?.step}`);
  for (const failure of checks.failures.slice(0, 5)) console.log("  ", failure.step, failure.why);
  console.log("  " + checks.rules.map(({ name, ok }) => `${name}: ${ok}`).join(", "));
  if (!source.live) continue;
  for (const [name, info] of Object.entries(header.tokenizers)) {
    const refusal = source.reader(name)?.refusal();
    console.log(`  ${name}: ${info.typed ? (refusal ?? "typed text is read") : `not typed: ${info.why}`}`);
  }
  await timed("one pass, all steps", 9, () => (source.recorded(0).pass as ForwardPass).all());
  const text = header.traces[0]!.text;
  const again = await source.run(text);
  console.log(`  answer ${JSON.stringify(again.answer)}, Python's ${JSON.stringify(header.traces[0]!.answer)}`);
  if (header.decoding) {
    await timed("greedy, and its pass", 5, () => source.run(text, { beam: 1 }));
    await timed("beam 5, and its pass", 5, () => source.run(text, { beam: 5 }));
    const python = header.traces[0]!.search;
    if (python) console.log("  " + searchGap((await source.run(text, { beam: python.width })).search!, python));
    const run = source.recorded(0);
    const losses = await timed("all heads knocked out", 5, () => knockOuts(source, run));
    console.log(`  ${losses.length} heads, largest losses ${losses.map(({ loss }) => loss).sort((a, b) => b - a).slice(0, 4).map((x) => x.toFixed(2)).join(" ")}`);
  }
}
