/** Numbers and group cards beside the charts. */

import { element, find, nameOf, sample } from "./controls";
import type { Memory } from "./memory";
import { type Numbers, amount, numbers, percent, remark, time } from "./numbers";
import type { Told, Wrong } from "./protocol";
import { dumbbell, text } from "./setup";

/** Numbers are of this many seconds at the most, and rows. */
const ROWS = 500;

export class Board {
  /** The group that is shown alone. */
  only: number | null = null;
  /** The simulator's own, of the run so far. */
  remarks: Wrong[] = [];
  private kept: Numbers | null = null;
  private last: Numbers | null = null;

  constructor() {
    find("#say").addEventListener("click", () => this.say());
  }

  keep() {
    this.kept = this.last;
  }

  forget() {
    this.only = null;
    this.remarks = [];
    this.last = null;
    find("#totals").replaceChildren();
    find("#groups").replaceChildren();
    find("#remark").textContent = "";
  }

  draw(memory: Memory, told: Told, now: number) {
    if (memory.rows === 0) return;
    const shown = numbers(memory, told, Math.min(ROWS, memory.shown));
    this.last = shown;
    const total = (name: string, of: (numbers: Numbers) => string, more: (numbers: Numbers) => string) => {
      const kept = this.kept ? [element("small", { textContent: `kept: ${of(this.kept)}, ${more(this.kept)}` })] : [];
      const small = element("small", { textContent: more(shown) });
      return element("div", {}, element("dt", { textContent: name }), element("dd", {}, of(shown), small, ...kept));
    };
    // Where queues are several, one behind another does not wait for all.
    const single = /^(|drop-tail|red|pie|codel)(:|$)/.test(text(dumbbell(told.fields)?.["queue"]));
    const there = (number: number) => memory.groups[number]?.there || 0;
    const forward = told.groups.reduce((sum, group, number) => sum + (group.reverse ? 0 : there(number)), 0);
    const link = told.links.length > 2 ? ` of ${told.links[0]!.name}` : "";
    find("#totals").replaceChildren(
      total(`Utilisation${link}`, (of) => percent(of.utilisation), (of) => `over ${amount(of.seconds)} s`),
      total("Loss in the queue", (of) => percent(of.loss), () => "of what arrived"),
      total(
        single ? "Queueing delay" : "Queue ÷ rate",
        (of) => time(of.delay.p50),
        (of) => `median; 99 %: ${time(of.delay.p99)}`,
      ),
      total(
        "Fairness",
        (of) => amount(of.fairness),
        (of) => `Jain's index, ${of.flows}${of.flows < forward && of === shown ? ` of ${forward}` : ""} flow${of.flows === 1 ? "" : "s"}`,
      ),
    );
    this.cards(shown, told, memory);
    find("#remark").textContent = remark(memory, told, now, this.remarks);
  }

  private cards(shown: Numbers, told: Told, memory: Memory) {
    const place = find("#groups");
    while (place.childElementCount > told.groups.length) place.lastElementChild!.remove();
    told.groups.forEach((_, number) => {
      let card = place.children[number] as HTMLButtonElement | undefined;
      if (card === undefined) {
        card = element("button", { className: "group", title: "Show only these" });
        card.addEventListener("click", () => {
          this.only = this.only === number ? null : number;
        });
        place.append(card);
      }
      card.setAttribute("aria-pressed", String(this.only === number));
      const { share, loss, rtt } = shown.groups[number] ?? { share: NaN, loss: NaN, rtt: NaN };
      card.replaceChildren(
        element("b", {}, sample(number), nameOf(told, number, memory.groups[number]?.there)),
        `${percent(share)} of the link${this.kept?.groups[number] ? `, kept: ${percent(this.kept.groups[number].share)}` : ""}`,
        element("br"),
        element("span", { className: "soft", textContent: `${percent(loss)} lost, RTT ${time(rtt)}` }),
      );
    });
  }

  private say() {
    if (this.last === null) return;
    const { utilisation, loss, delay, fairness } = this.last;
    find("#spoken").textContent =
      `Utilisation ${percent(utilisation)}, loss ${percent(loss)}, median queueing delay ${time(delay.p50)}, fairness ${amount(fairness)}.`;
  }
}
