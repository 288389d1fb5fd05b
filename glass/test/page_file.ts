// Reads a page that Python wrote, without a browser.

import { readFileSync } from "node:fs";
import { Chunks } from "../src/engine/chunks";
import type { Header } from "../src/engine/header";
import { ModelSource, type Parts } from "../src/engine/source";

export interface PageFile {
  header: Header;
  chunks: Chunks;
}

export async function pageFile(path: string): Promise<PageFile> {
  const text = readFileSync(path, "utf8");
  const header = /<script type="application\/json" id="glass">([\s\S]*?)<\/script>/.exec(text)?.[1];
  if (!header) throw new Error(`${path} is not such a page.`);
  const parts = [...text.matchAll(/<script type="text\/plain" data-chunk="?(\d+)"?>([\s\S]*?)<\/script>/g)];
  const texts = new Map(parts.map(([, number, body]) => [Number(number), body!]));
  const chunks = new Chunks(texts.size, (chunk) => texts.get(chunk)!);
  await chunks.loadAll();
  return { header: JSON.parse(header) as Header, chunks };
}

export async function sourceOf(path: string, parts: Parts = {}): Promise<ModelSource> {
  const { header, chunks } = await pageFile(path);
  return new ModelSource(header, chunks, parts);
}
