/** The simulator as WebAssembly: the same bits as the native one. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const { Run, check, fingerprint, lists } = require("../node/narrows_wasm.js");
const NATIVE = new URL("../../target/debug/examples/fingerprints", import.meta.url).pathname;

/** Hashes of the native simulator for the files of a folder. */
function native(folder, files) {
  const paths = files.map((file) => join(folder, file));
  const told = JSON.parse(execFileSync(NATIVE, paths, { maxBuffer: 1e8 }).toString());
  return files.map((file) => told[join(folder, file)]);
}

/** A scenario with a run of a few seconds, or of some more where something happens later. */
function short(text) {
  const told = JSON.parse(check(text));
  const { trace, warmup, expect, reference, seeds, ...fields } = told.fields;
  for (const seconds of [2, 12]) {
    const shorter = JSON.stringify({ ...fields, duration: `${Math.min(told.duration, seconds)}s`, warmup: "0s" });
    try {
      check(shorter);
      return shorter;
    } catch {
      // Something happens later.
    }
  }
  throw new Error("it cannot be shortened");
}

function together(texts, compare) {
  const folder = mkdtempSync(join(tmpdir(), "narrows-"));
  try {
    const files = texts.map((text, number) => {
      writeFileSync(join(folder, `${number}.toml`), text);
      return `${number}.toml`;
    });
    compare(native(folder, files));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("examples, scenes, every law and every queue run as they do natively", () => {
  const texts = [];
  const left = [];
  for (const folder of ["../../examples/", "../presets/"]) {
    const place = new URL(folder, import.meta.url);
    for (const file of readdirSync(place).filter((name) => name.endsWith(".toml"))) {
      const text = readFileSync(new URL(file, place), "utf8");
      try {
        texts.push(short(text));
      } catch {
        left.push(file);
      }
    }
  }
  // They need a file beside them, or what they are about comes after 12 s.
  assert.deepEqual(left, [
    "cellular.toml",
    "changes.toml",
    "highspeed.toml",
    "ledbat.toml",
    "outages.toml",
    "satellites.toml",
    "video.toml",
  ]);
  const { laws, queues } = JSON.parse(lists());
  const dumbbell = { rate: "10Mbps", rtt: "40ms", buffer: "30p" };
  const three = (law, queue) => ({ duration: "3s", dumbbell: { ...dumbbell, queue }, flows: [{ cc: law, count: 3 }] });
  const every = [...laws.map(({ name }) => three(name, "drop-tail")), ...queues.map(({ name }) => three("cubic", name))];
  texts.push(...every.map((scenario) => JSON.stringify(scenario)));
  together(texts, (hashes) => {
    texts.forEach((text, number) => assert.equal(fingerprint(text), hashes[number], text));
  });
});

test("a session's file is the session, natively", () => {
  const scene = {
    duration: "6s",
    dumbbell: { rate: "20Mbps", rtt: "40ms", buffer: "20p" },
    flows: [{ cc: "cubic", count: 3 }, { cc: "bbr" }],
  };
  const run = new Run(JSON.stringify(scene), 0.02);
  const hashing = run.hash();
  run.advance(1.2345);
  run.change("bottleneck", '{"buffer": "90p"}');
  run.advance(0.7);
  run.join('{"cc": "reno", "count": 2, "pacing": "even"}');
  run.advance(0.9);
  run.change("bottleneck", '{"rate": "35Mbps", "loss": "1%"}');
  run.leave(0, 99);
  while (!run.is_over()) run.advance(0.1);
  together([run.toml()], ([hash]) => assert.equal(hashing.so_far(), hash));
});

test("rows do not depend on slices, and all have one length", () => {
  const scene = JSON.stringify({
    duration: "4s",
    dumbbell: { rate: "20Mbps", rtt: "40ms", buffer: "20p" },
    flows: [{ cc: "cubic", count: 3 }, { cc: "bbr", count: 2 }],
  });
  const whole = (slice) => {
    const run = new Run(scene, 0.02);
    const seen = { times: [], windows: [], groups: [], links: [] };
    while (!run.is_over()) {
      run.advance(slice);
      const rows = run.times().length;
      assert.equal(run.windows().length, rows * 5);
      assert.equal(run.groups().length, rows * 2 * 9);
      for (const name of Object.keys(seen)) seen[name].push(...run[name]());
    }
    return seen;
  };
  const [fine, middle, coarse] = [0.001, 0.016, 1].map(whole);
  assert.equal(fine.times.length, 200);
  assert.deepEqual(fine, middle);
  assert.deepEqual(fine, coarse);
});

test("what is wrong has its place", () => {
  const said = (text) => {
    try {
      check(text);
    } catch (error) {
      return JSON.parse(error);
    }
    return null;
  };
  const { place, message } = said('[dumbbell]\nrate = "fast"\nrtt = "40ms"\nbuffer = "5p"\n[[flows]]\n');
  assert.equal(place, "dumbbell.rate");
  assert.match(message, /line 2/);
  assert.equal(said('{"flows": [{"cc": "vegass"}], "dumbbell": {"rate": "1Mbps", "rtt": "1ms", "buffer": "5p"}}').place, "flows[0].cc");
});
