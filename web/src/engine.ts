/** The worker that simulates, as the page speaks to it. */

import type { FromWorker, ToWorker, Told, Wrong } from "./protocol";

type Message<Is extends FromWorker["is"]> = Extract<FromWorker, { is: Is }>;

export interface Hears {
  ready(message: Message<"ready">): void;
  begun(message: Message<"begun">): void;
  rows(message: Message<"rows">): void;
  remarks(message: Message<"remarks">): void;
  changed(message: Message<"changed">): void;
  wrong(message: Message<"wrong">): void;
}

export class Engine {
  private readonly worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  private readonly asked = new Map<number, (answer: { told: Told | null; wrong: Wrong | null }) => void>();
  private asks = 0;

  constructor(hears: Hears) {
    this.worker.addEventListener("message", (event: MessageEvent<FromWorker>) => {
      const message = event.data;
      switch (message.is) {
        case "ready":
          return hears.ready(message);
        case "begun":
          return hears.begun(message);
        case "rows":
          return hears.rows(message);
        case "remarks":
          return hears.remarks(message);
        case "changed":
          return hears.changed(message);
        case "wrong":
          return hears.wrong(message);
        case "checked":
          this.asked.get(message.ask)?.(message);
          this.asked.delete(message.ask);
      }
    });
    this.worker.addEventListener("error", (event) => {
      hears.wrong({ is: "wrong", what: "start", wrong: { place: "", message: `the simulation stopped: ${event.message}` } });
    });
  }

  tell(message: ToWorker) {
    this.worker.postMessage(message);
  }

  /** What the scenario in `text` is, or what is wrong with it. */
  check(text: string): Promise<{ told: Told | null; wrong: Wrong | null }> {
    const ask = this.asks++;
    const answer = new Promise<{ told: Told | null; wrong: Wrong | null }>((resolve) => this.asked.set(ask, resolve));
    this.tell({ do: "check", text, ask });
    return answer;
  }
}
