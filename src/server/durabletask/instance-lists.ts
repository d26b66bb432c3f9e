import type { OrchestrationState, PurgeInstancesRequest } from "../../durabletask/client-messages.ts";
import type { Given } from "../../durabletask/message.ts";
import { hasCode } from "../../base/error.ts";
import type { EngineNamespace } from "../../engine/engine-namespace.ts";
import { hasEnded, type InstanceStatus } from "../../kernel/status.ts";
import type { InstanceFilter, InstanceSummary } from "../../stores/store.ts";
import { cursorOf, placeOf } from "../http/cursor.ts";
import { instanceStatuses, readState } from "./orchestration-state.ts";

export interface InstanceQuery {
  readonly statuses: readonly number[];
  readonly createdFrom: number | undefined;
  readonly createdTo: number | undefined;
  readonly limit: number;
  readonly continuationToken: string | undefined;
  readonly idPrefix: string | undefined;
  readonly getInputsAndOutputs: boolean;
}

/** Ended instances by the time of their end. */
export interface EndedQuery {
  readonly statuses: readonly number[];
  readonly completedFrom: number | undefined;
  readonly completedTo: number | undefined;
  readonly limit: number;
  readonly lastKey: string | undefined;
}

export interface PageOfIds {
  readonly instanceIds: string[];
  /** The place after the last; undefined if there are no more. */
  readonly next: string | undefined;
}

const pageMax = 1000;
const pageDefault = 100;

const endedStatuses: readonly InstanceStatus[] = ["Success", "Failed", "Terminated"];

/** Lists of the instances of a namespace, newest first. */
export class InstanceLists {
  readonly #engine: EngineNamespace;

  constructor(engine: EngineNamespace) {
    this.#engine = engine;
  }

  /** Instances and the token of the next page. */
  async query(
    query: InstanceQuery,
  ): Promise<{ states: Given<OrchestrationState>[]; continuationToken: string | undefined }> {
    const limit = query.limit > 0 ? Math.min(query.limit, pageMax) : pageDefault;
    const status = instanceStatuses(query.statuses);
    if (query.statuses.length > 0 && status.length === 0) return { states: [], continuationToken: undefined };
    const rows = await this.#engine.listWorkflowInstances({
      ...(status.length > 0 && { status }),
      ...createdBetween(query),
      ...(query.idPrefix !== undefined && { idPrefix: query.idPrefix }),
      ...after(query.continuationToken),
      limit: limit + 1,
    });
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    const states = await Promise.all(page.map(({ id }) => this.#state(id, query.getInputsAndOutputs)));
    return { states: states.filter((state) => state !== undefined), continuationToken: last && cursorAt(last) };
  }

  /** Ids of instances that have ended in that time. */
  async ended({ statuses, completedFrom = 0, completedTo = Infinity, limit, lastKey }: EndedQuery): Promise<PageOfIds> {
    const status = statusesOfEnd(statuses);
    if (status === undefined) return { instanceIds: [], next: undefined };
    const isWanted = ({ endedAt }: InstanceSummary): boolean =>
      endedAt !== null && endedAt >= completedFrom && endedAt < completedTo;
    return await this.#ids({ status }, { limit, token: lastKey, isWanted });
  }

  /** Ids of all instances. */
  all(limit: number, token: string): Promise<PageOfIds> {
    return this.#ids({}, { limit, token, isWanted: () => true });
  }

  /** Ids of all ended instances that the filter of a purge names. */
  async endedIds(filter: NonNullable<PurgeInstancesRequest["filter"]>): Promise<string[]> {
    const status = statusesOfEnd(filter.statuses);
    if (status === undefined) return [];
    const ids: string[] = [];
    for (let token: string | undefined = ""; token !== undefined;) {
      const asked = { limit: pageMax, token, isWanted: () => true };
      const page: PageOfIds = await this.#ids({ status, ...createdBetween(filter) }, asked);
      ids.push(...page.instanceIds);
      token = page.next;
    }
    return ids;
  }

  /** Reads on until the page is full. */
  async #ids(
    filter: Partial<InstanceFilter>,
    { limit: given, token, isWanted }: { limit: number; token: string | undefined; isWanted: IsWanted },
  ): Promise<PageOfIds> {
    const limit = given > 0 ? Math.min(given, pageMax) : pageMax;
    const instanceIds: string[] = [];
    for (let place = token; ;) {
      const rows = await this.#engine.listWorkflowInstances({ ...filter, ...after(place), limit: pageMax });
      for (const [at, row] of rows.entries()) {
        if (!isWanted(row)) continue;
        instanceIds.push(row.id);
        const isLast = at === rows.length - 1 && rows.length < pageMax;
        if (instanceIds.length === limit) return { instanceIds, next: isLast ? undefined : cursorAt(row) };
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < pageMax) return { instanceIds, next: undefined };
      place = cursorAt(last);
    }
  }

  async #state(instanceId: string, withPayloads: boolean): Promise<Given<OrchestrationState> | undefined> {
    try {
      const view = await this.#engine.getWorkflowInstanceStatus(instanceId);
      return await readState(this.#engine, view, withPayloads);
    } catch (error) {
      if (hasCode(error, "INSTANCE_UNKNOWN")) return undefined;
      throw error;
    }
  }
}

type IsWanted = (row: InstanceSummary) => boolean;

/** All statuses of ended instances if none is named; undefined if only others are. */
function statusesOfEnd(numbers: readonly number[]): readonly InstanceStatus[] | undefined {
  if (numbers.length === 0) return endedStatuses;
  const asked = instanceStatuses(numbers).filter((status) => hasEnded(status));
  return asked.length === 0 ? undefined : asked;
}

function cursorAt({ createdAt, key }: InstanceSummary): string {
  return cursorOf([createdAt, key]);
}

/** An empty token asks for the first page. */
function after(token: string | undefined): Pick<InstanceFilter, "before"> {
  const place = placeOf<[number, number]>(token === "" ? undefined : token, ["number", "number"]);
  return place === undefined ? {} : { before: { createdAt: place[0], key: place[1] } };
}

function createdBetween(filter: {
  readonly createdFrom: number | undefined;
  readonly createdTo: number | undefined;
}): Pick<InstanceFilter, "createdFrom" | "createdTo"> {
  const { createdFrom, createdTo } = filter;
  return {
    ...(createdFrom !== undefined && { createdFrom: Math.max(0, createdFrom) }),
    ...(createdTo !== undefined && { createdTo: Math.max(0, createdTo) }),
  };
}
