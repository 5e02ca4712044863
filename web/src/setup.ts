/** What the controls say, and the scenario that it makes. */

import { isFields } from "./link";
import type { Fields, Json, LinkTold, Told } from "./protocol";

/** Scenarios to begin with: the question is the first comment of each. */
const files = import.meta.glob<string>("../presets/*.toml", { query: "?raw", import: "default", eager: true });

export interface Preset {
  name: string;
  question: string;
  toml: string;
}

const ORDER = ["small-buffer", "one-flow", "bbr-beside-cubic", "etcp", "random-loss", "l4s", "bufferbloat"];

export const PRESETS: Preset[] = Object.entries(files)
  .map(([path, toml]) => ({
    name: path.replace(/^.*\//, "").replace(/\.toml$/, ""),
    question: question(toml),
    toml,
  }))
  .toSorted((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name));

/** The first comment of a file, which says what it is about. */
export function question(toml: string): string {
  return /^#\s*(.+)/.exec(toml.trimStart())?.[1] ?? "";
}

/** A run without an end is one of an hour: nothing has to be said of it. */
export const DURATION = "3600s";

/** The link that the page's controls change, by its name. */
export const bottleneck = (told: Told): LinkTold => told.links[0]!;

/** The interval of rows for a path of this RTT: a fifth of it, within what is seen and what is fast. */
export function rowOf(rtt: number): number {
  return Math.min(0.1, Math.max(0.005, Number((rtt / 5).toPrecision(1))));
}

/** The field of the scenario in which the bottleneck stands; `null` if the page cannot change it. */
export function dumbbell(fields: Fields): Fields | null {
  const given = fields["dumbbell"];
  return isFields(given) ? given : null;
}

export function flows(fields: Fields): Fields[] {
  const given = fields["flows"];
  return Array.isArray(given) ? given.filter(isFields) : [];
}

/** How many flows a group has. */
export const count = (flow: Fields): number => Number(flow["count"] ?? 1);

/** A share as people write it: a file may say 1e-3 for 0.1%. */
export function asShare(text: string): string {
  return /^[\d.]+(e-?\d+)?$/.test(text) ? `${Number((Number(text) * 100).toPrecision(6))}%` : text;
}

/** The text of a field, empty if it was not given. */
export const text = (value: Json | undefined): string => (value === undefined || value === null ? "" : String(value));

/** The same with a field of the dumbbell set, or removed if the text is empty. */
export function withLink(fields: Fields, name: string, value: string): Fields {
  return { ...fields, dumbbell: withField(dumbbell(fields) ?? {}, name, value) };
}

export function withField(fields: Fields, name: string, value: Json): Fields {
  const { [name]: _, ...rest } = fields;
  return value === "" ? rest : { ...rest, [name]: value };
}

/** The values that a session has changed the bottleneck to, as last. */
export function latest(fields: Fields): Fields {
  const link = dumbbell(fields);
  if (link === null) return {};
  const changes = Array.isArray(link["changes"]) ? link["changes"].filter(isFields) : [];
  return changes.reduce((now, change) => ({ ...now, ...change }), { ...link });
}

/** How often a scenario changes, and flows join and leave. */
export function changes(fields: Fields): number {
  const link = dumbbell(fields)?.["changes"];
  const many = (value: Json | undefined) => (Array.isArray(value) ? value.length : value === undefined ? 0 : 1);
  return flows(fields).reduce((sum, flow) => sum + many(flow["start"]) + many(flow["stop"]) + many(flow["stops"]), many(link));
}

/** What has been done since a run began. */
export interface Session {
  /** What it began with. */
  begun: Fields;
  /** Fields of the bottleneck that were changed. */
  link: Fields;
  joined: Fields[];
  /** How many have left of each group, by its number. */
  left: Map<number, number>;
}

/** A scenario that begins with what has been done; `edit` changes groups by their numbers before. */
export function settled(session: Session, edit: (group: Fields, number: number) => Fields = (group) => group): Fields {
  const { begun, link, joined, left } = session;
  const groups = [...flows(begun), ...joined].flatMap((group, number) => {
    const edited = edit(group, number);
    const gone = left.get(number);
    if (gone === undefined) return [edited];
    // Who says how many there are means all of them.
    const stay = count(edited) === count(group) ? count(group) - gone : count(edited);
    // The last ones left, whose stops are given first.
    const stops = Array.isArray(edited["stops"]) ? edited["stops"].slice(gone) : [];
    return stay > 0 ? [{ ...withField(edited, "stops", stops.length > 0 ? stops : ""), count: stay }] : [];
  });
  const given = dumbbell(begun);
  const next: Fields = { ...begun, flows: groups.length > 0 ? groups : flows(begun).map(edit) };
  return given === null ? next : { ...next, dumbbell: { ...given, ...link } };
}

/** Buffers that theory names, of `flows` flows over `bdp` packets. */
export function detents(bdp: number, flows: number): { packets: number; name: string }[] {
  const root = bdp / Math.sqrt(Math.max(1, flows));
  const marks = [
    { packets: 20, name: "20" },
    { packets: root, name: "BDP/√n" },
    { packets: bdp / 2, name: "½ BDP" },
    { packets: bdp, name: "BDP" },
  ];
  const inside = marks.filter(({ packets }) => packets >= 2 && packets <= 2 * bdp);
  // Those too near to another are left out, BDP/√n before the rest.
  const near = (a: number, b: number) => Math.abs(Math.log(a / b)) < 0.12 * Math.log(2 * bdp);
  const kept: typeof marks = [];
  for (const mark of inside.toReversed()) {
    if (!kept.some((other) => near(other.packets, mark.packets))) kept.push(mark);
  }
  return kept.toReversed();
}
