import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

/** Rows above and below those in sight that are drawn as well, so that a turn of the wheel shows no gap. */
const overscan = 20;
/** The range moves in steps of as many rows: not every turn of the wheel draws. */
const step = 10;

export interface RowWindow {
  /** The rows that are drawn: from `first` up to and without `last`. */
  readonly first: number;
  readonly last: number;
  /** Height of the rows that are left out above and below, in pixels. */
  readonly above: number;
  readonly below: number;
}

/**
 * Which rows of a table that scrolls with the page are drawn. Rows may differ in height: those that were never drawn are
 * taken to have the usual one.
 */
export function useRowWindow(body: RefObject<HTMLElement | null>, count: number, usualHeight: number) {
  const heights = useRef<number[]>([]);
  const [range, setRange] = useState({ first: 0, last: 2 * overscan });
  const sumOf = (from: number, to: number): number => {
    let sum = 0;
    for (let row = from; row < to; row++) sum += heights.current[row] ?? usualHeight;
    return sum;
  };
  const place = useCallback((): void => {
    if (body.current === null) return;
    const top = -body.current.getBoundingClientRect().top;
    let row = 0;
    for (let bottom = 0; row < count; row++) {
      bottom += heights.current[row] ?? usualHeight;
      if (bottom > top) break;
    }
    const seen = row;
    for (let left = window.innerHeight; row < count && left > 0; row++) left -= heights.current[row] ?? usualHeight;
    const first = Math.max(0, Math.floor((seen - overscan) / step) * step);
    const last = Math.ceil((row + overscan) / step) * step;
    setRange((before) => (before.first === first && before.last === last ? before : { first, last }));
  }, [body, count, usualHeight]);
  const first = Math.min(range.first, count);
  const last = Math.min(Math.max(range.last, first), count);
  useLayoutEffect(() => {
    heights.current.length = Math.min(heights.current.length, count);
    const rows = body.current?.querySelectorAll<HTMLElement>("tr[data-row]") ?? [];
    for (const row of rows) heights.current[Number(row.dataset["row"])] = row.offsetHeight;
  }, [body, first, last, count]);
  useEffect(() => {
    place();
    window.addEventListener("scroll", place, { passive: true });
    window.addEventListener("resize", place);
    return () => {
      window.removeEventListener("scroll", place);
      window.removeEventListener("resize", place);
    };
  }, [place]);
  /** Brings a row into sight, also one that is not drawn. */
  const show = (row: number): void => {
    if (body.current === null) return;
    const top = body.current.getBoundingClientRect().top + sumOf(0, row);
    const height = heights.current[row] ?? usualHeight;
    // The bars at the top of the page and, on phones, at its bottom.
    const margin = 60;
    if (top < margin) window.scrollBy(0, top - margin);
    else if (top + height > window.innerHeight - margin) window.scrollBy(0, top + height - window.innerHeight + margin);
  };
  const rows: RowWindow = { first, last, above: sumOf(0, first), below: sumOf(last, count) };
  return { rows, show };
}
