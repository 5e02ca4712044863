/** How a picture was made, within it: what `narrows show` prints of one. */

import type { Told } from "./protocol";

/** After the signature and the header of a PNG file. */
const BEHIND_HEADER = 33;
/** An international text with this keyword, compressed, without language or translation. */
const KIND = "iTXt";
const HEAD = "narrows\0\u0001\0\0\0";

/** The record of a session, as narrows writes it beside its results. */
export function record(told: Told, version: string, engine: string): string {
  const made = { kind: "run", cases: [[{}, told.toml]], until: null, command: ["narrows", "play"], version, engine, host: "a browser", files: {} };
  // A seed may be larger than a number of JavaScript's.
  return `{"seeds": [${told.seed}], ${JSON.stringify(made).slice(1)}`;
}

/** The PNG file with `text` in it. */
export async function stamped(picture: Blob, text: string): Promise<Blob> {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate"));
  const head = new TextEncoder().encode(KIND + HEAD);
  const body = new Uint8Array(await new Blob([head, await new Response(packed).arrayBuffer()]).arrayBuffer());
  const chunk = [number(body.length - KIND.length), body, number(sum(body))];
  return new Blob([picture.slice(0, BEHIND_HEADER), ...chunk, picture.slice(BEHIND_HEADER)], { type: picture.type });
}

function number(value: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}

/** CRC-32 as PNG has it (ISO 3309). */
function sum(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
