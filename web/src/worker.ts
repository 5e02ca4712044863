/** Simulates, in slices, and sends what it saw. */

import init, { Run, check, engine, lists, version } from "../pkg/narrows_wasm.js";
import type { Deed, FromWorker, Lists, Rows, ToWorker, Told, Wrong } from "./protocol";

/** A slice takes no longer than this, in milliseconds of real time, so that a change is heard. */
const SLICE = 12;
/** Remarks are made no more often than this, in milliseconds. */
const REMARK_EVERY = 1000;
/** Rows are sent no more often than this, in milliseconds. */
const SEND_EVERY = 16;

let run: Run | null = null;
let speed = 1;
let row = 0.02;
/** Simulated seconds that are due. */
let due = 0;
let last = performance.now();
let sent = 0;
let remarked = 0;
let rows: Rows[] = [];
let packets = 0;
/** Simulated seconds that take a slice, by experience. */
let step = 0.02;

const say = (message: FromWorker, transfer: Transferable[] = []) =>
  postMessage(message, { transfer });

function asWrong(error: unknown): Wrong {
  if (typeof error === "string") {
    try {
      return JSON.parse(error) as Wrong;
    } catch {
      return { place: "", message: error };
    }
  }
  return { place: "", message: String(error) };
}

function told(run: Run): Told {
  return JSON.parse(run.told()) as Told;
}

function start(text: string, seconds: number, at: number) {
  const next = new Run(text, seconds);
  run?.free();
  [run, row, speed, due, rows, packets] = [next, seconds, at, 0, [], 0];
  [step, last, remarked] = [seconds, performance.now(), performance.now()];
  say({ is: "begun", told: told(next), row });
}

/** Goes on for so many simulated seconds. */
function advance(run: Run, seconds: number) {
  const before = performance.now();
  packets += run.advance(seconds);
  const took = performance.now() - before;
  const times = run.times();
  if (times.length > 0) {
    const lawNames = (JSON.parse(run.columns()) as { law: string[] }).law;
    rows.push({
      times,
      windows: run.windows(),
      arrivals: run.arrivals(),
      groups: run.groups(),
      links: run.links(),
      lawNames,
      law: run.law(),
    });
  }
  // The clock of a worker is coarse.
  const ideal = took < 0.5 ? 2 : Math.min(2, Math.max(0.3, SLICE / 3 / took));
  step = Math.min(2, Math.max(row, seconds * ideal));
}

function send(run: Run, force: boolean) {
  const now = performance.now();
  if (!force && (now - sent < SEND_EVERY || rows.length === 0)) return;
  const buffers = rows.flatMap((part) =>
    [part.times, part.windows, part.arrivals, part.groups, part.links, part.law].map(
      (array) => array.buffer as ArrayBuffer,
    ),
  );
  say({ is: "rows", rows, now: run.now(), over: run.is_over(), packets }, buffers);
  [rows, sent] = [[], now];
  if (now - remarked < REMARK_EVERY) return;
  remarked = now;
  say({ is: "remarks", remarks: JSON.parse(run.remarks()) as Wrong[] });
}

const channel = new MessageChannel();
let awaited = false;
function again() {
  if (awaited) return;
  awaited = true;
  channel.port2.postMessage(0);
}
channel.port1.onmessage = () => {
  awaited = false;
  try {
    turn();
  } catch (error) {
    // A run that cannot go on is over.
    run = null;
    say({ is: "wrong", wrong: asWrong(error), what: "step" });
  }
};

function turn() {
  if (run === null) return;
  const begun = performance.now();
  // A hidden page is not called for a while: what was due then is not made up for.
  due += speed === 0 ? 0 : Math.min((begun - last) / 1000, 0.25) * speed;
  last = begun;
  if (run.is_over()) return send(run, true);
  if (speed === 0) return send(run, rows.length > 0);
  while (performance.now() - begun < SLICE) {
    const slice = Math.min(step, due);
    if (slice < row && speed !== Infinity) break;
    advance(run, speed === Infinity ? step : slice);
    due = speed === Infinity ? 0 : due - slice;
    if (run.is_over()) break;
  }
  // A machine that is too slow shows what it can.
  due = Math.min(due, 0.5 * speed);
  send(run, false);
  if (due < row && speed !== Infinity) setTimeout(again, Math.max(1, ((row - due) / speed) * 1000));
  else again();
}

function obey(message: ToWorker) {
  if (message.do === "start") {
    start(message.text, message.row, message.speed);
    return again();
  }
  if (message.do === "check") return answer(message.text, message.ask);
  if (run === null) return;
  switch (message.do) {
    case "speed":
      [speed, last, due] = [message.speed, performance.now(), 0];
      return again();
    case "step":
      advance(run, message.seconds);
      return send(run, true);
    case "watch":
      return run.watch(message.flow);
    default:
      // What was before has the form of before.
      send(run, true);
      act(run, message);
      return say({ is: "changed", by: message, told: told(run) });
  }
}

function act(run: Run, deed: Deed) {
  if (deed.do === "change") run.change(deed.link, JSON.stringify(deed.fields));
  else if (deed.do === "join") run.join(JSON.stringify(deed.group));
  else run.leave(deed.group, deed.count);
}

function answer(text: string, ask: number) {
  try {
    say({ is: "checked", told: JSON.parse(check(text)) as Told, wrong: null, ask });
  } catch (error) {
    say({ is: "checked", told: null, wrong: asWrong(error), ask });
  }
}

addEventListener("message", (event: MessageEvent<ToWorker>) => {
  void ready.then(() => {
    try {
      obey(event.data);
    } catch (error) {
      say({ is: "wrong", wrong: asWrong(error), what: event.data.do });
    }
  });
});

const module = new URL("../pkg/narrows_wasm_bg.wasm", import.meta.url);
const ready = init({ module_or_path: module }).then(() => {
  say({ is: "ready", engine: engine(), version: version(), lists: JSON.parse(lists()) as Lists });
});
