/** What the page and the worker that simulates say to each other. */

/** A link as the simulator describes it. */
export interface LinkTold {
  name: string;
  /** bit/s */
  rate: number;
  /** One-way delay in seconds. */
  delay: number;
  /** The RTT in seconds that "bdp" means. */
  rtt: number;
  /** Bandwidth-delay product in packets. */
  bdp: number;
  buffer: { packets: number; bytes: number; seconds: number; bdp: number; text: string } | null;
}

export interface GroupTold {
  name: string;
  cc: string;
  pacing: string;
  count: number;
  reverse: boolean;
  /** Bytes of a packet on the wire. */
  packet: number;
}

/** A value that JSON can say. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
export type Fields = { [name: string]: Json };

/** A scenario as the simulator describes it. */
export interface Told {
  toml: string;
  /** What was given. */
  fields: Fields;
  /** Seconds. */
  duration: number;
  seed: number;
  links: LinkTold[];
  groups: GroupTold[];
  /** How many flows of each group are shown one by one. */
  sampled: number[];
  flows: number;
  warnings: Wrong[];
}

/** What is wrong, or worth a word, and where, as a path like `flows[0].cc`. */
export interface Wrong {
  place: string;
  message: string;
}

/** What can be chosen by name. */
export interface Named {
  name: string;
  summary: string;
  source: string;
  settings: { name: string; default: string; bounds: string; meaning: string }[];
}

export interface Lists {
  laws: Named[];
  queues: Named[];
  recoveries: Named[];
  slow_starts: Named[];
}

/** Rows of a run, flat: each array has as many values a row as there are flows, groups × columns … */
export interface Rows {
  times: Float64Array;
  windows: Float32Array;
  arrivals: Float32Array;
  groups: Float32Array;
  links: Float32Array;
  lawNames: string[];
  law: Float32Array;
}

/** Columns of a group and of a link, as the simulator has them. */
export const GROUP = { delivered: 0, fresh: 1, sent: 2, lost: 3, window: 4, least: 5, largest: 6, rtt: 7, there: 8 } as const;
export const GROUP_COLUMNS = 9;
export const LINK = { queue: 0, arrivals: 1, drops: 2, marks: 3, departed: 4, rate: 5, limit: 6 } as const;
export const LINK_COLUMNS = 7;

/** What is done to a run while it goes. */
export type Deed =
  | { do: "change"; link: string; fields: Fields }
  | { do: "join"; group: Fields }
  /** The last `count` flows of a group. */
  | { do: "leave"; group: number; count: number };

export type ToWorker =
  | Deed
  | { do: "start"; text: string; row: number; speed: number }
  | { do: "speed"; speed: number }
  | { do: "step"; seconds: number }
  | { do: "watch"; flow: number }
  | { do: "check"; text: string; ask: number };

export type FromWorker =
  | { is: "ready"; engine: string; version: string; lists: Lists }
  | { is: "begun"; told: Told; row: number }
  | { is: "rows"; rows: Rows[]; now: number; over: boolean; packets: number }
  /** What numbers of the run so far should be read with. */
  | { is: "remarks"; remarks: Wrong[] }
  | { is: "changed"; told: Told; by: Deed }
  | { is: "wrong"; wrong: Wrong; what: ToWorker["do"] }
  | { is: "checked"; told: Told | null; wrong: Wrong | null; ask: number };
