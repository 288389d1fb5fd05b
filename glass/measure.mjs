// npm run measure -- page.html ...: see test/measure.ts; npm run answers -- page.html expected.json: see test/answers.ts

import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";
import { wat } from "./wat.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const [name, ...rest] = process.argv.slice(2);
const outfile = join(HERE, "build", `${name}.mjs`);
const entryPoints = [join(HERE, "test", `${name}.ts`)];
await esbuild.build({ entryPoints, outfile, bundle: true, platform: "node", format: "esm", target: "node20", sourcemap: "inline", plugins: [wat] });
const { status } = spawnSync(process.execPath, ["--enable-source-maps", outfile, ...rest], { stdio: "inherit" });
process.exit(status ?? 1);
