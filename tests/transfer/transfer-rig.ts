import { eventsIn, textOfEvents } from "../../src/kernel/event-text.ts";
import type { OutboxMessage } from "../../src/runtime/outbox.ts";
import type { Store } from "../../src/stores/store.ts";
import { exportInstances } from "../../src/transfer.ts";
import type { Line } from "../../src/transfer/export-line.ts";

export async function linesOf(store: Store): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of exportInstances(store)) lines.push(line);
  return lines;
}

/** What an export says, without what may differ between stores: keys are names, messages are by who writes to whom. */
export interface Told {
  readonly definitions: readonly string[];
  readonly others: readonly string[];
  readonly instances: ReadonlyMap<string, readonly string[]>;
  readonly messages: ReadonlyMap<string, readonly string[]>;
}

export function told(lines: readonly string[]): Told {
  const parsed = lines.map((line) => JSON.parse(line) as Line);
  const names = namesOf(parsed);
  const nameOf = (key: number): string => names.get(key) ?? "nobody";
  const instances = new Map<string, string[]>();
  const messages = new Map<string, string[]>();
  const definitions: string[] = [];
  const others: string[] = [];
  let current: string[] = [];
  for (const line of parsed) {
    switch (line.kind) {
      case "unfinished":
      case "finished":
        for (const { key, ...row } of line.rows) {
          current = [JSON.stringify(row)];
          instances.set(nameOf(key), current);
        }
        break;
      case "history":
        for (const row of line.rows) current.push(JSON.stringify({ ...row, events: named(row.events, nameOf) }));
        break;
      case "payloads":
        for (const row of line.rows) current.push(JSON.stringify(row));
        break;
      case "messages":
        for (const { body } of line.rows) {
          const message = JSON.parse(named(body, nameOf)) as OutboxMessage;
          const pair = `${String(message.from)} → ${message.to}`;
          messages.set(pair, [...(messages.get(pair) ?? []), JSON.stringify(message)]);
        }
        break;
      case "definitions":
        for (const row of line.rows) definitions.push(JSON.stringify(row));
        break;
      case "documents":
        // Revisions are each store's own.
        for (const row of line.rows) others.push(JSON.stringify({ ...row, revision: 0 }));
        break;
      case "jobs":
      case "domains":
        for (const row of line.rows) others.push(JSON.stringify(row));
        break;
      default:
    }
  }
  // Of somebody who is gone the messages are in no order.
  for (const [pair, each] of messages) if (pair.startsWith("nobody")) messages.set(pair, each.sort());
  return { definitions, others, instances, messages };
}

/** By id and by which of those with that id it is. */
function namesOf(lines: readonly Line[]): Map<number, string> {
  const rows = lines.flatMap((line) => (line.kind === "keys" ? line.rows : [])).sort((a, b) => a.key - b.key);
  const lives = new Map<string, number>();
  return new Map(
    rows.map(({ key, id }) => {
      const life = (lives.get(id) ?? 0) + 1;
      lives.set(id, life);
      return [key, `${id} #${life}`];
    }),
  );
}

/** Keys stand in the address of a parent and as the sender of a message. */
function named(text: string, nameOf: (key: number) => string): string {
  const name = (holder: { key?: number | string; from?: number | string }): void => {
    if (typeof holder.key === "number") holder.key = nameOf(holder.key);
    if (typeof holder.from === "number") holder.from = nameOf(holder.from);
  };
  const value = text.startsWith("[") ? eventsIn(text) : (JSON.parse(text) as OutboxMessage);
  for (const each of Array.isArray(value) ? value : [value]) {
    name(each as object);
    const holder = "order" in each ? each.order : each;
    if ("parent" in holder && typeof holder.parent === "object") name(holder.parent);
  }
  return Array.isArray(value) ? textOfEvents(value) : JSON.stringify(value);
}
