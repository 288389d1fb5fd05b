// npm run answers -- page.html expected.json: the page's own ids, answers and searches of many texts against Python's.
// expected.json, written by benchmarks/glass_pages.py: [{text, ids, answer, hypotheses: [{ids, score}]}].

import { readFileSync } from "node:fs";
import { sourceOf } from "./page_file";

interface Expected {
  text: string;
  ids: Record<string, number[]>;
  answer: string;
  beam: number;
  hypotheses: { ids: number[]; score: number }[];
}

const [path = "", file = ""] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(file, "utf8")) as Expected[];
const source = await sourceOf(path);
const found = { texts: expected.length, ids: 0, answers: 0, hypotheses: 0, worst: 0, milliseconds: [] as number[] };
const different: string[] = [];

for (const one of expected) {
  const run = await source.run(one.text);
  const same = Object.entries(one.ids).every(([name, ids]) => String(run.ids[name]) === String(ids));
  found.ids += Number(same);
  found.answers += Number(run.answer.trim() === one.answer.trim());
  const start = performance.now();
  const wide = await source.run(one.text, { beam: one.beam });
  found.milliseconds.push(performance.now() - start);
  const own = wide.search?.hypotheses ?? [];
  const kept = own.slice(0, one.hypotheses.length);
  const equal = kept.length === one.hypotheses.length && kept.every((hypothesis, i) => String(hypothesis.ids) === String(one.hypotheses[i]!.ids));
  found.hypotheses += Number(equal);
  if (equal) found.worst = Math.max(found.worst, ...kept.map((hypothesis, i) => Math.abs(hypothesis.score - one.hypotheses[i]!.score)));
  if (!same || !equal) different.push(one.text);
}
const times = found.milliseconds.sort((a, b) => a - b);
console.log(JSON.stringify({ ...found, milliseconds: times[Math.floor(times.length / 2)], different: different.slice(0, 5) }));
