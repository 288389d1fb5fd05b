// The texts of the view of the proof.

const COUNTS = new Intl.NumberFormat("en");

export const proof = {
  title: "Can you believe these numbers?",
  lead: (numbers: number, steps: number, only: number) =>
    `This page computed ${COUNTS.format(steps)} steps again, and compared ${COUNTS.format(numbers)} numbers with those that Python recorded.` +
    (only ? ` ${COUNTS.format(only)} more ${only === 1 ? "step is" : "steps are"} only recorded: ${only === 1 ? "its numbers are" : "their numbers are"} Python's own, shown with ○ and not checked here.` : ""),
  ofRecorded: (which: "A" | "B", text: string) =>
    `These counts and errors belong to the recorded text “${text}”, not to ${which === "B" ? "B" : "the text that is shown"}: Python has no record of ${which === "B" ? "B" : "it"}, so only the rules below are checked for it.`,
  pending: "Checking…",
  failed: "The page and Python disagree. Do not trust what this page shows.",
  rules: "Rules that every pass must keep",
  rulesOwn: "checked now, on your input",
  hidden: "hidden pieces get nothing",
  hiddenOk: (count: number) => (count ? `${COUNTS.format(count)} hidden places have the share 0.` : "Nothing is hidden in this pass."),
  hiddenBad: (step: string) => `A hidden place of ${step} has a share.`,
  errors: "The error of each step", errorsOf: (text: string) => `on the recorded text “${text}”: `,
  errorsNote: "largest difference from Python's value, relative to the step's largest magnitude; the dashed line is the limit",
  errorsAxis: "steps in the order of the forward pass →",
  errorSay: (step: string, error: string, compared: number) => `${step}: ${error}, ${COUNTS.format(compared)} numbers compared`,
  exact: "no difference",
  worst: (step: string, error: string) => `Largest: ${error}, at ${step}.`,

  leak: "Change a future word: does anything before it move?",
  leakLead: "Pick a piece of the output and replace it. Each cell is one layer at one position, before and after. Nothing left of the change may move, not even by rounding.",
  leakPiece: "The piece to replace",
  leakWith: (piece: string) => `by “${piece}”`,
  leakRun: "Replace it",
  leakOk: (count: number) => `✓ ${COUNTS.format(count)} numbers before it: all exactly as they were.`,
  leakBad: (count: number) => `✗ ${COUNTS.format(count)} numbers before it have changed: the future leaks into the past.`,
  leakNone: "In this model every position reads all others, so the future is not hidden from anything.",
  leakRecorded: "This page has no weights, so it cannot run the model on another output.",
  leakSay: (layer: string, piece: string, change: string) => `${layer}, at “${piece}”: ${change}`,
  leakSame: "exactly as it was",
  leakMoved: (share: string) => `changes by ${share} of the layer's largest value`,
  leakRows: "layers", leakColumns: "positions",

  steps: "All steps",
  search: "Search steps",
  searchExample: "pattern, norm, decoder.1 …",
  found: (count: number, all: number) => `${COUNTS.format(count)} of ${COUNTS.format(all)} steps`,
  more: "Show more",
  step: "step", op: "operation", shape: "shape", error: "error", errorOf: "(recorded text)", code: "code", save: "save",
  tapped: "Python's model reports this value",
  recorded: "○ recorded, not recomputed",
  values: (step: string) => `The numbers of ${step}`,
  headOf: "Head",

  provenance: "Where this page comes from",
  leftOut: "Left out to keep the page small",
  names: { glassformer: "Glassformer" } as Record<string, string>,
};
