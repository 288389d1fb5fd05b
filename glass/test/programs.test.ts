import assert from "node:assert/strict";
import { test } from "node:test";
import { OPS } from "../src/engine/ops";
import { ForwardPass, lastRow, planOf, RowByRow } from "../src/engine/run";
import { tensor } from "../src/engine/tensor";
import { fastLinear } from "../src/engine/wasm";
import { worst } from "./close";
import { engineOf, fixtures, opTexts } from "./fixtures";

const CLOSE = 2e-6; // the fixtures have 7 digits, and each step is rounded to float32

test("each operation of Python's is known here", () => {
  for (const name of Object.keys(opTexts())) assert.ok(OPS[name], name);
});

for (const one of fixtures()) {
  test(`${one.name}: each step is Python's`, () => {
    for (const linear of [undefined, fastLinear().linear]) {
      const pass = new ForwardPass(engineOf(one, linear), one.inputs).all();
      for (const step of one.program.steps) {
        const error = worst(pass.values(step.name), one.values[step.name]!);
        assert.ok(error < CLOSE, `${step.name} (${step.op}): ${error}`);
      }
    }
  });

  test(`${one.name}: patches change what they change in Python`, () => {
    const plain = new ForwardPass(engineOf(one), one.inputs).all();
    for (const { patches, values } of one.patched) {
      const [alone, shared] = [new ForwardPass(engineOf(one), one.inputs, patches), plain.with(patches)];
      for (const [name, right] of Object.entries(values)) {
        for (const pass of [alone, shared]) {
          const error = worst(pass.values(name), right);
          assert.ok(error < CLOSE, `${JSON.stringify(patches)} ${name}: ${error}`);
        }
      }
    }
  });

  for (const sequence of one.program.causal) {
    test(`${one.name}: row by row along ${sequence} gives the same as all rows at once`, () => {
      const output = Object.values(one.program.outputs)[0]!;
      const plan = planOf(one.program, sequence, output);
      if (!plan) return;
      const ids = [...one.inputs[sequence]!.data];
      const whole = new ForwardPass(engineOf(one), one.inputs);
      const byRow = new RowByRow(engineOf(one), plan, whole);
      const beginnings = [byRow.extend(null, ids.slice(0, 2))];
      for (const id of ids.slice(2)) beginnings.push(byRow.extend(beginnings[beginnings.length - 1]!, [id]));
      beginnings.forEach((rows, i) => {
        const inputs = { ...one.inputs, [sequence]: ids.slice(0, i + 2) };
        const right = lastRow(new ForwardPass(engineOf(one), inputs).values(output));
        assert.ok(worst(tensor(lastRow(rows.newest)), tensor(right)) < 1e-6);
      });
    });
  }
}
