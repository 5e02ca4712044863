/**
 * Measures the page in a browser against its budgets: `make bench-web`. Nothing is asserted, as it
 * depends on the machine and on what else it does.
 */

import { execFileSync } from "node:child_process";
import { chromium } from "playwright-core";
import { serve } from "./test/serve.mjs";

const FOLDER = new URL("../python/narrows/page", import.meta.url).pathname;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];
/** Seconds of real time at full speed after which memory is looked at. */
const LONG = Number(process.argv[2] ?? 60);

/** Resident memory of the largest process that renders, in kB. */
function renderer() {
  const all = execFileSync("ps", ["-eo", "rss=,args="], { encoding: "utf8" }).split("\n");
  return Math.max(...all.filter((line) => line.includes("--type=renderer")).map((line) => Number.parseInt(line)));
}

const { address, close } = await serve(FOLDER);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
const empty = renderer();
await page.goto(address);
const packets = () => page.evaluate(() => Number(document.documentElement.dataset.packets ?? 0));
await page.waitForFunction(() => Number(document.documentElement.dataset.packets) > 0);
const first = await page.evaluate(() => performance.now());
const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN);
const told = (what, value, unit, budget) => console.log(`${what.padEnd(34)} ${value} ${unit}; the budget is ${budget}`);
told("first paint", paint.toFixed(0), "ms", "1000");
told("first data", first.toFixed(0), "ms", "1500");

// Until the optimising compiler has seen it.
await page.click('[data-speed="Infinity"]');
await page.waitForTimeout(5000);
const before = await packets();
await page.waitForTimeout(5000);
told("packets a second, 50 flows, 1 Gbps", (((await packets()) - before) / 5e6).toFixed(2), "M", "at least 1");

/** The mean time that a frame's callback takes, in milliseconds. */
const frames = await page.evaluate(
  () =>
    new Promise((resolve) => {
      const took = [];
      const plain = window.requestAnimationFrame;
      window.requestAnimationFrame = (callback) =>
        plain((at) => {
          const begun = performance.now();
          callback(at);
          took.push(performance.now() - begun);
        });
      setTimeout(() => resolve({ mean: took.reduce((a, b) => a + b, 0) / took.length, count: took.length }), 4000);
    }),
);
told("main thread, a frame", frames.mean.toFixed(2), `ms, ${frames.count / 4} frames a second`, "8");

await page.click('[data-speed="1"]');
await page.waitForTimeout(1000);
const answered = await page.evaluate(
  () =>
    new Promise((resolve) => {
      const begun = performance.now();
      const buffer = document.querySelector("#buffer");
      buffer.value = String(Number(buffer.value) + 200);
      buffer.dispatchEvent(new Event("input"));
      const field = document.querySelector('[data-live="buffer"]');
      const was = field.value;
      const look = () => (field.value === was ? setTimeout(look, 1) : resolve(performance.now() - begun));
      look();
    }),
);
told("a slider is answered after", answered.toFixed(0), "ms", "50");

await page.click('[data-speed="Infinity"]');
await page.waitForTimeout(LONG * 1000);
const now = await page.locator("#now").innerText();
told(`memory after ${LONG} s at full speed`, ((renderer() - empty) / 1e3).toFixed(0), `MB more than an empty page, at ${now}`, "150");
await browser.close();
close();
