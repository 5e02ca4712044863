/**
 * Visits every page of the site in a browser, wide and narrow: nothing overflows, no picture and no
 * place or page that a link names is missing, and there is no word on the console.
 */

import { existsSync, readdirSync } from "node:fs";
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
/** Places of each page, and the links that lead to others. */
const places = new Map();
const links = [];
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
      places: [...document.querySelectorAll("[id]")].map((element) => element.id),
      links: [...document.links].filter((link) => link.origin === location.origin).map((link) => [link.pathname, link.hash]),
    }));
    if (found.over > 0) wrong.push(`${at} at ${width}: ${found.over} pixels too wide`);
    for (const name of found.missing) wrong.push(`${at}: no picture ${name}`);
    places.set(at, new Set(found.places));
    links.push(...found.links.map(([path, hash]) => [at, decodeURIComponent(path.slice(1)) || "index.html", decodeURIComponent(hash.slice(1))]));
  }
  await page.close();
}
await browser.close();
close();
for (const [from, to, place] of links) {
  if (!existsSync(join(FOLDER, to))) wrong.push(`${from}: no page ${to}`);
  // What is behind # in the playground's address is a scene.
  else if (place !== "" && places.has(to) && !places.get(to).has(place)) wrong.push(`${from}: no place ${to}#${place}`);
}
console.log(`${pages.length} pages visited twice`);
if (wrong.length > 0) {
  console.error([...new Set(wrong)].join("\n"));
  process.exit(1);
}
