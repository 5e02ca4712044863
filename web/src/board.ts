/** Numbers and group cards beside the charts. */

import { element, find, nameOf, sample } from "./controls";
import type { Memory } from "./memory";
import { type Numbers, amount, numbers, percent, remark, time } from "./numbers";
import type { Told } from "./protocol";

/** Numbers are of this many seconds at the most, and rows. */
const ROWS = 500;

export class Board {
  /** The group that is shown alone. */
  only: number | null = null;
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
    this.last = null;
  }

  draw(memory: Memory, told: Told, now: number) {
    if (memory.rows === 0) return;
    const shown = numbers(memory, told, Math.min(ROWS, memory.shown));
    this.last = shown;
    const before = (of: (numbers: Numbers) => string) => (this.kept ? `kept: ${of(this.kept)}` : "");
    const total = (name: string, of: (numbers: Numbers) => string, more: string) =>
      element("div", {}, element("dt", { textContent: name }), element("dd", {}, of(shown), element("small", { textContent: before(of) || more })));
    find("#totals").replaceChildren(
      total("Utilisation", (of) => percent(of.utilisation), `over ${amount(shown.seconds)} s`),
      total("Loss in the queue", (of) => percent(of.loss), "of what arrived"),
      total("Queueing delay", (of) => time(of.delay.p50), `median; 99 %: ${time(shown.delay.p99)}`),
      total("Fairness", (of) => amount(of.fairness), `Jain's index, ${shown.flows} flows`),
    );
    this.cards(shown, told);
    find("#remark").textContent = remark(memory, told, now);
  }

  private cards(shown: Numbers, told: Told) {
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
      const { share, loss, rtt } = shown.groups[number]!;
      card.replaceChildren(
        element("b", {}, sample(number), nameOf(told, number)),
        `${percent(share)} of the link`,
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
