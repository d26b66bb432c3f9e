import type { OutboxRow, SentRow } from "./store.ts";

/** Returns the highest number of each pair of shards among the messages of a commit, by source and target. */
export function lastSent(outbox: readonly OutboxRow[]): SentRow[] {
  if (outbox.length === 0) return [];
  const last = new Map<string, SentRow>();
  for (const { source, target, number } of outbox) {
    const pair = `${source}/${target}`;
    if (number > (last.get(pair)?.number ?? 0)) last.set(pair, { source, target, number });
  }
  return [...last.values()].sort((a, b) => a.source - b.source || a.target - b.target);
}
