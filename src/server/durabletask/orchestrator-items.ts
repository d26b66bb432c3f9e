import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/error.ts";
import type { Logger } from "../../base/logger.ts";
import { localName, namespaceOf } from "../../base/namespace.ts";
import type { HistoryEvent } from "../../durabletask/history-messages.ts";
import { HistoryRenderer } from "../../durabletask/history-renderer.ts";
import type { Given } from "../../durabletask/message.ts";
import { isOrchestratorVersion, orchestratorVersion } from "../../durabletask/names.ts";
import { type KnownNames, stepsOf } from "../../durabletask/steps-of-actions.ts";
import type { OrchestratorResponse } from "../../durabletask/worker-messages.ts";
import type { AskedTurn, CodeHost } from "../../dispatch/code-host.ts";
import type { Step } from "../../kernel/code/step.ts";
import type { TurnEvents, TurnSteps } from "../../kernel/code/turn-question.ts";
import type { PendingItem, PendingItems } from "./work-items.ts";

/** An orchestration's turn, as its worker gets it. */
export interface OrchestratorItem {
  readonly instanceId: string;
  readonly executionId: string;
  readonly pastEvents: readonly Given<HistoryEvent>[];
  readonly newEvents: readonly Given<HistoryEvent>[];
}

/** Orchestrations by name, and the versions of each; no versions stand for all. */
export type OrchestratorFilter = ReadonlyMap<string, readonly string[]>;

export interface OrchestratorHostParts {
  /** For logs. */
  readonly address: string;
  readonly namespace: string;
  /** The name of the token of its stream. */
  readonly owner: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pending: PendingItems<OrchestratorResponse>;
  readonly known: KnownNames;
  /** Undefined if the stream takes every orchestration. */
  readonly filter: OrchestratorFilter | undefined;
  readonly turnsMax: number;
  readonly makeToken: () => string;
  readonly send: (item: OrchestratorItem, token: string) => void;
  /** The name of an instance's workflow; undefined if there is no such instance any more. */
  readonly nameOf: (instanceId: string) => Promise<string | undefined>;
  /** Makes workflows durable that the steps start as children. */
  readonly prepare: (steps: readonly Step[]) => Promise<void>;
}

/** Asks the worker of one stream for the steps of orchestrations. */
export class OrchestratorHost implements CodeHost {
  readonly address: string;
  readonly #parts: OrchestratorHostParts;
  /** Turns that are not answered; without an item while the history is read. */
  readonly #open = new Map<AskedTurn, PendingItem<OrchestratorResponse> | undefined>();

  constructor(parts: OrchestratorHostParts) {
    this.#parts = parts;
    this.address = parts.address;
  }

  get freeTurns(): number {
    return Math.max(0, this.#parts.turnsMax - this.#open.size);
  }

  canRun(workflow: string, version: string): boolean {
    const { namespace, filter } = this.#parts;
    if (!isOrchestratorVersion(version) || namespaceOf(workflow) !== namespace) return false;
    if (filter === undefined) return true;
    const versions = filter.get(localName(workflow));
    return versions !== undefined && (versions.length === 0 || versions.includes(orchestratorVersion(version) ?? ""));
  }

  ask(turn: AskedTurn): void {
    this.#open.set(turn, undefined);
    void this.#ask(turn).catch((error: unknown) => {
      const { logger, clock } = this.#parts;
      logger.warn({ error: messageOf(error) }, "the history of an orchestration could not be read; it is read again");
      clock.after(readAgainMs, () => {
        if (this.#open.has(turn)) this.ask(turn);
      });
    });
  }

  withdraw(turn: AskedTurn): void {
    const item = this.#open.get(turn);
    this.#open.delete(turn);
    if (item !== undefined) this.#parts.pending.delete(item);
  }

  /** The stream is closed: answers to what it was asked are not taken any more. */
  close(): void {
    for (const turn of this.#open.keys()) this.withdraw(turn);
  }

  async #ask(turn: AskedTurn): Promise<void> {
    const { pending, makeToken, send } = this.#parts;
    const { question } = turn;
    const rendered = await renderAll(turn, this.#parts.nameOf);
    if (rendered === undefined || !this.#open.has(turn)) return;
    const { past, news, history } = rendered;
    if (news.length === 0) return this.#answer(turn, []);
    const instanceId = localName(question.instanceId);
    const item: PendingItem<OrchestratorResponse> = {
      token: makeToken(),
      key: instanceId,
      owner: this.#parts.owner,
      onAnswer: (response) => this.#onAnswer(turn, response, history),
      onAbandoned: () => this.#fail(turn, "the worker gave it back: it has another version of the code"),
    };
    this.#open.set(turn, item);
    pending.add(item);
    send({ instanceId, executionId: history.executionId, pastEvents: past, newEvents: news }, item.token);
  }

  #onAnswer(turn: AskedTurn, response: OrchestratorResponse, history: HistoryRenderer): void {
    const { known, prepare, logger } = this.#parts;
    const { instanceId } = turn.question;
    if (response.actions.some(({ versionNotAvailable }) => versionNotAvailable !== undefined))
      return this.#fail(turn, "the worker has not the version that it began with");
    const steps = stepsOf(response, { instanceId, history, known });
    prepare(steps).then(
      () => this.#answer(turn, steps),
      (error: unknown) => {
        logger.warn({ error: messageOf(error) }, "the children of an orchestration could not be prepared");
        this.#fail(turn, messageOf(error));
      },
    );
  }

  #answer(turn: AskedTurn, steps: readonly Step[]): void {
    const { queries, update } = turn.question;
    this.#open.delete(turn);
    const answer: TurnSteps = {
      steps,
      queries: queries.map(() => ({ error: noHandlers })),
      ...(update !== undefined && { updateRefusal: noHandlers }),
      canCancel: true,
    };
    turn.answer(answer, this);
  }

  #fail(turn: AskedTurn, message: string): void {
    this.#open.delete(turn);
    turn.answer({ failure: { code: "WORKFLOW_UNKNOWN", message } }, this);
  }
}

/** The store is away, or the shard moves. */
const readAgainMs = 1000;

const noHandlers = {
  code: "HANDLER_UNKNOWN",
  message: "orchestrations of Durable Task have no queries and updates",
} as const;

/** The whole history of the question; what the orchestrator has not seen is apart. Undefined if the question is over. */
async function renderAll(
  turn: AskedTurn,
  nameOf: OrchestratorHostParts["nameOf"],
): Promise<{ past: Given<HistoryEvent>[]; news: Given<HistoryEvent>[]; history: HistoryRenderer } | undefined> {
  const { first, seen, events, instanceId, queries, update } = turn.question;
  let history: HistoryRenderer | undefined;
  const past: Given<HistoryEvent>[] = [];
  const news: Given<HistoryEvent>[] = [];
  for (let from = first; from < events;) {
    const page = await turn.history(from);
    if (page === undefined) return undefined;
    history ??= await rendererOf(instanceId, page.turns, nameOf);
    for (const each of page.turns) {
      past.push(...history.render(slice(each, from, Math.min(seen, events))));
      news.push(...history.render(slice(each, Math.max(from, seen), events)));
    }
    if (page.next <= from) throw new Error(`the history of ${turn.question.instanceId} ends at event ${from}`);
    from = page.next;
  }
  history ??= await rendererOf(instanceId, [], nameOf);
  // What the last answer led to is recorded after the question that it answered, and is no news to the worker. Nor is
  // what an instance that runs on from a past has copied from there.
  const begin = history.hasCopied && seen === first ? news.findLastIndex(({ eventId = 0 }) => eventId >= 0) + 1 : 0;
  const start = news.findIndex((event, place) => place >= begin && isTurn(event));
  past.push(...news.splice(0, start === -1 ? news.length : start));
  // Nothing is new after a restart, and the worker may not have seen all of it. SDKs refuse a turn without new events.
  const isAskedAgain = news.length === 0 && !history.hasCopied && queries.length === 0 && update === undefined;
  if (isAskedAgain) news.push(...past.splice(past.findLastIndex(isTurn)));
  return { past, news, history };
}

/** True for the first event of a turn. */
function isTurn({ orchestratorStarted }: Given<HistoryEvent>): boolean {
  return orchestratorStarted !== undefined;
}

/** The turns are the first of the generation. */
async function rendererOf(
  instanceId: string,
  turns: readonly TurnEvents[],
  nameOf: OrchestratorHostParts["nameOf"],
): Promise<HistoryRenderer> {
  const first = turns[0]?.events[0];
  const parent = first?.type === "InstanceCreated" || first?.type === "InstanceContinued" ? first.parent : undefined;
  const parentName = parent && (await nameOf(parent.id));
  return new HistoryRenderer({ instanceId, withPauses: false, parentName });
}

/** Events by their numbers, from `from` on and before `to`. */
function slice({ turn, at, firstEvent, events }: TurnEvents, from: number, to: number): TurnEvents {
  const start = Math.max(0, from - firstEvent);
  return { turn, at, firstEvent: firstEvent + start, events: events.slice(start, Math.max(start, to - firstEvent)) };
}
