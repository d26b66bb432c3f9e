/** What one member did with one kind of call or message. */
export interface Count {
  calls: number;
  rows: number;
  bytes: number;
}

export type CountedArea = "store" | "bus" | "workers";

/** Counts what one member asks of the store, and sends over the bus and to workers. */
export class Meter {
  readonly #counts = new Map<string, Count>();

  add(area: CountedArea, name: string, { rows, bytes }: { rows: number; bytes: number }): void {
    const key = `${area} ${name}`;
    let count = this.#counts.get(key);
    if (count === undefined) this.#counts.set(key, (count = { calls: 0, rows: 0, bytes: 0 }));
    count.calls++;
    count.rows += rows;
    count.bytes += bytes;
  }

  /** Returns what was counted since the last call. */
  take(): Map<string, Count> {
    const counts = new Map(this.#counts);
    this.#counts.clear();
    return counts;
  }
}

/** What a phase cost each member: the mean of all, and the member with most of it. */
export interface Cost {
  readonly mean: Count;
  readonly most: Count;
}

/** Adds up the counts of all members, by area or by name within it, per second. */
export function costsOf(
  members: readonly ReadonlyMap<string, Count>[],
  seconds: number,
  nameOf: (key: string) => string,
): Map<string, Cost> {
  const names = new Set(members.flatMap((counts) => [...counts.keys()].map(nameOf)));
  return new Map([...names].sort().map((name) => [name, costOf(members, seconds, (key) => nameOf(key) === name)]));
}

function costOf(
  members: readonly ReadonlyMap<string, Count>[],
  seconds: number,
  isCounted: (key: string) => boolean,
): Cost {
  const each = members.map((counts) => {
    const sum = { calls: 0, rows: 0, bytes: 0 };
    for (const [key, { calls, rows, bytes }] of counts) {
      if (!isCounted(key)) continue;
      sum.calls += calls / seconds;
      sum.rows += rows / seconds;
      sum.bytes += bytes / seconds;
    }
    return sum;
  });
  const most = (of: (count: Count) => number): number => each.reduce((max, count) => Math.max(max, of(count)), 0);
  const mean = (of: (count: Count) => number): number =>
    each.reduce((total, count) => total + of(count), 0) / Math.max(1, each.length);
  return {
    mean: { calls: mean((of) => of.calls), rows: mean((of) => of.rows), bytes: mean((of) => of.bytes) },
    most: { calls: most((of) => of.calls), rows: most((of) => of.rows), bytes: most((of) => of.bytes) },
  };
}
