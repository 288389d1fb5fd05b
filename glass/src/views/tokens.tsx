// Pieces as readers see them: a leading space is a pale ␣, marks such as ‹end› are pale too.

import { visible } from "../state/visible";

const MARK = /^‹.*›$/;

/** One piece of a text. */
export function Piece({ text }: { text: string }) {
  const shown = visible(text);
  if (MARK.test(shown)) return <bdi class="mark">{shown}</bdi>;
  const space = /^[␣ ]+/.exec(shown)?.[0] ?? "";
  if (!space) return <bdi>{shown}</bdi>;
  const rest = shown.slice(space.length);
  return <bdi><span class="space" aria-hidden="true">{"␣".repeat(space.length)}</span>{rest}</bdi>;
}

/** A dotted name that may break at its dots and inside its words. */
export function Dotted({ name }: { name: string }) {
  return <>{name.split(/(?=[._])/).flatMap((part, i) => (i ? [<wbr key={i} />, part] : [part]))}</>;
}

/** A title with pieces in it: what is between “ and ” is shown as a piece. */
export function WithPieces({ text }: { text: string }) {
  const parts = text.split(/(“[^”]*”)/);
  return <>{parts.map((part) => (part.startsWith("“") ? <>“<Piece text={part.slice(1, -1)} />”</> : part))}</>;
}
