// What a head looks at, in a few letters and in a few words.

import type { Looks } from "../analysis/tags";
import { T } from "../state/strings";

/** "−1", "end": what a head looks at, in a few letters. */
export function shortTag({ at, distance, own }: Looks): string {
  const words = T.heads.tags;
  if (at === "end" || at === "first" || at === "all") return words[at];
  if (distance === null) return words[at];
  return distance === 0 ? (own ? words.same : words.around) : distance < 0 ? words.back(-distance) : words.ahead(distance);
}

export function longTag({ at, distance, own }: Looks): string {
  const words = T.heads.looks;
  if (at === "end" || at === "first" || at === "all") return words[at];
  if (distance === null) return words.anywhere[at];
  return words[at](distance === 0 ? (own ? words.same : words.around) : distance < 0 ? words.back(-distance) : words.ahead(distance));
}
