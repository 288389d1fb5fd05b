// The texts of the what-if bar.

export const whatif = {
  title: "What if …",
  lead: "B is the same model with your changes. Every view then shows A, B, or the difference.",
  open: "Change something", shut: "Done",
  B: "B is A, except that",
  none: "Nothing is changed yet.",
  clear: "Remove all",
  python: "Copy as Python", copied: "Copied",
  remove: (what: string) => `Take back: ${what}`,
  a: "A", b: "B", same: "the same answer",
  busy: "computing B …",
  keep: "B keeps A's words",
  keepHint: "B is given A's answer piece by piece, so every number of A has its counterpart in B.",
  why: {
    text: "A and B read texts of different lengths, so their numbers cannot be subtracted piece by piece. The views show B instead.",
    answer: "B wrote an answer of another length, so its numbers cannot be subtracted. Let B keep A's words, or look at A and B one after the other.",
  },
  changes: {
    text: (text: string) => `it reads “${text}”`,
    zeroHead: (head: number, place: string) => `head ${head} of ${place} is removed (set to 0)`,
    meanHead: (head: number, place: string) => `head ${head} of ${place} brings its mean`,
    zeroNeuron: (number: number, place: string) => `neuron ${number} of ${place} is silent`,
    otherNeuron: (number: number, place: string) => `neuron ${number} of ${place} is changed`,
    hideAll: (piece: string) => `nothing reads “${piece}”`,
    hideSome: (piece: string, places: string) => `“${piece}” is not read by ${places}`,
    force: (position: number, piece: string) => `piece ${position} of the answer must be “${piece}”`,
    other: (step: string, count: number) => `${step}: ${count} ${count === 1 ? "change" : "changes"}`,
  },
  add: {
    text: "Another sentence", textGo: "Read this",
    head: "Remove a head", mean: "bring its mean", zero: "set to 0", headGo: "Remove", headNumber: (n: number) => `head ${n}`,
    neuron: "Silence a neuron", neuronGo: "Silence", of: (n: number) => `of ${n}`,
    force: "Force a piece", forceGo: "Force", position: (n: number, piece: string) => `${n}: ${piece}`, forceHint: "a piece of the list",
    unknown: "There is no such piece in the list.",
    hide: "Hide a piece", hideGo: "Hide",
  },
};
