import { middleEllipsis } from "../base/format.ts";

/** Width of a text in the font that is set. */
export type Measure = (text: string) => number;

/** Below these scales a node has no second line, an edge neither arrow nor label, and a node is a block of colour. */
export const detailsFrom = 0.7;
export const arrowsFrom = 0.4;
export const namesFrom = 0.26;

/** Text has this many pixels on the screen, or more, while the largest size that a node has room for allows it. */
const screenMin = 11;
const sizeMax = 20;

/** Size of a text in the graph's units: the usual one, or as much more as a small scale asks for. */
export function textSize(usual: number, scale: number): number {
  return Math.max(usual, Math.min(sizeMax, screenMin / scale));
}

/** Shortens a text in its middle until it fits. */
export function fitText(text: string, room: number, measure: Measure): string {
  const width = measure(text);
  if (width <= room) return text;
  let length = Math.max(4, Math.floor((text.length * room) / width));
  while (length > 4 && measure(middleEllipsis(text, length)) > room) length--;
  return middleEllipsis(text, length);
}

/** A second line whose parts are worth more the later they come: a duration is kept longer than the name of the job. */
export function fitDetail(detail: string, room: number, measure: Measure): string {
  const parts = detail.split(" · ");
  while (parts.length > 1 && measure(parts.join(" · ")) > room) parts.shift();
  return fitText(parts.join(" · "), room, measure);
}

/** A name in one line, or in two where it may be broken; the second is shortened. */
export function wrapName(name: string, room: number, measure: Measure): readonly string[] {
  if (measure(name) <= room) return [name];
  let length = name.length - 1;
  while (length > 1 && measure(name.slice(0, length)) > room) length--;
  const [, whole = ""] = /^(.*[-_.:/\s])/.exec(name.slice(0, length)) ?? [];
  // A break in the middle of a word is better than a line of two letters.
  const at = whole.length * 3 >= length ? whole.length : length;
  return [name.slice(0, at).trimEnd(), fitText(name.slice(at).trimStart(), room, measure)];
}
