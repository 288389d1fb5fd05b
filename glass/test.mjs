// npm test: bundles each test/*.test.ts for Node and runs them. Names as arguments choose some: npm test -- ops search

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";
import { wat } from "./wat.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = join(HERE, "build");
const chosen = process.argv.slice(2);
const names = readdirSync(join(HERE, "test"))
  .filter((name) => name.endsWith(".test.ts") || name.endsWith(".test.tsx"))
  .filter((name) => !chosen.length || chosen.some((part) => name.startsWith(part)));

rmSync(OUT, { recursive: true, force: true });
await esbuild.build({
  absWorkingDir: HERE,
  entryPoints: names.map((name) => join("test", name)),
  outdir: OUT,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: "inline",
  jsx: "automatic",
  jsxImportSource: "preact",
  plugins: [wat],
});
const built = names.map((name) => join(OUT, name.replace(/\.tsx?$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...built], { stdio: "inherit", cwd: HERE });
process.exit(status ?? 1);
