/**
 * Visits every page of the site in a browser, wide and narrow: nothing overflows, no picture and no
 * place on a page is missing, and there is no word on the console.
 */

import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { chromium } from "playwright-core";
import { serve } from "./test/serve.mjs";

const FOLDER = new URL("../out/site", import.meta.url).pathname;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];

const pages = readdirSync(FOLDER, { recursive: true })
  .map((name) => relative(FOLDER, join(FOLDER, name)))
  .filter((name) => name.endsWith(".html") && !/^(_|playground|search|genindex|py-modindex)/.test(name));
const { address, close } = await serve(FOLDER);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
const wrong = [];
for (const width of [1280, 390]) {
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  let at = "";
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) wrong.push(`${at} at ${width}: ${message.text()}`);
  });
  for (at of pages) {
    await page.goto(address + at, { waitUntil: "load" });
    const found = await page.evaluate(() => ({
      over: document.documentElement.scrollWidth - innerWidth,
      missing: [...document.images].filter((image) => image.complete && image.naturalWidth === 0).map((image) => image.src),
      dead: [...document.querySelectorAll("a[href^='#']")]
        .map((link) => decodeURIComponent(link.getAttribute("href").slice(1)))
        .filter((name) => name !== "" && document.getElementById(name) === null),
    }));
    if (found.over > 0) wrong.push(`${at} at ${width}: ${found.over} pixels too wide`);
    for (const name of found.missing) wrong.push(`${at}: no picture ${name}`);
    for (const name of found.dead) wrong.push(`${at}: no place #${name}`);
  }
  await page.close();
}
await browser.close();
close();
console.log(`${pages.length} pages visited twice`);
if (wrong.length > 0) {
  console.error([...new Set(wrong)].join("\n"));
  process.exit(1);
}
