// View 2: what does the model see? The text cut into pieces, how each word is put together, and the rows they become.

import { useMemo } from "preact/hooks";
import { nearest } from "../analysis/nearest";
import type { Speller, Spelling } from "../analysis/spelling";
import type { Run } from "../engine/header";
import { normalText, shownPieces, spellerOf, weightOf } from "../state/file";
import { spoken, visible } from "../state/labels";
import { program, run } from "../state/store";
import { T } from "../state/strings";
import { brief } from "./format";
import { InputRows } from "./inputrows";
import { choosePiece, placeIn, readable, shownSequence, wordsOf } from "./piecechoice";
import { Picture } from "./picture";
import { SpellingPanel } from "./spelling";
import { Piece, WithPieces } from "./tokens";

function Sequences() {
  if (readable.value.length < 2) return null;
  return (
    <div class="controls" role="group" aria-label={T.pieces.sequences}>
      {readable.value.map((name) => <button type="button" key={name} aria-pressed={name === shownSequence.value} onClick={() => choosePiece(name, 0)}>{name}</button>)}
    </div>
  );
}

function Words({ of, sequence, place }: { of: Run; sequence: string; place: number }) {
  const [pieces, ids] = [of.pieces[sequence] ?? [], of.ids[sequence] ?? []];
  const key = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(pieces.length - 1, place + by));
    choosePiece(sequence, next);
    (event.currentTarget as HTMLElement).querySelectorAll("button")[next]?.focus();
  };
  return (
    <div class="wordrow" onKeyDown={key}>
      {wordsOf(of.words[sequence] ?? [], pieces.length).map(({ from, to }) => (
        <span class="word" key={from}>
          {pieces.slice(from, to).map((piece, i) => (
            <button type="button" key={i} tabIndex={from + i === place ? 0 : -1} aria-pressed={from + i === place} onClick={() => choosePiece(sequence, from + i)}>
              <b><Piece text={piece} /></b><span class="sr">{T.pieces.number}</span><small>{ids[from + i]}</small>
            </button>
          ))}
        </span>
      ))}
    </div>
  );
}

function spellingAt(speller: Speller | null, of: Run, sequence: string, place: number): Spelling | null {
  const all = speller?.spellings(of.ids[sequence] ?? [], of.words[sequence] ?? []) ?? [];
  return all.find((one) => place >= one.from && place < one.from + one.pieces.length) ?? null;
}

function Near({ sequence, id, piece }: { sequence: string; id: number; piece: string }) {
  const embed = program.value?.steps.find((step) => step.op === "embed" && step.inputs[0] === sequence);
  const table = embed ? weightOf(embed.weights[0] ?? "") : null;
  const found = useMemo(() => (table ? nearest(table, id, 8) : []), [table, id]);
  const shown = shownPieces(sequence);
  if (!embed) return null;
  if (!table) return <p class="note">{T.pieces.near.none}</p>;
  return (
    <section class="panel">
      <h3><WithPieces text={T.pieces.near.title(piece)} /></h3>
      <p class="note">{T.pieces.near.lead(table.shape[0]! - 1)}</p>
      <table class="near">
        <tbody>
          {found.map(({ row, cosine }) => (
            <tr key={row}><th scope="row"><Piece text={shown[row] ?? `#${row}`} /></th><td class="bar"><i style={{ width: `${Math.max(0, cosine) * 100}%` }} /></td><td class="num">{brief(cosine)}</td></tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Text({ of, sequence }: { of: Run; sequence: string }) {
  const pieces = of.pieces[sequence] ?? [];
  const place = placeIn(of, sequence, pieces.length);
  const [id, piece] = [of.ids[sequence]?.[place] ?? 0, visible(pieces[place] ?? "")];
  const speller = spellerOf(sequence);
  const spelling = useMemo(() => spellingAt(speller, of, sequence, place), [speller, of, sequence, place]);
  const shown = shownPieces(sequence);
  const normal = sequence === readable.value[0] ? normalText(sequence, of.text) : null;
  const words = wordsOf(of.words[sequence] ?? [], pieces.length).filter(({ from, to }) => (of.words[sequence]?.[from] ?? -1) >= 0 && /[\p{L}\p{N}]/u.test(pieces.slice(from, to).join(""))).length;
  const word = spelling ? spelling.pieces.map((_, at) => spoken(pieces[spelling.from + at] ?? "").replace(/^##(?=.)/, "")).join("") : piece;
  return (
    <>
      <p class="lead">{T.pieces.lead(words, pieces.length, shown.length)}</p>
      {normal !== null && <p class="normal">{T.pieces.normalised} <span><Piece text={normal} /></span></p>}
      <Words of={of} sequence={sequence} place={place} />
      <div class="pieceparts">
        {spelling && speller && <SpellingPanel key={`${sequence} ${spelling.from} ${of.text}`} spelling={spelling} speller={speller} shown={shown} word={word} />}
        <Near sequence={sequence} id={id} piece={piece} />
      </div>
      <InputRows sequence={sequence} place={place} piece={piece} />
    </>
  );
}

export function Pieces() {
  const [of, sequence] = [run.value, shownSequence.value];
  if (!of || !program.value) return null;
  const kind = program.value.sequences[sequence];
  const text = of.pieces[sequence]?.length && sequence !== readable.value[0] ? of.answer : of.text;
  return (
    <>
      <h2>{kind === "image" ? T.pieces.image : T.pieces.title(text)}</h2>
      <Sequences />
      {kind === "image" ? <Picture of={of} sequence={sequence} /> : sequence ? <Text of={of} sequence={sequence} /> : <p class="lead">{T.pieces.numbers}</p>}
    </>
  );
}
