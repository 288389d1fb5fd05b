// What adds to one logit: a line for each sub-layer, with what each head adds, and the sum.

import type { Split } from "../analysis/contributions";
import { againstNext, asked, contributions, isPostNorm, openPart, splits } from "../state/adding";
import { candidateName, readout, recurrent } from "../state/inside";
import { select } from "../state/selection";
import { T } from "../state/strings";
import { largest } from "./cells";
import { full, nats, percent, tiny, withSign } from "./format";
import { palette } from "./palette";
import { adding, type Line } from "./pathlines";
import { Piece, WithPieces } from "./tokens";

/** A bar from the middle: to the right it adds, to the left it takes away. */
function Bar({ value, top }: { value: number; top: number }) {
  const colours = palette.value;
  const size = Math.min(50, (50 * Math.abs(value)) / (top || 1));
  const colour = value < 0 ? colours?.minus.css[255] : colours?.plus.css[255];
  return <span class="around" aria-hidden="true"><i style={{ width: `${size}%`, left: value < 0 ? `${50 - size}%` : "50%", background: colour }} /></span>;
}

/** One small cell for each head; each selects its head. */
function HeadCells({ split, top, line }: { split: Split; top: number; line: Line }) {
  const colours = palette.value;
  if (!colours) return null;
  return (
    <span class="headcells">
      {split.heads.map(({ head, value }) => {
        const scale = value < 0 ? colours.minus : colours.plus;
        const step = Math.round(255 * Math.min(1, Math.abs(value) / (top || 1)));
        const words = T.stream.path.head(head + 1, withSign(value));
        const text = split.heads.length > 6 ? "" : Math.abs(value) < 0.05 ? "0" : withSign(value, (number) => number.toFixed(Math.abs(number) < 0.95 ? 1 : 0).replace("-", "−"));
        return <button type="button" key={head} title={words} aria-label={words} style={{ background: scale.css[step], color: scale.text[step] }} data-text={text} onClick={() => { line.choose(); select({ head }); }} />;
      })}
    </span>
  );
}

function LineOf({ line, top, headTop }: { line: Line; top: number; headTop: number }) {
  const split = splits.value.get(line.step);
  const open = line.step !== "" && openPart.value?.step === line.step;
  return (
    <tr data-on={open ? "" : undefined}>
      <th scope="row">
        {line.layer === null ? line.name : <button type="button" class="plain" aria-pressed={open} onClick={line.choose}>{line.name}</button>}
        {line.guess && <small>→ <Piece text={line.guess.name} /> {percent(line.guess.prob)}</small>}
      </th>
      <td class="barcell"><Bar value={line.value} top={top} /></td>
      <td class="num">{withSign(line.value, nats)}</td>
      <td class="headcell">{split && <HeadCells split={split} top={headTop} line={line} />}</td>
    </tr>
  );
}

/** Which number is taken apart: the logit, or how far it is ahead of the runner-up. */
function Question() {
  const found = asked.value;
  if (!found || found.next === found.candidate) return null;
  const names = [T.stream.path.logit, T.stream.path.against(candidateName(found.next))];
  return (
    <div class="group controls" role="group" aria-label={T.stream.path.question}>
      {names.map((name, i) => <button type="button" key={i} aria-pressed={againstNext.value === (i === 1)} onClick={() => { againstNext.value = i === 1; }}><WithPieces text={name} /></button>)}
    </div>
  );
}

function Total() {
  const found = contributions.value!;
  const words = againstNext.value ? T.stream.path.totalAgainst : T.stream.path.total;
  return <p class="note total">{words(full(found.total), full(found.logit), tiny(Math.abs(found.total - found.logit)))}</p>;
}

export function Path() {
  const [found, question, said] = [contributions.value, asked.value, readout.value];
  if (!found || !question || !said) return null;
  if (found.missing.length) return <p class="note">{T.stream.path.missing}</p>;
  const lines = adding.value;
  const top = largest(lines.map((line) => line.value));
  const headTop = Math.max(top / 4, largest([...splits.value.values()].flatMap((split) => split.heads.map((head) => head.value))));
  const best = lines.filter((line) => line.layer !== null).reduce<Line | null>((most, line) => (most && most.value >= line.value ? most : line), null);
  const words = T.stream.path;
  return (
    <section class="panel path">
      <h3><WithPieces text={words.title(candidateName(question.candidate))} /></h3>
      <p class="note">{words.lead(recurrent.value ? words.kept : isPostNorm.value ? words.frozenMore : words.frozen)} {best && words.most(best.name, withSign(best.value))}</p>
      <Question />
      <table>
        <thead class="sr"><tr><th>{words.step}</th><td /><th>{words.adds}</th><th>{words.heads}</th></tr></thead>
        <tbody>{lines.map((line) => <LineOf line={line} top={top} headTop={headTop} key={`${line.step} ${line.name}`} />)}</tbody>
        <tfoot><tr><th scope="row">{words.sum}</th><td /><td class="num">{withSign(found.total, nats)}</td><td /></tr></tfoot>
      </table>
      <Total />
    </section>
  );
}
