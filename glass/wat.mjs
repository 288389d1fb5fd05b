// An esbuild plugin: importing a .wat file gives its WebAssembly module as base64 text.

import { readFile } from "node:fs/promises";
import wabt from "wabt";

export const wat = {
  name: "wat",
  setup(build) {
    build.onLoad({ filter: /\.wat$/ }, async ({ path }) => {
      const module = (await wabt()).parseWat(path, await readFile(path, "utf8"), { simd: true });
      module.validate({ simd: true });
      const { buffer } = module.toBinary({ log: false, write_debug_names: false });
      return { contents: `export default "${Buffer.from(buffer).toString("base64")}";`, loader: "js" };
    });
  },
};
