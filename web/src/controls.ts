/** The controls: what they show, and what they ask for. */

import { colour, dash } from "./colours";
import type { Memory } from "./memory";
import type { Fields, Json, Lists, Told, Wrong } from "./protocol";
import { PRESETS, asShare, bottleneck, count, detents, dumbbell, flows, latest, text } from "./setup";

export interface Asks {
  preset(toml: string): void;
  /** A change that needs no new beginning. */
  live(name: string, value: string): void;
  link(name: string, value: string): void;
  head(name: string, value: string): void;
  group(group: number, name: string, value: Json): void;
  join(group: Fields): void;
  leave(group: number, count: number): void;
  add(): void;
}

export const find = <E extends HTMLElement>(selector: string): E => document.querySelector<E>(selector)!;

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** A sample of a group's line. */
export function sample(group: number): SVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const line = document.createElementNS(space, "line");
  for (const [name, value] of Object.entries({ width: "26", height: "8", "aria-hidden": "true" })) svg.setAttribute(name, value);
  const given = { x1: "0", x2: "26", y1: "4", y2: "4", stroke: colour(group), "stroke-width": "4", "stroke-dasharray": dash(group).join(" ") };
  for (const [name, value] of Object.entries(given)) line.setAttribute(name, value);
  svg.append(line);
  return svg;
}

/** A group as people see it: `there` of its flows have not left, if that is known. */
export const nameOf = (told: Told, group: number, there = NaN): string => {
  const { name, cc, count } = told.groups[group]!;
  const many = there < count ? `${there} of ${count}` : count;
  return `${name === "" || name === cc ? "" : `${name}: `}${many} × ${cc}`;
};

const slider = find<HTMLInputElement>("#buffer");
const STEPS = 1000;

/** Places of the slider are logarithms of packets, from 1 to two bandwidth-delay products. */
const most = (told: Told) => Math.max(64, Math.round(2 * bottleneck(told).bdp), bottleneck(told).buffer?.packets ?? 0);
const toPackets = (place: number, told: Told) => Math.max(1, Math.round(Math.exp((place / STEPS) * Math.log(most(told)))));
const toPlace = (packets: number, told: Told) => (STEPS * Math.log(Math.max(1, packets))) / Math.log(most(told));

export class Controls {
  private told: Told | null = null;
  /** The buffer in packets, as it was last set. */
  packets = 20;
  private waiting: number | null = null;
  private rate = 1;
  private slidAt = -Infinity;

  constructor(private readonly asks: Asks) {
    const preset = find<HTMLSelectElement>("#preset");
    preset.append(element("option", { value: "", textContent: "a scene of your own" }));
    for (const { name, question } of PRESETS) preset.append(element("option", { value: name, textContent: question }));
    preset.addEventListener("change", () => {
      const found = PRESETS.find(({ name }) => name === preset.value);
      if (found) asks.preset(found.toml);
    });
    slider.addEventListener("input", () => this.slide(toPackets(Number(slider.value), this.told!)));
    slider.addEventListener("keydown", (event) => this.keys(event));
    for (const input of document.querySelectorAll<HTMLInputElement>("[data-live]")) {
      input.addEventListener("change", () => {
        const [name, value] = [input.dataset["live"]!, input.value.trim()];
        // No loss is none; what a link must have stays as it was.
        if (value !== "" || name === "loss") asks.live(name, value === "" ? "0%" : value);
        else input.value = text(latest(this.told!.fields)[name]);
      });
    }
    for (const input of document.querySelectorAll<HTMLInputElement>("[data-again]")) {
      input.addEventListener("change", () => asks.link(input.dataset["again"]!, input.value.trim()));
    }
    for (const input of document.querySelectorAll<HTMLSelectElement>("[data-head]")) {
      input.addEventListener("change", () => asks.head(input.dataset["head"]!, input.value));
    }
    find("#add").addEventListener("click", () => asks.add());
  }

  lists(lists: Lists) {
    const option = ({ name, summary }: { name: string; summary: string }) => element("option", { value: name, label: summary });
    const reno = ["reno+reno", "newreno", "sack"].map((name) => ({ name, summary: "Reno's law over this recovery" }));
    find("#laws").append(...[...lists.laws, ...reno].map(option));
    find("#queues").append(...lists.queues.map(option));
  }

  /** Moves by packets: arrows by one, with PageUp and PageDown to double and half. */
  private keys(event: KeyboardEvent) {
    const steps: Record<string, number> = {
      ArrowRight: this.packets + 1,
      ArrowUp: this.packets + 1,
      ArrowLeft: this.packets - 1,
      ArrowDown: this.packets - 1,
      PageUp: this.packets * 2,
      PageDown: Math.round(this.packets / 2),
      Home: 1,
      End: most(this.told!),
    };
    const next = steps[event.key];
    if (next === undefined || this.told === null) return;
    event.preventDefault();
    const packets = Math.min(most(this.told), Math.max(1, next));
    slider.value = String(toPlace(packets, this.told));
    this.slide(packets);
  }

  /** Asks once a frame at most, however often the slider moves. */
  private slide(packets: number) {
    this.packets = packets;
    this.slidAt = performance.now();
    this.units();
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.asks.live("buffer", `${this.packets}p`);
    });
  }

  /** Shows the buffer in other units, at the rate of the moment. */
  units(rate = this.rate) {
    this.rate = rate;
    const link = bottleneck(this.told!);
    const bytes = this.packets * (this.told!.groups[0]?.packet ?? 1500);
    const bdp = (rate * link.rtt) / 8 / (this.told!.groups[0]?.packet ?? 1500);
    const short = (value: number) => Number(value.toPrecision(3)).toString();
    find("#buffer-text").textContent = `${this.packets} packets`;
    slider.setAttribute("aria-valuetext", `${this.packets} packets`);
    find("#units").textContent =
      `${short(bytes / 1000)} kB = ${short((bytes * 8000) / rate)} ms = ${short(this.packets / bdp)} BDP`;
  }

  /** Shows a scenario as it is now, under its title. */
  show(told: Told, title: string) {
    this.told = told;
    const now = latest(told.fields);
    const live = dumbbell(told.fields) !== null;
    find<HTMLFieldSetElement>("#link").disabled = !live;
    slider.disabled = !live;
    for (const input of document.querySelectorAll<HTMLInputElement>("[data-live], [data-again]")) {
      const name = input.dataset["live"] ?? input.dataset["again"]!;
      const value = text(now[name]);
      if (document.activeElement !== input || !input.hasAttribute("aria-invalid")) input.value = name === "loss" ? asShare(value) : value;
    }
    const tcp = find<HTMLSelectElement>("[data-head=tcp]");
    tcp.value = text(told.fields["tcp"]);
    const preset = PRESETS.find(({ question }) => question === title);
    find<HTMLSelectElement>("#preset").value = preset?.name ?? "";
    this.marks(told);
    this.groups(told);
  }

  /** Shows who of each group has not left. */
  there(memory: Memory) {
    memory.groups.forEach(({ there }, number) => {
      const row = find("#flows").children[number];
      if (row === undefined || Number.isNaN(there)) return;
      const name = ` ${nameOf(this.told!, number, there)}${there === 0 ? ", gone" : ""}`;
      const text = row.querySelector("strong")!.lastChild!;
      if (text.textContent === name) return;
      text.textContent = name;
      for (const button of row.querySelectorAll<HTMLButtonElement>("[data-leaves]")) button.disabled = there === 0;
    });
  }

  /** Sets the slider to a buffer in packets, unless somebody is moving it. */
  buffer(packets: number, rate: number) {
    this.rate = rate;
    if (Number.isNaN(packets) || performance.now() - this.slidAt < 1500) return;
    this.packets = Math.round(packets);
    slider.value = String(toPlace(this.packets, this.told!));
    this.units();
  }

  private marks(told: Told) {
    slider.max = String(STEPS);
    const flows = told.groups.filter((group) => !group.reverse).reduce((sum, group) => sum + group.count, 0);
    const marks = detents(bottleneck(told).bdp, flows).map(({ packets, name }) => {
      const mark = element("span", { textContent: name });
      mark.style.left = `${(toPlace(packets, told) / STEPS) * 100}%`;
      return mark;
    });
    find("#detents").replaceChildren(...marks);
  }

  private groups(told: Told) {
    const given = flows(told.fields);
    const rows = given.map((flow, number) => {
      const label = (name: string, input: HTMLElement) => element("label", {}, name, input);
      const law = element("input", { value: text(flow["cc"]) || "cubic" });
      law.setAttribute("list", "laws");
      law.dataset["place"] = `flows[${number}].cc`;
      law.addEventListener("change", () => this.asks.group(number, "cc", law.value.trim()));
      const many = element("input", { value: text(flow["count"]) || "1", inputMode: "numeric" });
      many.dataset["place"] = `flows[${number}].count`;
      many.addEventListener("change", () => {
        const flows = Number(many.value);
        if (Number.isInteger(flows) && flows > 0) return this.asks.group(number, "count", flows);
        this.wrong({ place: `flows[${number}].count`, message: `"${many.value}" is not a number of flows; try 10` });
      });
      const pacing = element("select", {});
      for (const name of ["none", "even", "exponential", "fq"]) pacing.append(element("option", { value: name, textContent: name }));
      pacing.value = text(flow["pacing"]) || "none";
      pacing.dataset["place"] = `flows[${number}].pacing`;
      pacing.addEventListener("change", () => this.asks.group(number, "pacing", pacing.value === "none" ? "" : pacing.value));
      const button = (name: string, title: string, act: () => void) => {
        const disabled = dumbbell(told.fields) === null;
        const made = element("button", { textContent: name, title, disabled });
        if (/Leave|−/.test(name)) made.dataset["leaves"] = "";
        made.addEventListener("click", act);
        return made;
      };
      const { start: _, stop: __, stops: ___, name: ____, ...alike } = flow;
      const more = (count: number) => this.asks.join({ ...alike, count });
      return element(
        "div",
        { className: "flow" },
        element("strong", {}, sample(number), ` ${nameOf(told, number)}`),
        label("Law ↻", law),
        label("Flows ↻", many),
        label("Pacing ↻", pacing),
        element(
          "div",
          { className: "buttons" },
          button("+1", "One more like these joins now", () => more(1)),
          button("+10", "Ten more like these join now", () => more(10)),
          button("−1", "One of these leaves now", () => this.asks.leave(number, 1)),
          button("Leave", "All of these stop now", () => this.asks.leave(number, count(flow))),
        ),
      );
    });
    // Who was in a field stays there.
    const place = find("#flows");
    const all = "button, input, select";
    const focused = [...place.querySelectorAll(all)].indexOf(document.activeElement!);
    place.replaceChildren(...rows);
    if (focused >= 0) place.querySelectorAll<HTMLElement>(all)[focused]?.focus();
  }

  /** Says what is wrong, and marks the field. */
  wrong(wrong: Wrong | null) {
    for (const marked of document.querySelectorAll("[aria-invalid]")) marked.removeAttribute("aria-invalid");
    const place = find("#wrong");
    place.hidden = wrong === null;
    if (wrong === null) return;
    find("#sheet").setAttribute("aria-expanded", "true");
    place.scrollIntoView({ block: "nearest" });
    place.textContent = wrong.place === "" ? wrong.message : `${wrong.place}: ${wrong.message}`;
    const field = wrong.place.split(".").at(-1)?.replace(/\[\d+\]$/, "") ?? "";
    const named = `[data-live="${CSS.escape(field)}"], [data-again="${CSS.escape(field)}"], [data-place="${CSS.escape(wrong.place)}"]`;
    document.querySelector(named)?.setAttribute("aria-invalid", "true");
  }
}
