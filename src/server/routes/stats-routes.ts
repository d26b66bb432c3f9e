import type { DataOf } from "../../api/routes.ts";
import { isOwnWorkflowName } from "../../kernel/event.ts";
import type { InstanceSummary } from "../../stores/store.ts";
import type { AuthorizedRequest, Handlers } from "../http/handler.ts";
import type { RouteParts } from "./route-parts.ts";

type Stats = DataOf<"getStats">;

const pageSize = 1000;
/** Limit of the scan: statistics of a busy store are those of its newest instances. */
const countedMax = 20_000;
const hourMs = 3_600_000;
/** Dashboards of many people ask for the same. */
const freshMs = 2000;

/** Statistics of ended instances. */
export function statsRoutes(parts: RouteParts): Pick<Handlers, "getStats"> {
  const recent = new Map<string, { readonly at: number; readonly stats: Promise<Stats> }>();
  return {
    getStats: ({ query }) => {
      const now = parts.clock.now();
      const key = JSON.stringify(query);
      const known = recent.get(key);
      if (known !== undefined && now - known.at < freshMs) return known.stats;
      for (const [each, { at }] of recent) if (now - at >= freshMs) recent.delete(each);
      const stats = countEnded(parts, query);
      recent.set(key, { at: now, stats });
      stats.catch(() => recent.delete(key));
      return stats;
    },
  };
}

async function countEnded(
  { engine, clock }: RouteParts,
  { hours, buckets, workflow }: AuthorizedRequest<"getStats">["query"],
): Promise<Stats> {
  const to = clock.now();
  const from = Math.floor(to - hours * hourMs);
  const counter = new BucketCounter({ from, to, count: buckets });
  let before: { createdAt: number; key: number } | undefined;
  let counted = 0;
  for (; counted < countedMax; counted += pageSize) {
    const rows = await engine.listWorkflowInstances({
      status: ["Success", "Failed", "Terminated"],
      createdFrom: from,
      limit: pageSize,
      ...(workflow !== undefined && { workflow }),
      ...(before !== undefined && { before }),
    });
    for (const row of rows) if (!isOwnWorkflowName(row.workflow)) counter.add(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) break;
    before = { createdAt: last.createdAt, key: last.key };
  }
  return counter.finish(counted < countedMax);
}

interface Bucket {
  success: number;
  failed: number;
  terminated: number;
  readonly durationsMs: number[];
}

const fieldOf = { Success: "success", Failed: "failed", Terminated: "terminated" } as const;

class BucketCounter {
  readonly #from: number;
  readonly #to: number;
  readonly #bucketMs: number;
  readonly #buckets: Bucket[];

  constructor({ from, to, count }: { readonly from: number; readonly to: number; readonly count: number }) {
    this.#from = from;
    this.#to = to;
    this.#bucketMs = (to - from) / count;
    this.#buckets = Array.from({ length: count }, () => ({ success: 0, failed: 0, terminated: 0, durationsMs: [] }));
  }

  add({ status, createdAt, endedAt }: InstanceSummary): void {
    if (endedAt === null || (status !== "Success" && status !== "Failed" && status !== "Terminated")) return;
    const place = Math.min(this.#buckets.length - 1, Math.floor((endedAt - this.#from) / this.#bucketMs));
    const bucket = this.#buckets[place];
    if (bucket === undefined) return;
    bucket[fieldOf[status]]++;
    bucket.durationsMs.push(endedAt - createdAt);
  }

  finish(isComplete: boolean): Stats {
    const sum = (field: "success" | "failed" | "terminated"): number =>
      this.#buckets.reduce((total, bucket) => total + bucket[field], 0);
    return {
      from: this.#from,
      to: this.#to,
      bucketMs: this.#bucketMs,
      isComplete,
      buckets: this.#buckets.map(({ durationsMs, ...counts }) => {
        const sorted = durationsMs.sort((a, b) => a - b);
        return { ...counts, p50Ms: quantile(sorted, 0.5), p95Ms: quantile(sorted, 0.95) };
      }),
      success: sum("success"),
      failed: sum("failed"),
      terminated: sum("terminated"),
    };
  }
}

function quantile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
}
