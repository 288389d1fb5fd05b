// Long calculations in pieces: between them the page draws and listens.

export class Cancelled extends Error {}

export type Breathe = () => Promise<void>;

/** Call it between pieces of work. It waits for the page only when the work took longer than `slice` milliseconds. */
export function breather(signal?: AbortSignal, slice = 12): Breathe {
  let begun = performance.now();
  return async () => {
    if (signal?.aborted) throw new Cancelled("cancelled");
    if (performance.now() - begun < slice) return;
    await new Promise<void>((resolve) => { setTimeout(resolve, 0); });
    begun = performance.now();
    if (signal?.aborted) throw new Cancelled("cancelled");
  };
}
