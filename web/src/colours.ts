/** Colours and dashes of groups: Okabe and Ito's, each in a shade that is seen on either ground. */

const LIGHT = ["#0072b2", "#c25100", "#007a5a", "#a8467f", "#8a6a00", "#3f7fa6", "#5b5b5b", "#7a4fbf"];
const DARK = ["#5ab4ec", "#ff9d54", "#3ccfa0", "#ee9cc8", "#e9c646", "#9bd3f5", "#c2c2c2", "#c3a5ff"];
/** Besides the colour, so that nobody needs to tell it. */
const DASHES: number[][] = [[], [], [6, 3], [2, 3], [10, 3, 2, 3], [12, 4], [4, 4], [1, 4]];

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

export function colour(group: number): string {
  const colours = isDark() ? DARK : LIGHT;
  return colours[group % colours.length]!;
}

export const dash = (group: number): number[] => DASHES[group % DASHES.length]!;

/** A colour of the page, as its style has it. */
export const styled = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();
