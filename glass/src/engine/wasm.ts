// The same linear layer with a small WebAssembly kernel (linear.wat), about ten times as fast. Where the browser has no
// WebAssembly with SIMD, or refuses it, the reference computes everything.

import kernel from "./linear.wat";
import { fromBase64 } from "./chunks";
import { linear as reference, type Linear } from "./ops";
import { dim, flat, zeros, type Tensor } from "./tensor";

const PAGE = 65536;
const SMALL = 4096; // multiplications; below, copying takes longer than computing
const ROOM = 1 << 20; // numbers for the rows of x, and as many for those of y, that are computed at once

interface Exports {
  memory: WebAssembly.Memory;
  linear(x: number, w: number, y: number, T: number, N: number, K: number): void;
}

const up = (n: number, to: number): number => Math.ceil(n / to) * to;

function started(): Exports | null {
  try {
    const module = new WebAssembly.Module(fromBase64(kernel));
    return new WebAssembly.Instance(module).exports as unknown as Exports;
  } catch {
    return null;
  }
}

/** The fastest linear layer there is here. */
export function fastLinear(): { linear: Linear; name: "WebAssembly" | "JavaScript" } {
  const exports = started();
  return exports ? { linear: new Kernel(exports).linear, name: "WebAssembly" } : { linear: reference, name: "JavaScript" };
}

class Kernel {
  private readonly x = 0; // where rows of x are, in bytes
  private readonly y = 4 * ROOM;
  private end = 8 * ROOM; // the first free byte
  private floats = new Float32Array(0);
  private readonly places = new WeakMap<Float32Array, number>(); // of weights that have been copied

  constructor(private readonly exports: Exports) {
    this.reserve(this.end);
  }

  private reserve(bytes: number): void {
    const { memory } = this.exports;
    const more = Math.ceil((bytes - memory.buffer.byteLength) / PAGE);
    if (more > 0) memory.grow(more);
    if (this.floats.buffer !== memory.buffer) this.floats = new Float32Array(memory.buffer);
  }

  /** Where a weight is, after copying it once: rows padded to a multiple of 4 numbers, and 4 rows of zeros below. */
  private place(weight: Tensor): number {
    const known = this.places.get(weight.data);
    if (known !== undefined) return known;
    const [rows, inner] = flat(weight);
    const width = up(inner, 4);
    const at = this.end;
    this.reserve(at + 4 * (rows + 4) * width);
    this.end = at + 4 * (rows + 4) * width;
    copyRows(weight.data, 0, inner, this.floats, at / 4, width, rows);
    this.places.set(weight.data, at);
    return at;
  }

  readonly linear: Linear = (x, weight, bias, begin, end) => {
    const [count, inner] = flat(x);
    const [outputs, width] = [end - begin, up(inner, 4)];
    const wide = up(outputs, 4);
    const block = Math.floor(ROOM / Math.max(width, wide) / 2) * 2; // rows at once
    if (count * outputs * inner < SMALL || block < 2 || dim(weight, -1) !== inner) {
      return reference(x, weight, bias, begin, end);
    }
    let from: number;
    try {
      from = this.place(weight) + 4 * begin * width;
    } catch {
      return reference(x, weight, bias, begin, end); // no memory left
    }
    const y = zeros([...x.shape.slice(0, -1), outputs]);
    for (let row = 0; row < count; row += block) {
      const rows = Math.min(block, count - row);
      copyRows(x.data, row * inner, inner, this.floats, this.x / 4, width, rows);
      if (rows % 2) this.floats.fill(0, this.x / 4 + rows * width, this.x / 4 + (rows + 1) * width);
      this.exports.linear(this.x, from, this.y, up(rows, 2), wide, width);
      for (let t = 0; t < rows; t++) {
        const [to, at] = [(row + t) * outputs, this.y / 4 + t * wide];
        y.data.set(this.floats.subarray(at, at + outputs), to);
        if (bias) for (let n = 0; n < outputs; n++) y.data[to + n]! += bias.data[begin + n]!;
      }
    }
    return y;
  };
}

/** Rows of `inner` numbers -> rows of `width`, with zeros after them. */
function copyRows(
  from: Float32Array,
  start: number,
  inner: number,
  to: Float32Array,
  place: number,
  width: number,
  rows: number,
): void {
  if (inner === width) {
    to.set(from.subarray(start, start + rows * inner), place);
    return;
  }
  to.fill(0, place, place + rows * width);
  for (let t = 0; t < rows; t++) to.set(from.subarray(start + t * inner, start + (t + 1) * inner), place + t * width);
}
