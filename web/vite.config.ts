import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Plugin, defineConfig } from "vite";

/** Writes the service worker, which keeps the files of this build for when there is no network. */
function offline(): Plugin {
  return {
    name: "offline",
    generateBundle(_options, bundle) {
      const files = ["./", ...Object.keys(bundle).map((name) => `./${name}`)];
      // The others have their contents in their names.
      const told = [...files, readFileSync("index.html", "utf8")].join("\n");
      const version = createHash("sha256").update(told).digest("hex").slice(0, 12);
      const template = readFileSync("src/offline.js", "utf8");
      const source = template
        .replace("__VERSION__", JSON.stringify(version))
        .replace("__FILES__", JSON.stringify(files));
      this.emitFile({ type: "asset", fileName: "offline.js", source });
    },
  };
}

export default defineConfig({
  base: "./",
  build: {
    outDir: "../python/narrows/page",
    emptyOutDir: true,
    // The page's policy takes no data in place of files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  worker: { format: "es" },
  plugins: [offline()],
});
