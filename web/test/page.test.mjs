/** The page in a real browser. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test as anywhere } from "node:test";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { serve } from "./serve.mjs";

const FOLDER = new URL("../../python/narrows/page", import.meta.url).pathname;
const SHOTS = new URL("../../out/playground", import.meta.url).pathname;
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

const skip = existsSync(CHROMIUM) ? false : `there is no ${CHROMIUM}`;
const NARROWS = new URL("../../.venv/bin/narrows", import.meta.url).pathname;
const test = (name, ...rest) => anywhere(name, rest.length > 1 ? rest[0] : { skip }, rest.at(-1));

let server;
let browser;
before(async () => {
  if (skip) return;
  server = await serve(FOLDER);
  browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** A page at `hash`, which fails the test by anything on the console. */
async function open(hash = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(error.message));
  await page.goto(server.address + hash);
  await running(page);
  return { page, context, said };
}

const running = (page) => page.waitForFunction(() => Number(document.documentElement.dataset.packets) > 1000, null, { timeout: 60_000 });
const numbers = (page) => page.locator("#totals dd").allInnerTexts();
const utilisation = async (page) => Number.parseFloat((await numbers(page))[0]);
const seconds = async (page) => Number.parseFloat(await page.locator("#now").innerText());

/** Waits until `of(page)` is as `wanted` says. */
async function until(page, of, wanted, what) {
  let last;
  for (let tries = 0; tries < 300; tries++) {
    last = await of(page);
    if (wanted(last)) return last;
    await page.waitForTimeout(200);
  }
  assert.fail(`${what}: still ${last}`);
}

async function toml(page) {
  await page.click("#toml");
  const text = await page.locator("#text").inputValue();
  await page.keyboard.press("Escape");
  return text;
}

test("it shows at four sizes, light and dark, without a word on the console", async () => {
  for (const [width, height] of [[1920, 1080], [1280, 900], [768, 1024], [390, 844]]) {
    for (const colorScheme of ["light", "dark"]) {
      const { page, context, said } = await open("", { viewport: { width, height }, colorScheme });
      await page.waitForTimeout(1200);
      const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.equal(wide[0], wide[1], `${width} × ${height}`);
      await page.screenshot({ path: join(SHOTS, `${width}-${colorScheme}.png`), fullPage: true });
      assert.deepEqual(said, []);
      await context.close();
    }
  }
});

test("keys move the buffer while it runs, and the link fills", async () => {
  const { page, context, said } = await open();
  await page.click('[data-speed="10"]');
  await until(page, seconds, (now) => now > 20, "time");
  const before = await utilisation(page);
  const address = page.url();
  await page.focus("#buffer");
  for (let times = 0; times < 8; times++) await page.keyboard.press("PageUp");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await page.locator("#buffer-text").innerText(), "5119 packets");
  await until(page, utilisation, (now) => now >= Math.min(97, before + 20), "utilisation");
  assert.notEqual(page.url(), address);
  const session = await toml(page);
  assert.match(session, /buffer = "5119p"/);
  assert.match(session, /\[\[dumbbell.changes\]\]/);
  assert.deepEqual(said, []);
  // Its address makes the same scene elsewhere.
  const { page: other, context: another } = await open(new URL(page.url()).hash);
  assert.equal(await toml(other), session);
  await Promise.all([context.close(), another.close()]);
});

test("a mouse moves it, too", async () => {
  const { page, context } = await open();
  const box = await page.locator("#buffer").boundingBox();
  await page.mouse.click(box.x + box.width * 0.7, box.y + box.height / 2);
  await until(page, (page) => page.locator("#buffer-text").innerText(), (text) => Number.parseInt(text) > 500, "buffer");
  await context.close();
});

test("the line below the charts has the values under the pointer", async () => {
  const { page, context } = await open();
  await until(page, seconds, (now) => now > 4, "time");
  await page.keyboard.press("Space");
  const time = async () => Number.parseFloat(await page.locator("#readout").innerText());
  await until(page, time, (shown) => shown > 4, "the end");
  const chart = await page.locator("#queue canvas").boundingBox();
  await page.mouse.move(chart.x + 0.3 * chart.width, chart.y + 0.5 * chart.height);
  const shown = await until(page, time, (at) => at < 4, "the pointer's");
  assert.ok(shown > 0, shown);
  await page.mouse.move(2, 2);
  await until(page, time, (at) => at > 4, "the end again");
  await context.close();
});

test("a picture says how it was made, to narrows", { skip: skip || !existsSync(NARROWS) }, async () => {
  const { page, context } = await open();
  const saved = page.waitForEvent("download");
  await page.click("#png");
  const path = await (await saved).path();
  const file = join(SHOTS, "narrows.png");
  mkdirSync(SHOTS, { recursive: true });
  copyFileSync(path, file);
  const told = execFileSync(NARROWS, ["show", file, "--scenarios"], { encoding: "utf8" });
  assert.match(told, /^narrows play/);
  assert.match(told, /\[dumbbell\]/);
  await context.close();
});

test("flows join and leave, and shares add up to what leaves the link", async () => {
  const { page, context, said } = await open("#rate=100Mbps&rtt=20ms&buffer=1bdp&flows=3*cubic&flows=2*reno~even");
  await page.click('[data-speed="10"]');
  await page.click('#flows .flow:nth-child(1) button:has-text("+10")');
  await until(page, (page) => page.locator(".group").count(), (count) => count === 3, "groups");
  await until(page, seconds, (now) => now > 12, "time");
  await page.click("#pause");
  await page.waitForTimeout(600);
  const shares = await page.locator(".group").allInnerTexts();
  const sum = shares.reduce((all, text) => all + Number.parseFloat(text.split("\n")[1]), 0);
  const used = await utilisation(page);
  assert.ok(Math.abs(sum - used) <= 1, `${sum} of shares, ${used} of utilisation`);
  const stopped = await seconds(page);
  await page.waitForTimeout(500);
  assert.equal(await seconds(page), stopped, "time stands still in a pause");
  await page.click("#step");
  assert.ok((await until(page, seconds, (now) => now > stopped, "step")) <= stopped + 0.05);
  await page.click('#flows .flow:nth-child(1) button:has-text("Leave")');
  await until(page, (page) => page.locator("#flows strong").first().innerText(), (text) => text.includes("gone"), "leave");
  const session = await toml(page);
  assert.match(session, /stop = /);
  assert.match(session, /start = /);
  assert.deepEqual(said, []);
  await context.close();
});

test("flows leave one by one, and those that left are in no number", async () => {
  const { page, context, said } = await open("#rate=20Mbps&rtt=20ms&buffer=1bdp&flows=3*cubic");
  await page.click('[data-speed="10"]');
  await until(page, seconds, (now) => now > 5, "time");
  await page.click('#flows button:has-text("−1")');
  await until(page, (page) => page.locator(".group b").innerText(), (text) => text.includes("2 of 3"), "who is there");
  const left = await seconds(page);
  await until(page, seconds, (now) => now > left + 15, "time");
  assert.match((await numbers(page))[3], /, 2 flows/);
  assert.match(await toml(page), /stops = \["\d+\.\d+s"\]/);
  await page.click("#restart");
  await until(page, (page) => page.locator(".group b").innerText(), (text) => text.includes("2 × cubic"), "who begins");
  // What a file says of later is not over, and who says how many there are means all.
  const file = 'duration = "99s"\n[dumbbell]\nrate = "20Mbps"\nrtt = "20ms"\nbuffer = "1bdp"\n[[flows]]\ncount = 5\nstops = ["98s"]\n';
  await page.click("#toml");
  await page.fill("#text", file);
  await page.click("#text-run");
  await until(page, (page) => page.locator(".group b").innerText(), (text) => text.includes(" 5 × cubic"), "who is there");
  await page.click('#flows button:has-text("−1")');
  await until(page, (page) => page.locator(".group b").innerText(), (text) => text.includes("4 of 5"), "who is there");
  await page.fill('#flows [data-place="flows[0].count"]', "7");
  await page.keyboard.press("Enter");
  await until(page, (page) => page.locator(".group b").innerText(), (text) => text.includes(" 7 × cubic"), "who begins");
  assert.deepEqual(said, []);
  await context.close();
});

test("on a phone the set-up is a sheet above the bar", async () => {
  const { page, context, said } = await open("", { viewport: { width: 390, height: 844 } });
  assert.equal(await page.locator("#set-up").isVisible(), false);
  await page.click("#sheet");
  const [sheet, bar] = [await page.locator("#set-up").boundingBox(), await page.locator(".bar").boundingBox()];
  assert.ok(Math.abs(sheet.y + sheet.height - bar.y) <= 1, `${sheet.y + sheet.height}, ${bar.y}`);
  await page.screenshot({ path: join(SHOTS, "390-sheet.png") });
  await page.fill('[data-live="rate"]', "50Mbps");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#set-up").isVisible(), false);
  await page.click("#sheet");
  assert.match(await toml(page), /rate = "50Mbps"/);
  assert.deepEqual(said, []);
  await context.close();
});

test("a line that is clicked shows what its law goes by", async () => {
  const { page, context, said } = await open("#rate=20Mbps&rtt=40ms&buffer=1bdp&flows=2*reno&flows=1*cubic");
  await page.click('[data-speed="10"]');
  await until(page, seconds, (now) => now > 8, "time");
  await page.click("#pause");
  const chart = await page.locator("#windows .u-over").boundingBox();
  const law = () => page.locator("#law").innerText();
  for (let down = 0; down < chart.height && !(await law()).startsWith("cubic"); down += 6) {
    await page.mouse.click(chart.x + 0.8 * chart.width, chart.y + down);
    await page.waitForTimeout(300);
  }
  assert.match(await law(), /told from the next row on/);
  await page.click("#step");
  await until(page, law, (text) => /^cubic, flow 1: .*w_max \d/i.test(text), "its quantities");
  assert.deepEqual(said, []);
  await context.close();
});

test("what the simulator remarks on is said", async () => {
  const { page, context } = await open("#rate=20Mbps&rtt=20ms&buffer=3000p&flows=1*cubic&tcp=linux");
  await page.click('[data-speed="10"]');
  await until(page, (page) => page.locator("#remark").innerText(), (text) => /nothing was lost|receiver/.test(text), "a remark");
  await context.close();
});

test("a shared session's numbers are of what was changed in it", async () => {
  const { page, context } = await open("#rate=20Mbps&rtt=20ms&buffer=1bdp&flows=2*cubic");
  await page.click('[data-speed="10"]');
  await until(page, seconds, (now) => now > 5, "time");
  await page.fill('[data-live="rate"]', "5Mbps");
  await page.keyboard.press("Enter");
  const changed = await until(page, seconds, (now) => now > 6, "time");
  await until(page, seconds, (now) => now > changed + 12, "time");
  assert.ok((await utilisation(page)) > 85, "after the change");
  const { page: other, context: another } = await open(new URL(page.url()).hash);
  await other.click('[data-speed="Infinity"]');
  await until(other, seconds, (now) => now > changed + 30, "time");
  assert.ok((await utilisation(other)) > 85, "in the page that it was shared with");
  await Promise.all([context.close(), another.close()]);
});

test("a file's own times are kept by a restart, and what is wrong in it by its dialog", async () => {
  const { page, context } = await open();
  const file = 'duration = "50s"\n[dumbbell]\nrate = "10Mbps"\nrtt = "20ms"\nbuffer = "9p"\n[[flows]]\nstop = "30s"\n[[flows]]\nstart = "10s"\n';
  await page.click("#toml");
  await page.fill("#text", file.replace("10Mbps", "ten"));
  await page.click("#text-run");
  await until(page, (page) => page.locator("#text-wrong").innerText(), (text) => text.includes("ten"), "what is wrong");
  await page.fill("#text", file);
  await page.click("#text-run");
  await page.waitForFunction(() => document.querySelector("#flows").childElementCount === 2);
  await page.click("#restart");
  await page.waitForTimeout(600);
  const kept = await toml(page);
  assert.match(kept, /stop = "30s"/);
  assert.match(kept, /start = "10s"/);
  await context.close();
});

test("what is wrong is said at its field, and the scene goes on", async () => {
  const { page, context } = await open();
  await page.fill('[data-live="rate"]', "fast");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#wrong:not([hidden])");
  assert.match(await page.locator("#wrong").innerText(), /"fast".*1Gbps/s);
  assert.equal(await page.locator('[data-live="rate"]').getAttribute("aria-invalid"), "true");
  const now = await seconds(page);
  await until(page, seconds, (then) => then > now, "time");
  // What was refused is not begun with, either.
  await page.click("#restart");
  await page.waitForSelector("#wrong", { state: "hidden" });
  assert.match(await toml(page), /rate = "1Gbps"/);
  await context.close();
});

test("a link that cannot be read shows why, and the first scene", async () => {
  for (const hash of ["#toml=!!!", "#rate=9&flows=x", "#toml=AAAA", "#rate=1Mbps&rtt=9ms&buffer=9p&flows=1000000*cubic"]) {
    const { page, context } = await open(hash);
    await page.waitForSelector("#wrong:not([hidden])");
    assert.ok((await page.locator("#wrong").innerText()).length > 20);
    assert.match(await page.locator("#question").innerText(), /50 flows/);
    await context.close();
  }
});

test("every scene runs", async () => {
  const { page, context, said } = await open();
  const names = await page.locator("#preset option").evaluateAll((all) => all.map((option) => option.value).filter(Boolean));
  assert.equal(names.length, readdirSync(new URL("../presets", import.meta.url)).length);
  for (const name of names) {
    await page.selectOption("#preset", name);
    await page.waitForFunction((name) => document.querySelector("#preset").value === name, name);
    await until(page, seconds, (now) => now > 0.5 && now < 5, name);
    assert.equal(await page.locator("#wrong").isVisible(), false, name);
  }
  assert.deepEqual(said, []);
  await context.close();
});

test("a second visit needs no network", async () => {
  const { page, context } = await open();
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForTimeout(1500);
  await context.setOffline(true);
  await page.reload();
  await running(page);
  await context.close();
});

test("axe finds nothing serious", async () => {
  const { page, context } = await open();
  await page.click("#pause");
  const source = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  await page.evaluate(source);
  const found = await page.evaluate(() => globalThis.axe.run());
  const serious = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(serious.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]), []);
  await context.close();
});

anywhere("it is small", () => {
  const files = [];
  const gather = (folder) => {
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      if (statSync(path).isDirectory()) gather(path);
      else files.push(path);
    }
  };
  gather(FOLDER);
  const packed = (paths) => paths.reduce((sum, path) => sum + gzipSync(readFileSync(path), { level: 9 }).length, 0);
  const [module, rest] = [files.filter((path) => path.endsWith(".wasm")), files.filter((path) => !path.endsWith(".wasm"))];
  assert.ok(packed(module) <= 749_000, `${packed(module)} bytes of WebAssembly, packed`);
  assert.ok(packed(rest) <= 48_000, `${packed(rest)} bytes of page, packed`);
});
