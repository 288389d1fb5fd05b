// The data of the file: base64 of gzip, in chunks, unpacked when they are first needed.

import type { ArrayRef, TextRef } from "./header";
import { sizeOf, type Tensor } from "./tensor";

const BYTES = { f32: 4, f16: 2, i32: 4 };

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, text.trim());
  const letters = atob(text.trim());
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

export async function unzipped(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const HALVES: { table?: Float32Array } = {};

/** All 65,536 numbers of 16 bits, as float32. */
function halves(): Float32Array {
  if (HALVES.table) return HALVES.table;
  const table = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    if (exponent === 31) table[bits] = fraction ? NaN : sign * Infinity;
    else table[bits] = sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
  }
  return (HALVES.table = table);
}

/** The unpacked chunks. An array may continue at the beginning of the following chunks. */
export class Chunks {
  private readonly unpacked: (Uint8Array | undefined)[];
  private readonly under: (Promise<void> | undefined)[];

  /** `text` gives the base64 text of a chunk. */
  constructor(
    readonly count: number,
    private readonly text: (chunk: number) => string,
  ) {
    this.unpacked = new Array<undefined>(count).fill(undefined);
    this.under = new Array<undefined>(count).fill(undefined);
  }

  /** Chunks that are unpacked already, as another thread gives them. */
  static of(unpacked: Uint8Array[]): Chunks {
    const chunks = new Chunks(unpacked.length, () => "");
    unpacked.forEach((bytes, i) => (chunks.unpacked[i] = bytes));
    return chunks;
  }

  /** Unpacks one chunk, once. */
  load(chunk: number): Promise<void> {
    return (this.under[chunk] ??= this.unpack(chunk));
  }

  private async unpack(chunk: number): Promise<void> {
    if (this.unpacked[chunk]) return;
    if (chunk < 0 || chunk >= this.count) throw new Error(`The file has no chunk ${chunk}: it is damaged.`);
    this.unpacked[chunk] = await unzipped(fromBase64(this.text(chunk)));
  }

  async loadAll(): Promise<void> {
    await Promise.all(Array.from({ length: this.count }, (_, chunk) => this.load(chunk)));
  }

  /** All chunks, which must have been loaded. */
  all(): Uint8Array[] {
    return this.unpacked.map((bytes, chunk) => bytes ?? missing(chunk));
  }

  /** Bytes from a place on, in memory of their own if they are not aligned or continue in later chunks. */
  private bytes(chunk: number, offset: number, length: number): Uint8Array {
    const first = this.unpacked[chunk] ?? missing(chunk);
    if (offset + length <= first.length) return first.subarray(offset, offset + length);
    const whole = new Uint8Array(length);
    for (let [place, at] = [0, offset]; place < length; at = 0, chunk++) {
      const part = (this.unpacked[chunk] ?? missing(chunk)).subarray(at, at + length - place);
      if (!part.length) missing(chunk);
      whole.set(part, place);
      place += part.length;
    }
    return whole;
  }

  array({ chunk, offset, shape, dtype }: ArrayRef): Tensor {
    const size = sizeOf(shape);
    let bytes = this.bytes(chunk, offset, size * BYTES[dtype]);
    if (bytes.byteOffset % BYTES[dtype]) bytes = bytes.slice();
    if (dtype === "f32") return { data: new Float32Array(bytes.buffer, bytes.byteOffset, size), shape };
    if (dtype === "i32") return { data: Float32Array.from(new Int32Array(bytes.buffer, bytes.byteOffset, size)), shape };
    const [table, data] = [halves(), new Float32Array(size)];
    new Uint16Array(bytes.buffer, bytes.byteOffset, size).forEach((bits, i) => (data[i] = table[bits]!));
    return { data, shape };
  }

  string({ chunk, offset, length }: TextRef): string {
    return new TextDecoder().decode(this.bytes(chunk, offset, length));
  }
}

function missing(chunk: number): never {
  throw new Error(`Chunk ${chunk} of the file is not there: the file is damaged.`);
}

/** The data chunks of a page. */
export function chunksOf(page: Document): Chunks {
  const elements = new Map<number, Element>();
  for (const element of page.querySelectorAll("script[data-chunk]")) {
    elements.set(Number(element.getAttribute("data-chunk")), element);
  }
  return new Chunks(elements.size, (chunk) => elements.get(chunk)?.textContent ?? "");
}
