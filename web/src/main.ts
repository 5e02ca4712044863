/** The page: a scenario that runs, its controls, and its pictures. */

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Board } from "./board";
import { type Kept, Queue, Shares, Windows } from "./charts";
import { Controls, find } from "./controls";
import { Engine } from "./engine";
import { fromHash, toHash } from "./link";
import { Memory } from "./memory";
import type { Fields, Told, Wrong } from "./protocol";
import { DURATION, PRESETS, bottleneck, flows, latest, question, rowOf, settled, withField, withGroup, withLink } from "./setup";
import { Dialog, picture, python } from "./share";

let told: Told | null = null;
let memory = new Memory(0.02);
let kept: Kept | null = null;
let now = 0;
let speed = 1;
/** What the charts' bottleneck is at the moment. */
let rate = 0;
let limit = NaN;
let title = "";
let engineName = "";
/** What has gone wrong at the start, where a first scene stands in for what was asked. */
let startedWrong = false;

const board = new Board();
const charts = [new Windows(find("#windows")), new Queue(find("#queue")), new Shares(find("#shares"))] as const;
const dialog = new Dialog();

const controls = new Controls({
  preset: (toml) => begin(toml, question(toml)),
  live: (name, value) => live(name, value),
  link: (name, value) => again(withLink(settled(told!.fields), name, value)),
  head: (name, value) => again(withField(settled(told!.fields), name, value)),
  group: (group, name, value) => again(withGroup(settled(told!.fields), group, name, value)),
  join: (group) => engine.tell({ do: "join", group }),
  leave: (group) => engine.tell({ do: "leave", group }),
  add: () => {
    const fields = settled(told!.fields);
    again({ ...fields, flows: [...flows(fields), { cc: "bbr" }] });
  },
});

const engine = new Engine({
  ready({ engine: name, version, lists }) {
    engineName = `narrows ${version}, engine ${name}`;
    find("#engine").textContent = engineName;
    controls.lists(lists);
    void open();
  },
  begun(message) {
    told = message.told;
    memory = new Memory(message.row);
    [rate, limit, now] = [bottleneck(told).rate, bottleneck(told).buffer?.packets ?? NaN, 0];
    board.forget();
    controls.show(told, title);
    if (!Number.isNaN(limit)) controls.buffer(limit);
    if (!startedWrong) controls.wrong(null);
    startedWrong = false;
    find("#question").textContent = title || "Your own scene";
    document.title = `narrows: ${title || "play with a bottleneck"}`;
    Object.assign(document.documentElement.dataset, { begun: String(Date.now()) });
    address();
  },
  rows(message) {
    for (const rows of message.rows) memory.add(rows, told!, rate, limit);
    now = message.now;
    document.documentElement.dataset["packets"] = String(message.packets);
    document.documentElement.dataset["busy"] = String(message.busy);
    if (message.over) pause();
  },
  changed(message) {
    told = message.told;
    controls.wrong(null);
    controls.show(told, title);
    void current();
    address();
  },
  wrong({ wrong, what }) {
    controls.wrong(wrong);
    if (what === "start" && told === null) fallBack(wrong);
    if (told !== null) controls.show(told, title);
  },
});

/** The scene of the address, or the first. */
async function open() {
  try {
    const asked = await fromHash(location.hash);
    if (asked !== null) return begin(asked, "");
  } catch {
    return fallBack({ place: "", message: "The address does not hold a scene that can be read; this is the first one." });
  }
  begin(PRESETS[0]!.toml, PRESETS[0]!.question);
}

function fallBack(wrong: Wrong) {
  startedWrong = true;
  begin(PRESETS[0]!.toml, PRESETS[0]!.question);
  controls.wrong(wrong);
}

/** Begins the scenario in `text`, TOML or JSON. */
async function begin(text: string, asked: string) {
  const { told: next, wrong } = await engine.check(text);
  if (next === null) {
    controls.wrong(wrong);
    if (told === null) fallBack(wrong!);
    return;
  }
  title = asked || question(text);
  const fields = next.fields["duration"] === undefined ? { ...next.fields, duration: DURATION } : next.fields;
  start(JSON.stringify(fields), bottleneck(next).rtt);
}

function start(text: string, rtt: number) {
  engine.tell({ do: "start", text, row: rowOf(rtt), speed });
}

/** Begins anew with other fields. */
async function again(fields: Fields) {
  const text = JSON.stringify(fields);
  const { told: next, wrong } = await engine.check(text);
  if (next === null) return controls.wrong(wrong);
  const known = PRESETS.find(({ question }) => question === title);
  if (known) title = "";
  start(text, bottleneck(next).rtt);
}

/** Changes the bottleneck while it runs. */
function live(name: string, value: string) {
  if (told === null) return;
  if (value === "") return controls.show(told, title);
  engine.change(bottleneck(told).name, { [name]: value });
}

/** Reads what the bottleneck has been changed to, in numbers. */
async function current() {
  const at = latest(told!.fields);
  const { changes: _, at: __, ...link } = at;
  const { told: as } = await engine.check(JSON.stringify({ ...told!.fields, dumbbell: link }));
  if (as === null) return;
  // Units of time and of bdp are of the rate given at first.
  const first = bottleneck(told!);
  const then = bottleneck(as);
  rate = then.rate;
  const isOfPath = String(at["buffer"] ?? "").includes("bdp");
  limit = isOfPath ? (then.buffer?.bdp ?? NaN) * first.bdp : (then.buffer?.packets ?? NaN);
  if (!Number.isNaN(limit) && document.activeElement?.id !== "buffer") controls.buffer(limit);
}

let addressing: ReturnType<typeof setTimeout> | undefined;

/** Writes the scene into the address, once things have come to rest: browsers mind more. */
function address() {
  clearTimeout(addressing);
  addressing = setTimeout(() => {
    if (told === null) return;
    void toHash(withoutUsual(told.fields), told.toml).then((hash) => history.replaceState(null, "", hash));
  }, 300);
}

function withoutUsual(fields: Fields): Fields {
  return fields["duration"] === DURATION ? withField(fields, "duration", "") : fields;
}

function setSpeed(next: number) {
  speed = next;
  engine.tell({ do: "speed", speed });
  find("#pause").textContent = speed === 0 ? "Go on" : "Pause";
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-speed]")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset["speed"]) === speed));
  }
}

let before = 1;
function pause() {
  if (speed === 0) return;
  before = speed;
  setSpeed(0);
}

for (const button of document.querySelectorAll<HTMLButtonElement>("[data-speed]")) {
  button.addEventListener("click", () => setSpeed(Number(button.dataset["speed"])));
}
find("#pause").addEventListener("click", () => (speed === 0 ? setSpeed(before) : pause()));
find("#step").addEventListener("click", () => {
  pause();
  engine.tell({ do: "step", seconds: bottleneck(told!).rtt });
});
find("#restart").addEventListener("click", () => void again(settled(told!.fields)));
addEventListener("keydown", (event) => {
  const target = event.target as HTMLElement;
  if (event.key !== " " || ["INPUT", "TEXTAREA", "BUTTON", "SELECT"].includes(target.tagName)) return;
  event.preventDefault();
  if (speed === 0) setSpeed(before);
  else pause();
});
addEventListener("hashchange", () => void open());

find("#keep").addEventListener("click", () => {
  const name = String(now);
  const [first, ...others] = memory.groups.map((group) => group.window.last(memory.shown));
  const means = first!.map((value, at) => (value + others.reduce((sum, other) => sum + (other[at] ?? 0), 0)) / (others.length + 1));
  kept = { name, times: memory.times.last(memory.shown).slice(), window: means, queue: memory.queue.last(memory.shown).slice() };
  board.keep();
  say("Kept: its mean window and its queue are grey from now on, and its numbers stand below.");
});
find("#copy").addEventListener("click", async () => {
  const hash = await toHash(withoutUsual(told!.fields), told!.toml);
  const url = new URL(hash, location.href).href;
  await navigator.clipboard.writeText(url).then(
    () => say("The address is copied: it holds this scene and all that you did."),
    () => say(url),
  );
});
const note = "All that you changed is in it: it makes the same run, packet by packet.";
find("#toml").addEventListener("click", () =>
  dialog.open("This session as TOML", `${note} narrows run scene.toml runs it.`, told!.toml, (text) => void begin(text, "")),
);
find("#python").addEventListener("click", () => dialog.open("This session as Python", note, python(told!.toml), null));
find("#png").addEventListener("click", () => {
  const made = `${engineName}; seed ${told!.seed}; ${now.toFixed(2)} s`;
  picture(title || "narrows", made, charts.map((chart) => chart.canvas), told!);
});

function say(text: string) {
  find("#done").textContent = text;
}

/** Frames are drawn while there is something new, four a second if motion is not wanted. */
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let drawn = { rows: -1, at: 0, only: null as number | null, kept: null as Kept | null };
function frame(at: number) {
  requestAnimationFrame(frame);
  if (told === null || memory.rows === 0 || at - drawn.at < (calm.matches ? 250 : 15)) return;
  const logarithmic = find<HTMLInputElement>("#logarithmic").checked;
  const fresh = memory.rows !== drawn.rows || board.only !== drawn.only || kept !== drawn.kept;
  if (!fresh && at - drawn.at < 500) return;
  const shown = { memory, told, kept, only: board.only, logarithmic };
  const begun = performance.now();
  charts.forEach((chart) => chart.draw(shown));
  find("#now").textContent = `${now.toFixed(2)} s`;
  // Numbers that change sixty times a second are read by nobody.
  if (at - numbersAt > 250) {
    numbersAt = at;
    board.draw(memory, told, now);
    readout();
  }
  document.documentElement.dataset["frame"] = (performance.now() - begun).toFixed(1);
  drawn = { rows: memory.rows, at, only: board.only, kept };
}
let numbersAt = -Infinity;

/** The values at the end, in a line. */
function readout() {
  const of = (column: { last(count: number): Float64Array }) => column.last(1)[0]!;
  const windows = memory.groups.map((group, number) => `${told!.groups[number]!.cc} ${of(group.window).toFixed(1)}`);
  find("#readout").textContent = `${now.toFixed(2)} s: mean windows ${windows.join(", ")} packets; queue ${of(memory.queue)} packets`;
}

setSpeed(1);
requestAnimationFrame(frame);
if ("serviceWorker" in navigator && import.meta.env.PROD) {
  void navigator.serviceWorker.register("./offline.js").catch(() => undefined);
}
