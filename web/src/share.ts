/** A session as text and as a picture. */

import { styled } from "./colours";
import { find, nameOf } from "./controls";
import type { Told, Wrong } from "./protocol";
import { stamped } from "./stamp";

export class Dialog {
  private readonly box = find<HTMLDialogElement>("#text-dialog");
  private readonly text = find<HTMLTextAreaElement>("#text");
  private run: ((text: string) => Promise<Wrong | null>) | null = null;

  constructor() {
    find("#text-copy").addEventListener("click", () => {
      this.text.select();
      void navigator.clipboard.writeText(this.text.value).catch(() => undefined);
    });
    find("#text-run").addEventListener("click", () => {
      void this.run?.(this.text.value).then((wrong) => {
        find("#text-wrong").textContent = wrong === null ? "" : [wrong.place, wrong.message].filter(Boolean).join(": ");
        if (wrong === null) this.box.close();
      });
    });
  }

  /** Shows `text`, to be changed and run if `run` is given. */
  open(title: string, note: string, text: string, run: ((text: string) => Promise<Wrong | null>) | null) {
    this.run = run;
    find("#text-title").textContent = title;
    find("#text-note").textContent = note;
    find("#text-run").hidden = run === null;
    this.text.readOnly = run === null;
    this.text.value = text;
    find("#text-wrong").textContent = "";
    this.box.showModal();
  }
}

/** A script that makes the same run. */
export function python(toml: string): string {
  const quoted = toml.replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"');
  return `import narrows as nw

scenario = nw.Scenario.from_toml("""
${quoted}""")
result = nw.run(scenario, progress=True)
print(result)
nw.plot.window(result).figure.savefig("window.png")
`;
}

/** Saves the charts under each other as a PNG file, with what made them as words and as `record`. */
export function picture(title: string, made: string, record: string, canvases: (HTMLCanvasElement | null)[], told: Told) {
  const parts = canvases.filter((canvas) => canvas !== null);
  const scale = devicePixelRatio;
  const width = Math.max(...parts.map((part) => part.width));
  const [head, foot] = [64 * scale, 28 * scale];
  const whole = document.createElement("canvas");
  whole.width = width;
  whole.height = head + foot + parts.reduce((sum, part) => sum + part.height, 0);
  const context = whole.getContext("2d")!;
  context.fillStyle = styled("--ground");
  context.fillRect(0, 0, whole.width, whole.height);
  context.fillStyle = styled("--ink");
  context.font = `600 ${17 * scale}px system-ui, sans-serif`;
  context.fillText(title, 8 * scale, 24 * scale, width - 16 * scale);
  context.font = `${12 * scale}px system-ui, sans-serif`;
  const groups = told.groups.map((_, number) => nameOf(told, number)).join(", ");
  context.fillText(groups, 8 * scale, 46 * scale, width - 16 * scale);
  let top = head;
  for (const part of parts) {
    context.drawImage(part, 0, top);
    top += part.height;
  }
  context.fillText(made, 8 * scale, top + 18 * scale, width - 16 * scale);
  whole.toBlob(async (blob) => {
    if (blob === null) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await stamped(blob, record));
    link.download = "narrows.png";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
}
