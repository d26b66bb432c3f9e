import { randomUUID } from "node:crypto";
import type { Clock, Timer } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { CodeHost } from "../../dispatch/code-host.ts";
import type { Link, LinkListener } from "../../dispatch/link.ts";
import type { Grant } from "../../dispatch/session-message.ts";
import type { Dialect } from "../../durabletask/dialect.ts";
import { activityJob } from "../../durabletask/names.ts";
import type { KnownNames } from "../../durabletask/steps-of-actions.ts";
import {
  type ActivityResponse,
  type GetWorkItemsRequest,
  type OrchestratorResponse,
  workItem,
} from "../../durabletask/worker-messages.ts";
import type { Step } from "../../kernel/code/step.ts";
import { activityKey, outcomeOf, requestOf } from "./activity-items.ts";
import { ActivitySession } from "./activity-session.ts";
import type { Caller } from "../request/caller.ts";
import { OrchestratorHost } from "./orchestrator-items.ts";
import { type PendingItem, PendingItems } from "./work-items.ts";

/** Work items of one namespace that streams have not answered. */
export interface WorkItems {
  readonly activities: PendingItems<ActivityResponse>;
  readonly orchestrators: PendingItems<OrchestratorResponse>;
}

export function makeWorkItems(): WorkItems {
  return { activities: new PendingItems(), orchestrators: new PendingItems() };
}

/** What a stream needs of the hub that it serves. */
export interface TaskHubOfStream {
  readonly items: WorkItems;
  readonly known: KnownNames;
  /** The name of an instance's workflow; undefined if there is no such instance any more. */
  nameOf(instanceId: string): Promise<string | undefined>;
  /** Makes the orchestrations known that are started as children, before they are. */
  prepare(steps: readonly Step[]): Promise<void>;
  acceptWorker(link: Link, principal: string): LinkListener;
  addCodeHost(host: CodeHost): (how: "lost" | "left") => void;
}

export interface WorkItemStreamParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dialect: Dialect;
  readonly request: GetWorkItemsRequest;
  readonly hub: TaskHubOfStream;
  readonly caller: Pick<Caller, "name" | "namespace">;
  readonly send: (bytes: Buffer) => void;
  /** Ends the stream; the worker connects again. */
  readonly end: () => void;
}

/** Some SDKs drop work items silently from the 111th on. */
const activitiesMax = 50;
const turnsMax = 50;

/** Microsoft's SDKs take a stream for dead after two minutes of silence. */
const pingMs = 30_000;

/** Every activity: most SDKs do not tell which ones they have. */
const anyActivity = activityJob("*");

/** One stream of work items to a worker: as long as it is open, the worker gets activities and turns of orchestrations. */
export class WorkItemStream {
  readonly #parts: WorkItemStreamParts;
  readonly #id = randomUUID();
  readonly #session: ActivitySession;
  readonly #host: OrchestratorHost;
  #removeHost: ((how: "lost" | "left") => void) | undefined;
  readonly #activities = new Map<string, PendingItem<ActivityResponse>>();
  #tokens = 0;
  #ping: Timer | undefined;
  #isOver = false;

  constructor(parts: WorkItemStreamParts) {
    this.#parts = parts;
    const { clock, request, hub, caller, logger, send } = parts;
    const { filters, maxConcurrentActivities, maxConcurrentOrchestrations } = request;
    this.#host = new OrchestratorHost({
      address: `${caller.name}/${this.#id}`,
      namespace: caller.namespace,
      owner: caller.name,
      clock,
      logger,
      pending: hub.items.orchestrators,
      known: hub.known,
      filter: filters && new Map(filters.orchestrations.map(({ name, versions }) => [name, versions])),
      turnsMax: limit(maxConcurrentOrchestrations, turnsMax),
      makeToken: () => this.#makeToken(),
      send: (item, token) => send(workItem.encode({ orchestratorRequest: item, completionToken: token })),
      nameOf: (instanceId) => hub.nameOf(instanceId),
      prepare: (steps) => hub.prepare(steps),
    });
    this.#session = new ActivitySession({
      clock,
      accept: (link) => hub.acceptWorker(link, caller.name),
      jobs: filters === undefined ? [anyActivity] : filters.activities.map(({ name }) => activityJob(name)),
      slots: limit(maxConcurrentActivities, activitiesMax),
      onGranted: (grant) => this.#onGranted(grant),
      onDropped: (attemptId) => this.#drop(attemptId),
      onClosed: (error) => {
        if (error !== undefined) parts.logger.warn({ error: error.message }, "a stream of work items is closed");
        this.close();
        parts.end();
      },
    });
  }

  start(): void {
    this.#session.start();
    this.#removeHost = this.#parts.hub.addCodeHost(this.#host);
    if (this.#parts.dialect === "microsoft") this.#armPing();
  }

  /** What the worker was asked goes to others. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ping?.cancel();
    for (const attemptId of this.#activities.keys()) this.#drop(attemptId);
    this.#host.close();
    this.#removeHost?.("left");
    this.#session.close();
  }

  #onGranted(grant: Grant): void {
    const { hub, dialect, send } = this.#parts;
    const { attemptId } = grant.descriptor;
    const activityRequest = requestOf(grant, dialect);
    const instanceId = activityRequest.instance?.instanceId ?? "";
    const item: PendingItem<ActivityResponse> = {
      token: this.#makeToken(),
      key: activityKey({ instanceId, taskId: activityRequest.taskId }),
      owner: this.#parts.caller.name,
      onAnswer: (answer) => {
        this.#activities.delete(attemptId);
        this.#session.finish(attemptId, outcomeOf(answer));
      },
      onAbandoned: () => {
        this.#activities.delete(attemptId);
        this.#session.giveBack(attemptId, "the worker gave it back");
      },
    };
    this.#activities.set(attemptId, item);
    hub.items.activities.add(item);
    send(workItem.encode({ activityRequest, completionToken: item.token }));
  }

  #drop(attemptId: string): void {
    const item = this.#activities.get(attemptId);
    if (item === undefined) return;
    this.#activities.delete(attemptId);
    this.#parts.hub.items.activities.delete(item);
  }

  #makeToken(): string {
    return `${this.#id}:${++this.#tokens}`;
  }

  #armPing(): void {
    this.#ping = this.#parts.clock.after(pingMs, () => {
      this.#parts.send(workItem.encode({ healthPing: {} }));
      this.#armPing();
    });
  }
}

/** What the worker says, if it does, but not more than the maximum. */
function limit(given: number, max: number): number {
  return given > 0 ? Math.min(given, max) : max;
}
