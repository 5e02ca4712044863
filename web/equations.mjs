/**
 * Typesets equations: a line of JSON `{"tex": …, "display": true}` in, a line of JSON with HTML out.
 * Ends by an error at the first that is none.
 */

import { createInterface } from "node:readline";
import katex from "katex";

for await (const line of createInterface({ input: process.stdin })) {
  const { tex, display } = JSON.parse(line);
  console.log(JSON.stringify(katex.renderToString(tex, { displayMode: display, strict: "error" })));
}
