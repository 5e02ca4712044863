/** The rows that charts and numbers are drawn from: columns that slide. */

import { GROUP, GROUP_COLUMNS, LINK, LINK_COLUMNS, type Rows, type Told } from "./protocol";

/** Rows that are shown. */
export const SHOWN = 1000;

/** A column of which the last [`SHOWN`] values lie in one piece. */
export class Column {
  private values = new Float64Array(3 * SHOWN).fill(NaN);
  private end = SHOWN;

  push(value: number) {
    if (this.end === this.values.length) {
      this.values.copyWithin(0, this.end - SHOWN, this.end);
      this.end = SHOWN;
    }
    this.values[this.end++] = value;
  }

  /** The last `count` values. */
  last(count: number): Float64Array {
    return this.values.subarray(this.end - Math.min(count, SHOWN), this.end);
  }
}

/** What is known of a group. */
export class GroupMemory {
  readonly delivered = new Column();
  readonly sent = new Column();
  readonly lost = new Column();
  readonly window = new Column();
  readonly rtt = new Column();
  /** Flows that have not stopped, as of the last row; NaN before the first. */
  there = NaN;
  /** Of each flow that is shown. */
  readonly windows: Column[] = [];
  readonly arrivals: Column[] = [];
}

export class Memory {
  readonly times = new Column();
  readonly queue = new Column();
  /** Share of arrivals dropped, and marked. */
  readonly dropped = new Column();
  readonly marked = new Column();
  readonly arrivals = new Column();
  readonly drops = new Column();
  /** Bits that left, and that could have. */
  readonly departed = new Column();
  readonly capacity = new Column();
  /** The buffer in packets, and the rate in bit/s, as they were. */
  readonly limit = new Column();
  readonly groups: GroupMemory[] = [];
  readonly law = new Map<string, Column>();
  /** Rows since its law is asked. */
  asked = 0;
  rows = 0;

  constructor(readonly row: number) {}

  /** The rate of the bottleneck in bit/s, and its buffer in packets, as of the last row. */
  get rate(): number {
    return this.capacity.last(1)[0]! / this.row;
  }

  get buffer(): number {
    return this.limit.last(1)[0]!;
  }

  /** Rows that can be shown. */
  get shown(): number {
    return Math.min(this.rows, SHOWN);
  }

  /** Has a place for each group of `told`. */
  grow(told: Told) {
    while (this.groups.length < told.groups.length) this.groups.push(new GroupMemory());
  }

  /** So many flows of a group leave now. */
  leave(group: number, count: number) {
    const of = this.groups[group]!;
    of.there = Math.max(0, of.there - count);
  }

  /** Adds rows of a run that is as `told` says. */
  add(rows: Rows, told: Told) {
    this.grow(told);
    const flows = told.sampled.reduce((sum, count) => sum + count, 0);
    for (const name of rows.lawNames) if (!this.law.has(name)) this.law.set(name, new Column());
    for (let row = 0; row < rows.times.length; row++) {
      this.times.push(rows.times[row]!);
      this.addLink(rows.links, row * told.links.length * LINK_COLUMNS);
      this.addGroups(rows.groups, row * told.groups.length * GROUP_COLUMNS);
      this.addFlows(rows, row * flows, told.sampled);
      for (const [name, column] of this.law) {
        const place = rows.lawNames.indexOf(name);
        column.push(place < 0 ? NaN : rows.law[row * rows.lawNames.length + place]!);
      }
      this.rows++;
      this.asked++;
    }
  }

  private addLink(links: Float32Array, at: number) {
    const of = (column: number) => links[at + column]!;
    const arrivals = of(LINK.arrivals);
    this.queue.push(of(LINK.queue));
    this.arrivals.push(arrivals);
    this.drops.push(of(LINK.drops));
    this.dropped.push(arrivals > 0 ? of(LINK.drops) / arrivals : 0);
    this.marked.push(arrivals > 0 ? of(LINK.marks) / arrivals : 0);
    this.departed.push(of(LINK.departed) * 8);
    this.capacity.push(of(LINK.rate) * this.row);
    this.limit.push(of(LINK.limit));
  }

  private addGroups(groups: Float32Array, at: number) {
    this.groups.forEach((group, number) => {
      const of = (column: number) => groups[at + number * GROUP_COLUMNS + column] ?? NaN;
      group.delivered.push(of(GROUP.delivered));
      group.sent.push(of(GROUP.sent));
      group.lost.push(of(GROUP.lost));
      group.window.push(of(GROUP.window));
      group.rtt.push(of(GROUP.rtt));
      group.there = of(GROUP.there);
    });
  }

  private addFlows(rows: Rows, at: number, sampled: number[]) {
    let place = at;
    this.groups.forEach((group, number) => {
      const count = sampled[number] ?? 0;
      while (group.windows.length < count) {
        group.windows.push(new Column());
        group.arrivals.push(new Column());
      }
      group.windows.forEach((column, flow) => {
        column.push(flow < count ? rows.windows[place + flow]! : NaN);
        group.arrivals[flow]!.push(flow < count ? rows.arrivals[place + flow]! : NaN);
      });
      place += count;
    });
  }
}

/** The sum of what is a number. */
export function sum(values: Float64Array): number {
  let total = 0;
  for (const value of values) if (!Number.isNaN(value)) total += value;
  return total;
}
