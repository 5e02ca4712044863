/** Numbers of what is shown: utilisation, loss, delay, fairness, and each group's part. */

import { nameOf } from "./controls";
import { type Memory, sum } from "./memory";
import type { Told, Wrong } from "./protocol";

export interface GroupNumbers {
  /** Of what could have left, a ratio. */
  share: number;
  /** Of what was sent, taken for lost. */
  loss: number;
  /** Mean smoothed RTT in seconds. */
  rtt: number;
}

export interface Numbers {
  utilisation: number;
  /** Of the packets that arrived at the queue, dropped. */
  loss: number;
  /** Queueing delay in seconds, median and 99th percentile, and packets in the mean. */
  delay: { p50: number; p99: number };
  queue: number;
  /** Jain's index of the flows that are shown one by one, of how many. */
  fairness: number;
  flows: number;
  groups: GroupNumbers[];
  /** Seconds that all of this is of. */
  seconds: number;
}

const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;

function quantile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

/** Of the last `rows` rows. */
export function numbers(memory: Memory, told: Told, rows: number): Numbers {
  const count = Math.min(rows, memory.shown);
  const departed = sum(memory.departed.last(count));
  const capacity = sum(memory.capacity.last(count));
  const arrivals = sum(memory.arrivals.last(count));
  const queues = [...memory.queue.last(count)].filter((value) => !Number.isNaN(value));
  const rate = capacity / (count * memory.row);
  const packet = told.groups[0]?.packet ?? 1500;
  const sorted = queues.toSorted((a, b) => a - b).map((queue) => (queue * packet * 8) / rate);
  const forward = told.groups.map((group) => !group.reverse);
  const present = memory.groups.flatMap((group, number) =>
    forward[number] ? group.windows.map((column, flow) => column.last(1)[0]! > 0 || group.arrivals[flow]!.last(1)[0]! > 0) : [],
  );
  const goodputs = memory.groups.flatMap((group, number) =>
    forward[number] ? group.arrivals.map((column) => sum(column.last(count))) : [],
  );
  // Those that are there, starved ones among them.
  const active = goodputs.filter((_, flow) => present[flow]);
  const squares = active.reduce((total, value) => total + value * value, 0);
  const total = active.reduce((all, value) => all + value, 0);
  return {
    // What left at a rate of before is more than the rate of now could.
    utilisation: Math.min(1, departed / capacity),
    loss: arrivals > 0 ? sum(memory.drops.last(count)) / arrivals : 0,
    delay: { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) },
    queue: mean(queues),
    fairness: (total * total) / (active.length * squares),
    flows: active.length,
    groups: memory.groups.map((group, number) => {
      const sent = sum(group.sent.last(count));
      const bits = sum(group.delivered.last(count)) * (told.groups[number]?.packet ?? packet) * 8;
      const rtts = [...group.rtt.last(count)].filter((value) => !Number.isNaN(value));
      return { share: bits / capacity, loss: sent > 0 ? sum(group.lost.last(count)) / sent : 0, rtt: mean(rtts) };
    }),
    seconds: count * memory.row,
  };
}

/** What the numbers should be read with, in a sentence; empty if nothing. */
export function remark(memory: Memory, told: Told, now: number, remarks: Wrong[]): string {
  const rtt = told.links[0]?.rtt ?? 0.1;
  if (now < 20 * rtt) return "Slow start is not over: numbers of the first round trips say little.";
  for (const [number, group] of memory.groups.entries()) {
    const windows = group.windows.map((column) => column.last(1)[0]!).filter((value) => value > 0);
    if (windows.length < 3) continue;
    const sorted = windows.toSorted((a, b) => a - b);
    const [largest, middle] = [sorted.at(-1)!, sorted[sorted.length >> 1]!];
    if (largest > 6 * middle && largest > 50) {
      const name = told.groups[number]!.cc.toUpperCase();
      const times = Math.round(largest / middle);
      return (
        `One flow of ${name} holds a window of ${Math.round(largest)} packets, ${times} times the middle one: so it is ` +
        "where one leaves slow start late, or losses spare it, and such differences last for tens of seconds."
      );
    }
  }
  const named = (place: string) =>
    place.replace(/flows\[(\d+)\]/g, (_, number: string) => nameOf(told, Number(number))).replace(/^flows$/, "All flows");
  const said = [...told.warnings, ...remarks].map(({ place, message }) => `${named(place)}: ${message}.`);
  return said.slice(0, 2).join(" ");
}

const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export const percent = (ratio: number) => {
  if (Number.isNaN(ratio)) return "–";
  const value = ratio * 100;
  return `${value === 0 || value >= 10 ? value.toFixed(value >= 10 ? 1 : 0) : digits.format(value)} %`;
};

export const time = (seconds: number) => {
  if (Number.isNaN(seconds)) return "–";
  if (seconds === 0) return "0 ms";
  if (seconds < 1e-3) return `${digits.format(seconds * 1e6)} µs`;
  return seconds < 1 ? `${digits.format(seconds * 1e3)} ms` : `${digits.format(seconds)} s`;
};

export const amount = (value: number) => (Number.isNaN(value) ? "–" : digits.format(value));
