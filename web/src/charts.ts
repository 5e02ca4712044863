/** Three charts over one time: windows, the queue, and shares of the link. */

import uPlot from "uplot";
import { colour, dash, styled } from "./colours";
import type { Column, Memory } from "./memory";
import type { Told } from "./protocol";

/** Rows that a share is a mean of. */
const SMOOTH = 10;

export interface Shown {
  memory: Memory;
  told: Told;
  /** The run that was kept, drawn in grey. */
  kept: Kept | null;
  /** The only group that is shown, if one is. */
  only: number | null;
  /** The flow whose line stands out, if one does. */
  picked: Flow | null;
  logarithmic: boolean;
}

/** A flow by its group, and its number in it. */
export interface Flow {
  group: number;
  flow: number;
}

/** Mean windows and queue of a run that was kept. */
export interface Kept {
  name: string;
  /** The row of the run with which it begins. */
  first: number;
  window: Float64Array;
  queue: Float64Array;
}

const sync = uPlot.sync("time");

/** Of a logarithmic axis only whole powers of ten are lines. */
const decades = (_: uPlot, splits: number[]) => splits.map((split) => (Number.isInteger(Math.log10(split)) ? split : null));

function axes(label: string, values?: uPlot.Axis.Values, logarithmic = false): uPlot.Axis[] {
  const of = { stroke: styled("--soft"), grid: { stroke: styled("--grid"), width: 1 }, ticks: { stroke: styled("--grid") } };
  const seconds = (_: uPlot, splits: number[]) => splits.map((split) => `${split} s`);
  return [
    { ...of, values: seconds, space: 70 },
    {
      ...of,
      ...(logarithmic ? { filter: decades, grid: { ...of.grid, filter: decades }, ticks: { ...of.ticks, filter: decades } } : {}),
      label,
      labelFont: "12px system-ui, sans-serif",
      labelSize: 18,
      size: 52,
      ...(values ? { values } : {}),
    },
  ];
}

/** Time up to now: of so many rows that a chart that has just begun is not stretched. */
const span: uPlot.Range.Function = (plot, from, to) => {
  const times = plot.data[0];
  const row = times.length > 1 ? (times[1] as number) - (times[0] as number) : 0.02;
  return [from, Math.max(to, from + 400 * row)];
};

const plain: uPlot.Axis.Values = (_, splits) => splits.map((split) => (split === null ? "" : String(split)));

/** A chart of one element, made anew when what it shows has another form. */
abstract class Chart {
  protected plot: uPlot | null = null;
  private form = "";

  constructor(protected readonly place: HTMLElement) {
    new ResizeObserver(() => this.resize()).observe(place);
  }

  get canvas(): HTMLCanvasElement | null {
    return this.plot?.root.querySelector("canvas") ?? null;
  }

  /** The row under the pointer, of those that are shown; null if it is elsewhere. */
  get pointed(): number | null {
    return this.plot?.cursor.idx ?? null;
  }

  protected abstract options(shown: Shown): Omit<uPlot.Options, "width" | "height">;
  protected abstract data(shown: Shown): uPlot.AlignedData;

  draw(shown: Shown) {
    const form = `${shown.told.groups.length} ${shown.logarithmic} ${shown.kept?.name} ${shown.only} ${styled("--ground")}`;
    const data = this.data(shown);
    if (this.plot === null || form !== this.form) {
      this.plot?.destroy();
      const { width, height } = this.size();
      const cursor: uPlot.Cursor = { sync: { key: sync.key }, y: false, drag: { x: false, y: false } };
      this.plot = new uPlot(
        { width, height, cursor, legend: { show: false }, ...this.options(shown) },
        data,
        this.place,
      );
      this.form = form;
    } else {
      this.plot.setData(data);
    }
  }

  private size() {
    return { width: this.place.clientWidth, height: this.place.clientHeight };
  }

  private resize() {
    if (this.plot && this.place.clientWidth > 0) this.plot.setSize(this.size());
  }
}

/** Lines of a plot on its canvas, clipped to it. */
function within(plot: uPlot, draw: (context: CanvasRenderingContext2D) => void) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw(ctx);
  ctx.restore();
}

/** A click within so many pixels of a line is on it. */
const NEAR = 16;

export class Windows extends Chart {
  private shown: Shown | null = null;

  /** Tells whose line was clicked: `null` if none was. */
  constructor(place: HTMLElement, picks: (flow: Flow | null) => void) {
    super(place);
    place.addEventListener("click", () => picks(this.nearest()));
  }

  /** The flow whose line is under the pointer. */
  private nearest(): Flow | null {
    const { plot, shown, pointed: row } = this;
    if (plot === null || shown === null || row === null) return null;
    const { memory, only } = shown;
    let [found, least]: [Flow | null, number] = [null, NEAR];
    memory.groups.forEach((columns, group) => {
      if (only !== null && only !== group) return;
      columns.windows.forEach((column, flow) => {
        const value = column.last(memory.shown)[row];
        if (value === undefined || Number.isNaN(value)) return;
        const away = Math.abs(plot.valToPos(Math.max(1, value), "y") - (plot.cursor.top ?? -NEAR));
        if (away < least) [found, least] = [{ group, flow }, away];
      });
    });
    return found;
  }

  protected options(shown: Shown) {
    const groups = shown.told.groups.map((_, number): uPlot.Series => {
      const show = shown.only === null || shown.only === number;
      return { stroke: colour(number), width: 2.5, dash: dash(number), points: { show: false }, show };
    });
    const kept: uPlot.Series = { stroke: styled("--soft"), width: 2, points: { show: false } };
    return {
      axes: axes("window (packets)", plain, shown.logarithmic),
      scales: { x: { time: false, range: span }, y: { distr: shown.logarithmic ? 3 : 1, range: this.range } } as uPlot.Scales,
      series: [{}, ...groups, kept],
      hooks: { drawAxes: [(plot: uPlot) => this.flows(plot)] },
    };
  }

  /** From 1 packet, as a logarithm has no 0, to above the largest that is shown. */
  private range = (): uPlot.Range.MinMax => {
    const { memory, logarithmic } = this.shown!;
    let most = 4;
    for (const group of memory.groups) {
      for (const column of group.windows) {
        for (const value of column.last(memory.shown)) if (value > most) most = value;
      }
    }
    return logarithmic ? [1, most * 1.3] : [0, most * 1.05];
  };

  protected data(shown: Shown): uPlot.AlignedData {
    this.shown = shown;
    const { memory, kept } = shown;
    const means = memory.groups.map((group) => gaps(group.window.last(memory.shown), 1));
    const times = memory.times.last(memory.shown);
    return [times, ...means, kept ? beside(kept, kept.window, memory) : []];
  }

  /** Faint lines of flows, one path for each group, and the one that was picked. */
  private flows(plot: uPlot) {
    const { memory, only, picked } = this.shown!;
    within(plot, (context) => {
      memory.groups.forEach((group, number) => {
        if (only !== null && only !== number) return;
        this.stroke(plot, context, group.windows, number, 0.3, 1);
        const column = picked?.group === number ? group.windows[picked.flow] : undefined;
        if (column !== undefined) this.stroke(plot, context, [column], number, 1, 1.6);
      });
    });
  }

  /** Lines of flows of a group, as one path. */
  private stroke(plot: uPlot, context: CanvasRenderingContext2D, columns: Column[], group: number, alpha: number, width: number) {
    const { memory } = this.shown!;
    const times = memory.times.last(memory.shown);
    const step = Math.max(1, Math.floor(times.length / Math.max(1, plot.bbox.width)));
    context.beginPath();
    for (const column of columns) {
      const values = column.last(memory.shown);
      let down = false;
      for (let at = 0; at < times.length; at += step) {
        const value = values[at]!;
        if (Number.isNaN(value)) {
          down = false;
          continue;
        }
        const x = plot.valToPos(times[at]!, "x", true);
        const y = plot.valToPos(Math.max(1, value), "y", true);
        if (down) context.lineTo(x, y);
        else context.moveTo(x, y);
        down = true;
      }
    }
    context.globalAlpha = alpha;
    context.lineWidth = width * devicePixelRatio;
    context.strokeStyle = colour(group);
    context.stroke();
  }
}

/** Values as they are drawn: nothing where there is none, and `least` at the least. */
function gaps(values: Float64Array, least = 0): (number | null)[] {
  return Array.from(values, (value) => (Number.isNaN(value) ? null : Math.max(least, value)));
}

/** The values of a run that was kept, at the same times of the run that is shown. */
function beside(kept: Kept, values: Float64Array, memory: Memory): (number | null)[] {
  const first = memory.rows - memory.shown - kept.first;
  return Array.from({ length: memory.shown }, (_, at) => {
    const value = values[first + at];
    return value === undefined || Number.isNaN(value) ? null : value;
  });
}

export class Queue extends Chart {
  private shown: Shown | null = null;

  protected options() {
    const limit: uPlot.Series = { stroke: styled("--ink"), width: 1, dash: [5, 4], points: { show: false } };
    const kept: uPlot.Series = { stroke: styled("--soft"), width: 2, points: { show: false } };
    const queue = { stroke: styled("--queue"), fill: styled("--queue-fill"), width: 1, points: { show: false } };
    return {
      axes: axes("queue (packets)", plain),
      scales: { x: { time: false, range: span }, y: { range: this.range } } as uPlot.Scales,
      series: [{}, queue, limit, kept],
      hooks: { draw: [(plot: uPlot) => this.ticks(plot)] },
    };
  }

  private range = (): uPlot.Range.MinMax => {
    const { memory } = this.shown!;
    let [queue, limit] = [4, 0];
    for (const value of memory.queue.last(memory.shown)) if (value > queue) queue = value;
    for (const value of memory.limit.last(memory.shown)) if (value > limit) limit = value;
    // A limit far above the queue is off the chart.
    return [0, Math.max(queue, Math.min(limit, 4 * queue)) * 1.25];
  };

  protected data(shown: Shown): uPlot.AlignedData {
    this.shown = shown;
    const { memory, kept } = shown;
    const [times, queue, limit] = [memory.times, memory.queue, memory.limit].map((it) => it.last(memory.shown));
    const before = kept ? beside(kept, kept.queue, memory) : [];
    return [times!, queue!, limit!, before];
  }

  /** Drops and marks as ticks from above, as long as the share of arrivals that they were. */
  private ticks(plot: uPlot) {
    const { memory } = this.shown!;
    const times = memory.times.last(memory.shown);
    within(plot, (context) => {
      const kinds = [
        [memory.marked.last(memory.shown), styled("--mark")],
        [memory.dropped.last(memory.shown), styled("--drop")],
      ] as const;
      for (const [shares, stroke] of kinds) {
        context.beginPath();
        shares.forEach((share, at) => {
          if (!(share > 0)) return;
          const x = plot.valToPos(times[at]!, "x", true);
          context.moveTo(x, plot.bbox.top);
          context.lineTo(x, plot.bbox.top + plot.bbox.height * Math.min(0.18, 0.03 + share));
        });
        context.lineWidth = devicePixelRatio;
        context.strokeStyle = stroke;
        context.stroke();
      }
    });
  }
}

export class Shares extends Chart {
  protected options(shown: Shown) {
    // The largest sum first, and the others over it: what is opaque mixes no colours.
    const groups = shown.told.groups.map((_, number): uPlot.Series => {
      const fill = colour(shown.told.groups.length - 1 - number);
      return { stroke: styled("--ground"), width: 1, fill, points: { show: false } };
    });
    return {
      axes: axes("share of the link", (_, splits) => splits.map((split) => `${Math.round(split * 100)} %`)),
      scales: { x: { time: false, range: span }, y: { range: [0, 1] } } as uPlot.Scales,
      series: [{}, ...groups],
    };
  }

  protected data({ memory, told, only }: Shown): uPlot.AlignedData {
    const times = memory.times.last(memory.shown);
    const capacity = smooth(memory.capacity.last(memory.shown));
    const sums: Float64Array[] = [];
    let below = new Float64Array(times.length);
    memory.groups.forEach((group, number) => {
      const { packet, reverse } = told.groups[number]!;
      const counts = !reverse && (only === null || only === number);
      const delivered = smooth(group.delivered.last(memory.shown));
      below = below.map((sum, at) => sum + (counts ? (delivered[at]! * packet * 8) / capacity[at]! : 0));
      sums.push(below);
    });
    return [times, ...sums.reverse()];
  }
}

/** Sums of the last [`SMOOTH`] rows; what is not known counts nothing. */
function smooth(values: Float64Array): Float64Array {
  let sum = 0;
  const known = (value: number | undefined) => (value === undefined || Number.isNaN(value) ? 0 : value);
  return values.map((value, at) => {
    sum += known(value) - known(values[at - SMOOTH]);
    return sum;
  });
}
