import { randomUUID } from "node:crypto";
import type { Clock, Timer } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Link, LinkListener } from "../../dispatch/link.ts";
import type { Grant } from "../../dispatch/session-message.ts";
import type { Dialect } from "../../durabletask/dialect.ts";
import { activityJob } from "../../durabletask/names.ts";
import { type ActivityResponse, type GetWorkItemsRequest, workItem } from "../../durabletask/worker-messages.ts";
import { activityKey, outcomeOf, requestOf } from "./activity-items.ts";
import { ActivitySession } from "./activity-session.ts";
import { type PendingItem, PendingItems } from "./work-items.ts";

/** Work items of one namespace that streams have not answered. */
export interface WorkItems {
  readonly activities: PendingItems<ActivityResponse>;
}

export function makeWorkItems(): WorkItems {
  return { activities: new PendingItems() };
}

export interface WorkItemStreamParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly items: WorkItems;
  readonly dialect: Dialect;
  readonly request: GetWorkItemsRequest;
  /** Connects to the engine, as a remote worker does. */
  readonly accept: (link: Link) => LinkListener;
  readonly send: (bytes: Buffer) => void;
  /** Ends the stream; the worker connects again. */
  readonly end: () => void;
}

/** Some SDKs drop work items silently from the 111th on. */
const activitiesMax = 50;

/** Microsoft's SDKs take a stream for dead after two minutes of silence. */
const pingMs = 30_000;

/** Every activity: most SDKs do not tell which ones they have. */
const anyActivity = activityJob("*");

/** One stream of work items to a worker: as long as it is open, the worker gets activities. */
export class WorkItemStream {
  readonly #parts: WorkItemStreamParts;
  readonly #id = randomUUID();
  readonly #session: ActivitySession;
  readonly #activities = new Map<string, PendingItem<ActivityResponse>>();
  #tokens = 0;
  #ping: Timer | undefined;
  #isOver = false;

  constructor(parts: WorkItemStreamParts) {
    this.#parts = parts;
    const { clock, accept, request } = parts;
    const { filters, maxConcurrentActivities } = request;
    this.#session = new ActivitySession({
      clock,
      accept,
      jobs: filters === undefined ? [anyActivity] : filters.activities.map(({ name }) => activityJob(name)),
      slots: maxConcurrentActivities > 0 ? Math.min(maxConcurrentActivities, activitiesMax) : activitiesMax,
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
    if (this.#parts.dialect === "microsoft") this.#armPing();
  }

  /** What the worker was asked goes to others. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ping?.cancel();
    for (const attemptId of this.#activities.keys()) this.#drop(attemptId);
    this.#session.close();
  }

  #onGranted(grant: Grant): void {
    const { items, dialect, send } = this.#parts;
    const { attemptId } = grant.descriptor;
    const activityRequest = requestOf(grant, dialect);
    const instanceId = activityRequest.instance?.instanceId ?? "";
    const item: PendingItem<ActivityResponse> = {
      token: this.#makeToken(),
      key: activityKey({ instanceId, taskId: activityRequest.taskId }),
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
    items.activities.add(item);
    send(workItem.encode({ activityRequest, completionToken: item.token }));
  }

  #drop(attemptId: string): void {
    const item = this.#activities.get(attemptId);
    if (item === undefined) return;
    this.#activities.delete(attemptId);
    this.#parts.items.activities.delete(item);
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
