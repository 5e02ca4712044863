/** The page: a scenario that runs, its controls, and its pictures. */

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Board } from "./board";
import { type Flow, type Kept, Queue, Shares, Windows } from "./charts";
import { Controls, find, nameOf } from "./controls";
import { Engine } from "./engine";
import { fromHash, toHash } from "./link";
import { Memory } from "./memory";
import { amount } from "./numbers";
import type { Deed, Fields, Told, Wrong } from "./protocol";
import { DURATION, PRESETS, type Session, bottleneck, changes, flows, question, rowOf, settled, withField, withLink } from "./setup";
import { Dialog, picture, python } from "./share";
import { record } from "./stamp";

let told: Told | null = null;
let memory = new Memory(0.02);
let kept: Kept | null = null;
let now = 0;
let speed = 1;
/** Seconds of a round trip, as last set. */
let rtt = 0.1;
let session: Session = { begun: {}, link: {}, joined: [], left: new Map() };
let title = "";
/** Version and engine. */
let madeBy: [string, string] = ["", ""];
const engineName = () => `narrows ${madeBy[0]}, engine ${madeBy[1]}`;
/** What has gone wrong at the start, where a first scene stands in for what was asked. */
let startedWrong = false;

const board = new Board();
/** The flow whose line was clicked. */
let picked: Flow | null = null;
const charts = [new Windows(find("#windows"), (flow) => (picked = flow)), new Queue(find("#queue")), new Shares(find("#shares"))] as const;
const dialog = new Dialog();

const controls = new Controls({
  preset: (toml) => begin(toml, question(toml)),
  live: (name, value) => live(name, value),
  link: (name, value) => again(withLink(settled(session), name, value)),
  head: (name, value) => again(withField(settled(session), name, value)),
  group: (group, name, value) =>
    again(settled(session, (flow, number) => (number === group ? withField(flow, name, value) : flow))),
  join: (group) => engine.tell({ do: "join", group }),
  leave: (group, count) => engine.tell({ do: "leave", group, count }),
  add: () => {
    const fields = settled(session);
    again({ ...fields, flows: [...flows(fields), { cc: "bbr" }] });
  },
});

const engine = new Engine({
  ready({ engine: name, version, lists }) {
    madeBy = [version, name];
    find("#engine").textContent = engineName();
    controls.lists(lists);
    void open();
  },
  begun(message) {
    told = message.told;
    memory = new Memory(message.row);
    memory.grow(told);
    session = { begun: told.fields, link: {}, joined: [], left: new Map() };
    [rtt, now] = [bottleneck(told).rtt, 0];
    board.forget();
    picked = null;
    controls.show(told, title);
    controls.buffer(bottleneck(told).buffer?.packets ?? NaN, bottleneck(told).rate);
    find("#now").textContent = "0.00 s";
    say("");
    if (speed === 0) setSpeed(before);
    if (!startedWrong) controls.wrong(null);
    startedWrong = false;
    find("#question").textContent = title || "Your own scene";
    const replays = changes(told.fields);
    if (replays > 0) say(`What was changed is done again at its time: ${replays} time${replays === 1 ? "" : "s"}.`);
    document.title = `narrows: ${title || "play with a bottleneck"}`;
    address();
  },
  rows(message) {
    for (const rows of message.rows) memory.add(rows, told!);
    now = message.now;
    document.documentElement.dataset["packets"] = String(message.packets);
    if (message.over && speed !== 0) {
      pause();
      say(`The run of ${told!.duration} s is over; Restart begins it anew.`);
    }
  },
  remarks(message) {
    board.remarks = message.remarks;
  },
  changed(message) {
    told = message.told;
    remember(message.by);
    if (title !== "") find("#question").textContent = `${title} (changed since)`;
    controls.wrong(null);
    memory.grow(told);
    if (message.by.do === "leave") memory.leave(message.by.group, message.by.count);
    controls.show(told, title);
    controls.there(memory);
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

/** More flows than these are for the command line. */
const MOST = 2000;

/** What the scenario in `text` is, or what is wrong with it here. */
async function checked(text: string): Promise<{ told: Told | null; wrong: Wrong | null }> {
  const answer = await engine.check(text);
  if (answer.told === null || answer.told.flows <= MOST) return answer;
  const message = `${answer.told.flows} flows are more than the ${MOST} that a page simulates; narrows run takes them`;
  return { told: null, wrong: { place: "flows", message } };
}

/** Begins the scenario in `text`, TOML or JSON; returns what is wrong with it, if something is. */
async function begin(text: string, asked: string): Promise<Wrong | null> {
  const { told: next, wrong } = await checked(text);
  if (next === null) {
    controls.wrong(wrong);
    if (told === null) fallBack(wrong!);
    return wrong;
  }
  title = asked || question(text);
  const fields = next.fields["duration"] === undefined ? { ...next.fields, duration: DURATION } : next.fields;
  start(JSON.stringify(fields), bottleneck(next).rtt);
  return null;
}

function start(text: string, rtt: number) {
  engine.tell({ do: "start", text, row: rowOf(rtt), speed });
}

/** Begins anew with other fields. */
async function again(fields: Fields) {
  const text = JSON.stringify(fields);
  const { told: next, wrong } = await checked(text);
  if (next === null) return controls.wrong(wrong);
  if (PRESETS.some(({ question }) => question === title)) title = "";
  start(text, bottleneck(next).rtt);
}

/** Changes the bottleneck while it runs. */
function live(name: string, value: string) {
  if (told === null) return;
  engine.tell({ do: "change", link: bottleneck(told).name, fields: { [name]: value } });
}

/** Remembers what has been done, for when it begins anew. */
function remember(deed: Deed) {
  if (deed.do === "join") session.joined.push(deed.group);
  else if (deed.do === "leave") session.left.set(deed.group, (session.left.get(deed.group) ?? 0) + deed.count);
  else {
    Object.assign(session.link, deed.fields);
    if (deed.fields["rtt"] !== undefined) void measure();
  }
}

/** Reads the RTT that has been set, in seconds. */
async function measure() {
  const { told: as } = await engine.check(JSON.stringify(settled(session)));
  if (as !== null) rtt = bottleneck(as).rtt;
}

let addressing: ReturnType<typeof setTimeout> | undefined;

/** Writes the scene into the address, once things have come to rest: browsers mind more. */
function address() {
  clearTimeout(addressing);
  addressing = setTimeout(() => {
    if (told === null) return;
    void toHash(withoutUsual(told.fields), titled()).then((hash) => history.replaceState(null, "", hash));
  }, 300);
}

/** The scene as TOML, under its title. */
const titled = () => (title === "" ? "" : `# ${title}\n`) + told!.toml;

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
  engine.tell({ do: "step", seconds: rtt });
});
find("#restart").addEventListener("click", () => void again(settled(session)));
// Where the page is narrow, the set-up is a sheet above the bar.
const bar = find(".bar");
new ResizeObserver(() => document.documentElement.style.setProperty("--bar", `${bar.offsetHeight}px`)).observe(bar);
const sheet = find("#sheet");
const unfold = (is: boolean) => sheet.setAttribute("aria-expanded", String(is));
sheet.addEventListener("click", () => unfold(sheet.getAttribute("aria-expanded") !== "true"));
addEventListener("keydown", (event) => event.key === "Escape" && unfold(false));
addEventListener("keydown", (event) => {
  const target = event.target as HTMLElement;
  if (event.key !== " " || target.matches("textarea, select, button, summary, input:not([type=range])")) return;
  event.preventDefault();
  if (speed === 0) setSpeed(before);
  else pause();
});
// What was clicked with a pointer leaves the keys to the page.
addEventListener("click", (event) => {
  if (event.detail > 0) (event.target as HTMLElement).closest("button")?.blur();
});
addEventListener("hashchange", () => void open());

find("#keep").addEventListener("click", () => {
  const name = String(now);
  const groups = memory.groups.map((group, number) => ({ values: group.window.last(memory.shown), flows: told!.groups[number]!.count }));
  const means = groups[0]!.values.map((_, at) => {
    const begun = groups.filter(({ values }) => !Number.isNaN(values[at]!));
    const flows = begun.reduce((sum, group) => sum + group.flows, 0);
    return begun.reduce((sum, group) => sum + group.values[at]! * group.flows, 0) / flows;
  });
  kept = { name, first: memory.rows - memory.shown, window: means, queue: memory.queue.last(memory.shown).slice() };
  board.keep();
  say("Kept: its mean window and its queue are grey from now on, and its numbers stand below.");
});
find("#copy").addEventListener("click", async () => {
  const hash = await toHash(withoutUsual(told!.fields), titled());
  const url = new URL(hash, location.href).href;
  await navigator.clipboard.writeText(url).then(
    () => say("The address is copied: it holds this scene and all that you did."),
    () => say(url),
  );
});
const note = "All that you changed is in it: it makes the same run, packet by packet.";
find("#toml").addEventListener("click", () =>
  dialog.open("This session as TOML", `${note} narrows run scene.toml runs it, for as long as its duration says: an hour, unless you give less.`, told!.toml, (text) => begin(text, "")),
);
find("#python").addEventListener("click", () => dialog.open("This session as Python", note, python(told!.toml), null));
find("#png").addEventListener("click", () => {
  const made = `${engineName()}; seed ${told!.seed}; ${now.toFixed(2)} s`;
  picture(title || "narrows", made, record(told!, ...madeBy), charts.map((chart) => chart.canvas), told!);
});

function say(text: string) {
  find("#done").textContent = text;
}

/** Frames are drawn while there is something new, four a second if motion is not wanted. */
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let drawn = { rows: -1, at: 0, only: null as number | null, kept: null as Kept | null, picked: null as Flow | null };
function frame(at: number) {
  requestAnimationFrame(frame);
  if (told === null || memory.rows === 0 || at - drawn.at < (calm.matches ? 250 : 15)) return;
  const logarithmic = find<HTMLInputElement>("#logarithmic").checked;
  const fresh = memory.rows !== drawn.rows || board.only !== drawn.only || kept !== drawn.kept || picked !== drawn.picked;
  if (!fresh && at - drawn.at < 500) return;
  if (board.only !== null && picked?.group !== board.only) picked = null;
  // A line that was clicked, or the first of a group that is alone.
  const asked = picked ?? (board.only === null ? null : { group: board.only, flow: 0 });
  if (asked?.group !== watched?.group || asked?.flow !== watched?.flow) watch(asked);
  const shown = { memory, told, kept, only: board.only, picked, logarithmic };
  charts.forEach((chart) => chart.draw(shown));
  find("#now").textContent = `${now.toFixed(2)} s`;
  // Numbers that change sixty times a second are read by nobody.
  if (at - numbersAt > 250) {
    numbersAt = at;
    board.draw(memory, told, now);
    controls.buffer(memory.buffer, memory.rate);
    controls.there(memory);
    readout();
  }
  drawn = { rows: memory.rows, at, only: board.only, kept, picked };
}
let numbersAt = -Infinity;

/** The flow whose law is asked for its own quantities. */
let watched: Flow | null = null;
function watch(asked: Flow | null) {
  watched = asked;
  memory.law.clear();
  memory.asked = 0;
  const before = told!.groups.slice(0, asked?.group ?? 0).reduce((sum, { count }) => sum + count, 0);
  engine.tell({ do: "watch", flow: asked === null ? -1 : before + asked.flow });
}

/** The values under the pointer, or at the end, in a line. */
function readout() {
  const rows = memory.shown;
  const pointed = charts.map((chart) => chart.pointed).find((row) => row !== null);
  const row = Math.min(pointed ?? rows, rows - 1);
  const of = (column: { last(count: number): Float64Array }) => column.last(rows)[row]!;
  const windows = memory.groups.map((group, number) => `${nameOf(told!, number)} ${amount(of(group.window))}`);
  const time = pointed === undefined ? now : of(memory.times);
  find("#readout").textContent = `${time.toFixed(2)} s: mean windows ${windows.join(", ")} packets; queue ${of(memory.queue)} packets`;
  // Before somebody asked, nothing of it is known: then what is known last.
  const known = (column: { last(count: number): Float64Array }) => (Number.isNaN(of(column)) ? column.last(1)[0]! : of(column));
  const law = [...memory.law].map(([name, column]) => `${name} ${amount(known(column))}`);
  const { group, flow } = watched ?? { group: 0, flow: 0 };
  const whose = `${told!.groups[group]?.cc ?? ""}, flow ${flow + 1}`;
  const none = memory.asked > 0 ? "its law has no quantities of its own but the window" : "told from the next row on";
  const own = law.length > 0 ? law.join(", ") : none;
  find("#law").textContent = watched === null ? "Click a line for what its law goes by." : `${whose}: ${own}`;
}

setSpeed(1);
requestAnimationFrame(frame);
if ("serviceWorker" in navigator && import.meta.env.PROD) {
  void navigator.serviceWorker.register("./offline.js").catch(() => undefined);
}
