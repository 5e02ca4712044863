/** A scenario in a page's address: readable where a few words say it, else its whole text. */

import type { Fields, Json } from "./protocol";

function toText(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function through(bytes: Uint8Array<ArrayBuffer>, transform: GenericTransformStream): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(transform as TransformStream);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The text of a TOML file, packed: raw deflate in base64url. */
export async function pack(toml: string): Promise<string> {
  return toText(await through(new TextEncoder().encode(toml), new CompressionStream("deflate-raw")));
}

/** What [`pack`] has packed. */
export async function unpack(packed: string): Promise<string> {
  const plain = packed.replaceAll("-", "+").replaceAll("_", "/");
  const bytes = Uint8Array.from(atob(plain), (letter) => letter.charCodeAt(0));
  return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
}

const DUMBBELL = ["rate", "rtt", "buffer", "queue", "loss"];
const HEAD = ["tcp", "seed", "duration"];

/** The address's part after # for what was given, and its TOML. */
export async function toHash(fields: Fields, toml: string): Promise<string> {
  return readable(fields) ?? `#toml=${await pack(toml)}`;
}

function readable(fields: Fields): string | null {
  const { dumbbell, flows, ...head } = fields;
  if (!isFields(dumbbell) || !Array.isArray(flows)) return null;
  const parts: string[] = [];
  for (const [known, given] of [[HEAD, head], [DUMBBELL, dumbbell]] as const) {
    for (const [name, value] of Object.entries(given)) {
      if (!known.includes(name) || typeof value === "object") return null;
      parts.push(`${name}=${encodeURIComponent(String(value))}`);
    }
  }
  for (const flow of flows) {
    if (!isFields(flow)) return null;
    const { cc, count, pacing, ...rest } = flow;
    if (Object.keys(rest).length > 0) return null;
    const spaced = pacing === undefined ? "" : `~${String(pacing)}`;
    parts.push(`flows=${count ?? 1}*${encodeURIComponent(String(cc ?? "cubic"))}${spaced}`);
  }
  return `#${parts.join("&")}`;
}

export function isFields(value: Json | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The scenario that an address's part after # says, as TOML or JSON; `null` if it says none. */
export async function fromHash(hash: string): Promise<string | null> {
  const text = hash.replace(/^#/, "");
  if (text === "") return null;
  if (text.startsWith("toml=")) return unpack(text.slice("toml=".length));
  const given = new URLSearchParams(text);
  const fields: Fields = {};
  const dumbbell: Fields = {};
  const flows: Json[] = [];
  for (const [name, value] of given) {
    if (name === "flows") flows.push(group(value));
    else if (name === "seed") fields[name] = Number(value);
    else if (HEAD.includes(name)) fields[name] = value;
    else dumbbell[name] = value;
  }
  return JSON.stringify({ ...fields, dumbbell, flows });
}

/** A group like `25*cubic~even`. */
function group(text: string): Json {
  const [law = "", pacing] = text.split("~");
  const [count, cc] = law.includes("*") ? law.split("*", 2) : ["1", law];
  const flow: Fields = { cc: cc ?? "cubic", count: Number(count) };
  if (pacing !== undefined) flow["pacing"] = pacing;
  return flow;
}
