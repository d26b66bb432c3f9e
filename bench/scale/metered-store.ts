import type { Batch, ClusterView, Store } from "../../src/stores/store.ts";
import { wrapStore } from "../../src/stores/wrap-store.ts";
import { sum } from "../statistics.ts";
import type { Meter } from "./meter.ts";
import type { Owner, VirtualTime } from "./virtual-time.ts";

/** One way to the database or back. */
const wayMs = 0.5;

/** The database outlives its connections. */
const nothing = async (): Promise<void> => undefined;

/**
 * The connection of one member to the database that all share. It counts calls, the rows that are read or written, and the
 * bytes of what is passed in and returned, as JSON. A member that is dead gets no answers.
 */
export function meteredStore(shared: Store, parts: { meter: Meter; time: VirtualTime; owner: Owner }): Store {
  const { meter, time, owner } = parts;
  const wrapped = wrapStore(shared, (name, method) => {
    const call = (...given: Parameters<typeof method>): unknown => carry(name, given);
    const carry = async (called: keyof Store, given: readonly unknown[]): Promise<unknown> => {
      await way();
      const answer: unknown = await (method as (...all: unknown[]) => unknown).apply(shared, [...given]);
      meter.add("store", called, { rows: rowsOf(called, given, answer), bytes: bytesOf(given) + bytesOf(answer) });
      await way();
      return answer;
    };
    return call as typeof method;
  });
  const way = (): Promise<void> => new Promise((resolve) => void time.after(wayMs, owner, resolve));
  // A server has no files that disappear.
  const { verify: _, ...ofServer } = wrapped;
  return { ...ofServer, clusters: "possible", lanes: 4, open: nothing, close: nothing };
}

function rowsOf(name: keyof Store, given: readonly unknown[], answer: unknown): number {
  if (name === "commit") {
    const { fences, changes } = given[0] as Batch;
    return sum([fences, ...(Object.values(changes) as unknown[][])].map((rows) => rows.length));
  }
  if (name === "heartbeat") {
    const { members, shards } = answer as ClusterView;
    return members.length + shards.length;
  }
  return Array.isArray(answer) ? answer.length : 1;
}

function bytesOf(value: unknown): number {
  return value === undefined ? 0 : (JSON.stringify(value) ?? "").length;
}
