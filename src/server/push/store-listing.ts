import type { EngineNamespace } from "../../engine/engine-namespace.ts";
import { hasEnded } from "../../kernel/status.ts";
import type { InstanceSummary } from "../../stores/store.ts";

/** A listed instance. */
export interface Listed {
  readonly summary: InstanceSummary;
  /** The text that is pushed for the instance. */
  readonly text: string;
}

export interface Listing {
  /** Oldest first. */
  readonly items: readonly Listed[];
  /** False if there are more. */
  readonly isComplete: boolean;
}

const pageSize = 1000;
const itemsMax = 20_000;

/** One read of the list, and its waiting clients. */
interface Reading {
  readonly isWantedBy: (() => boolean)[];
  readonly listing: Promise<Listing>;
}

/**
 * Lists the newest instances of the store for resuming clients. After a restart all clients resume at once:
 * requests during a read share the next one. A read without waiting clients is aborted.
 */
export class StoreListing {
  readonly #engine: Pick<EngineNamespace, "listWorkflowInstances">;
  /** Current reads by workflow; undefined for all. */
  readonly #current = new Map<string | undefined, Reading>();
  readonly #next = new Map<string | undefined, Reading>();

  constructor(engine: Pick<EngineNamespace, "listWorkflowInstances">) {
    this.#engine = engine;
  }

  /** Reads the list; the result is not older than the call. */
  read(workflow: string | undefined, isWanted: () => boolean): Promise<Listing> {
    const current = this.#current.get(workflow);
    const reading =
      current === undefined
        ? this.#begin(workflow, [])
        : (this.#next.get(workflow) ?? this.#planNext(workflow, current));
    reading.isWantedBy.push(isWanted);
    return reading.listing;
  }

  #planNext(workflow: string | undefined, current: Reading): Reading {
    const isWantedBy: (() => boolean)[] = [];
    const begin = (): Promise<Listing> => this.#begin(workflow, isWantedBy).listing;
    const next = { isWantedBy, listing: current.listing.then(begin, begin) };
    this.#next.set(workflow, next);
    return next;
  }

  #begin(workflow: string | undefined, isWantedBy: (() => boolean)[]): Reading {
    const listing = this.#readPages(workflow, isWantedBy).finally(() => {
      if (this.#current.get(workflow) === reading) this.#current.delete(workflow);
    });
    const reading: Reading = { isWantedBy, listing };
    this.#current.set(workflow, reading);
    this.#next.delete(workflow);
    return reading;
  }

  async #readPages(workflow: string | undefined, isWantedBy: readonly (() => boolean)[]): Promise<Listing> {
    const items: Listed[] = [];
    let before: { createdAt: number; key: number } | undefined;
    for (;;) {
      const page = await this.#engine.listWorkflowInstances({
        limit: pageSize,
        ...(workflow !== undefined && { workflow }),
        ...(before !== undefined && { before }),
      });
      if (!isWantedBy.some((isWanted) => isWanted())) return { items: [], isComplete: false };
      for (const summary of page) items.push({ summary, text: textOf(summary) });
      before = page.at(-1);
      if (page.length < pageSize) return { items: items.reverse(), isComplete: true };
      if (items.length >= itemsMax) return { items: items.reverse(), isComplete: false };
    }
  }
}

/** Unfinished, or ended after that time. */
export function mayHaveChangedSince({ status, endedAt }: InstanceSummary, since: number): boolean {
  return !hasEnded(status) || endedAt === null || endedAt >= since;
}

function textOf({ id, workflow, status, reason, createdAt, endedAt }: InstanceSummary): string {
  return JSON.stringify({
    instanceId: id,
    workflowName: workflow,
    at: endedAt ?? createdAt,
    status,
    reason: reason ?? undefined,
    createdAt,
    endedAt: endedAt ?? undefined,
    nodes: [],
    resync: true,
  });
}
