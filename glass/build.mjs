// npm run build: bundles src/ into src/glassformer/explain/glass: page.js and page.css for `glassformer explain --html`, lesson.js
// and lesson.css for `glassformer lesson --html`. They are committed. The head of each script has the sha256 of the sources (a test in Python compares it) and the licences of what it carries.

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";
import { wat } from "./wat.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = join(HERE, "..", "src", "glassformer", "explain", "glass");

async function files(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** sha256 of the lines "<sha256 of the file>  <path>\n" of all sources, sorted by path. */
async function digestOfSources() {
  const paths = ["build.mjs", "wat.mjs", "package-lock.json"].map((name) => join(HERE, name));
  paths.push(...(await files(join(HERE, "src"))));
  const named = paths.map((path) => [relative(HERE, path).split(sep).join("/"), path]);
  named.sort(([a], [b]) => (a < b ? -1 : 1));
  const all = createHash("sha256");
  for (const [name, path] of named) {
    all.update(`${createHash("sha256").update(await readFile(path)).digest("hex")}  ${name}\n`);
  }
  return all.digest("hex");
}

/** The packages that the bundle carries, with their copyright lines. */
async function licences(metafile) {
  const inputs = Object.keys(metafile.inputs);
  const matches = inputs.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  const lines = [];
  for (const name of [...new Set(matches.filter(Boolean))].sort()) {
    const folder = join(HERE, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const text = await readFile(join(folder, "LICENSE"), "utf8").catch(() => "");
    const copyright = /^ *(Copyright \(c\).*|Copyright \d{4}.*)$/im.exec(text)?.[1] ?? "";
    lines.push(`${name} ${version}, ${license}. ${copyright}`.trim());
  }
  return lines;
}

const MIT = `MIT: Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to
use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions: The above copyright notice and this permission notice shall
be included in all copies or substantial portions of the Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND,
EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS
IN THE SOFTWARE.
Apache-2.0: the file LICENSE of Glassformer has its text.`;

const SHARED = { bundle: true, minify: true, legalComments: "none", target: "es2022", charset: "utf8", write: false };

const PAGES = [
  { name: "page", command: "explain", entry: "src/main.tsx", styles: /^src\/style\// },
  { name: "lesson", command: "lesson", entry: "src/lessons/main.tsx", styles: /^src\/(style\/(base|tokens|frame|matrix)|lessons\/style\/.*)\.css$/ },
];

async function build({ name, command, entry, styles }) {
  const script = await esbuild.build({
    ...SHARED,
    absWorkingDir: HERE,
    entryPoints: [entry],
    format: "iife",
    jsx: "automatic",
    jsxImportSource: "preact",
    metafile: true,
    plugins: [wat],
  });
  const all = (await files(join(HERE, "src"))).map((path) => relative(HERE, path).split(sep).join("/"));
  const sheets = all.filter((path) => path.endsWith(".css") && styles.test(path)).sort((a, b) => order(a) - order(b) || (a < b ? -1 : 1));
  const imports = sheets.map((path) => `@import ${JSON.stringify(`./${path}`)};`);
  const style = await esbuild.build({ ...SHARED, stdin: { contents: imports.join("\n"), loader: "css", resolveDir: HERE } });
  const head = [
    `/*! The page of \`glassformer ${command} --html\`. Made from glass/ by \`npm run build\`; do not edit.`,
    `sources sha256: ${await digestOfSources()}`,
    "Glassformer, Apache-2.0. It carries:",
    ...(await licences(script.metafile)),
    MIT,
    "*/\n",
  ];
  await mkdir(OUT, { recursive: true });
  const code = script.outputFiles[0].text;
  await writeFile(join(OUT, `${name}.js`), head.join("\n") + code);
  await writeFile(join(OUT, `${name}.css`), style.outputFiles[0].text);
  console.log(`${name}.js ${code.length} bytes, ${name}.css ${style.outputFiles[0].text.length} bytes`);
}

/** What all pages share comes first. */
const order = (path) => (path.startsWith("src/style/") ? 0 : 1);

for (const page of PAGES) await build(page);
