import type { EngineError } from "../base/error.ts";
import { payloadRefsIn } from "../kernel/event-payloads.ts";
import { textOfEvents } from "../kernel/event-text.ts";
import type { Event } from "../kernel/event.ts";
import type { Machine } from "../kernel/machine.ts";
import { hasEnded } from "../kernel/status.ts";
import type { Turn } from "../kernel/turn.ts";
import type {
  Changes,
  DefinitionRow,
  FinishedRow,
  HistoryRow,
  InstanceRow,
  OutboxRow,
  TurnText,
} from "../stores/store.ts";
import type { CommitPart } from "./committer.ts";
import type { Command } from "../kernel/command.ts";
import type { QueryMessage, Message, Origin, InputMessage } from "./message.ts";
import { Tombstones } from "./outbox.ts";
import { PayloadRows } from "./payload-rows.ts";
import type { FencingToken } from "./fencing-token.ts";
import { placesOf, type TurnPlaces, turnsAreRows } from "./turn-places.ts";
import { finishedRow, instanceRow, isSameRow } from "./turn-rows.ts";

/** Most lists of a turn are empty, and the others have one item; a list is made with its first item. */
const none: readonly never[] = [];

/** An actor that has handled its messages, as far as the rows of its turn need it. */
export interface TurnActor {
  readonly key: number;
  readonly shard: { readonly token: FencingToken };
  readonly machine: Machine;
  readonly isActive: boolean;
  readonly hasEnded: boolean;
  /** The instance row as it was last written; undefined if the store has none. */
  readonly row: InstanceRow | undefined;
  /** The turns so far as the row of the instance, finished or not, holds them; null if they are rows. */
  readonly turnText: TurnText | null;
}

/**
 * A turn between its opening and its release: its rows, and the effects and replies that are released once the rows are
 * durable. A turn without events has no rows, and its replies still wait for the commits before it.
 */
export class InstanceTurn<Actor extends TurnActor = TurnActor> implements CommitPart {
  readonly actor: Actor;
  /** Definitions that the store may not have yet. */
  definitions: readonly DefinitionRow[] = none;
  messages: readonly Message[] = none;
  readonly turn: Turn;
  readonly number: number;
  readonly payloads: PayloadRows;
  /** True if the history begins with this turn: a new generation. */
  beginsAnew = false;
  /** Number of tasks that wait after the turn. It is counted while the state is in the processor's cache. */
  waitingTasks = 0;
  /** True if the decisions of this turn took so long that the event loop should run before another turn is opened. */
  isSlow = false;
  readonly #endedBefore: boolean;
  #effects: Command[] | undefined;
  #origins: Origin[] | undefined;
  #outbox: OutboxRow[] | undefined;
  #keys: string[] | undefined;
  /** Messages that are answered with an error. */
  #refusals: Map<Message, unknown> | undefined;
  #history: HistoryRow | undefined;
  #instance: InstanceRow | undefined;
  #finished: FinishedRow | undefined;
  #places: TurnPlaces = turnsAreRows;

  constructor(actor: Actor, turn: Turn, number: number) {
    this.actor = actor;
    this.number = number;
    this.turn = turn;
    this.payloads = new PayloadRows(actor.key, number);
    this.#endedBefore = actor.hasEnded;
  }

  get token(): FencingToken {
    return this.actor.shard.token;
  }

  get events(): readonly Event[] {
    return this.turn.events;
  }

  get at(): number {
    return this.turn.at;
  }

  /** The number of its first event within the instance; 0 if it has no events. */
  get firstEvent(): number {
    return this.#history?.firstEvent ?? 0;
  }

  /** The commands that are carried out when it is released. */
  get effects(): readonly Command[] {
    return this.#effects ?? none;
  }

  /** The origins of messages of other instances that it has read. */
  get origins(): readonly Origin[] {
    return this.#origins ?? none;
  }

  /** Messages to other instances that it writes. */
  get outbox(): readonly OutboxRow[] {
    return this.#outbox ?? none;
  }

  get fallback(): Tombstones | undefined {
    return this.#outbox && new Tombstones(this.token, this.#outbox);
  }

  get dropped(): number {
    return this.turn.dropped;
  }

  /** The approximate size of its rows. */
  get bytes(): number {
    let bytes = this.#places.text?.length ?? this.#history?.events.length ?? 0;
    for (const { events } of this.#places.moved) bytes += events.length;
    for (const { body } of this.payloads.rows) bytes += body.length;
    for (const { body } of this.outbox) bytes += body.length;
    for (const { spec } of this.definitions) bytes += spec.length;
    return bytes;
  }

  /** The instance ended, or ended again, in this turn. */
  get hasEnded(): boolean {
    return this.#finished !== undefined;
  }

  get wasReopened(): boolean {
    return this.#endedBefore && this.events.length > 0;
  }

  addEffect(effect: Command): void {
    if (this.#effects === undefined) this.#effects = [effect];
    else this.#effects.push(effect);
  }

  /** Removes the tasks of a generation that is over. */
  dropRuns(): void {
    this.#effects = this.#effects?.filter(({ type }) => type !== "RunTasks");
  }

  send(message: OutboxRow): void {
    (this.#outbox ??= []).push(message);
  }

  accept({ origin, key }: InputMessage): void {
    if (key !== undefined) (this.#keys ??= []).push(key);
    if (origin !== undefined) (this.#origins ??= []).push(origin);
  }

  /** The start of a child that is refused is not consumed: its parent has yet to get an answer. */
  refuse(message: InputMessage, error: EngineError): void {
    const { input, origin } = message;
    this.#noteRefusal(message, error);
    if (origin !== undefined && input.type !== "StartInstance") (this.#origins ??= []).push(origin);
  }

  /** Answers a query. May be called again: the last answer counts. */
  answer(message: QueryMessage): void {
    this.#refusals?.delete(message);
    try {
      message.query(this.actor.machine);
    } catch (error) {
      this.#noteRefusal(message, error);
    }
  }

  #noteRefusal(message: Message, error: unknown): void {
    (this.#refusals ??= new Map()).set(message, error);
  }

  close(firstEvent: number): void {
    const { actor, events, at, number: turn } = this;
    if (events.length === 0) return;
    const { machine, row } = actor;
    this.#history = { instance: actor.key, turn, firstEvent, at, events: textOfEvents(events) };
    const before = this.number === 0 || this.beginsAnew ? undefined : actor.turnText;
    this.#places = placesOf(actor, before, this.#history);
    this.waitingTasks = machine.state.waitingCount;
    if (hasEnded(machine.status)) this.#finished = finishedRow(machine, this.#places.text);
    else {
      const now = instanceRow(actor, at, this.#places.text);
      if (row === undefined || !isSameRow(row, now)) this.#instance = now;
    }
  }

  /** The input and the answers of a new beginning may refer to payloads of earlier turns. */
  get #firstKeptRef(): number {
    const { firstRef } = this.payloads;
    const [first] = this.events;
    if (first?.type !== "InstanceContinued") return firstRef;
    return Math.min(firstRef, ...payloadRefsIn(first).map(({ ref }) => ref));
  }

  addTo(changes: Changes): void {
    if (this.#history === undefined) return;
    const { key, row } = this.actor;
    for (const turn of this.#places.moved) changes.history.push(turn);
    if (this.#places.text === null) changes.history.push(this.#history);
    for (const definition of this.definitions) {
      if (!changes.definitions.includes(definition)) changes.definitions.push(definition);
    }
    if (this.#instance !== undefined) changes.instances.push(this.#instance);
    if (this.#finished !== undefined) {
      changes.finished.push(this.#finished);
      if (row !== undefined) changes.instancesEnded.push(key);
    } else if (this.#endedBefore) changes.finishedReopened.push(key);
    if (this.beginsAnew) changes.trims.push({ instance: key, turn: this.number, ref: this.#firstKeptRef });
    for (const payload of this.payloads.rows) changes.payloads.push(payload);
    for (const message of this.outbox) changes.outbox.push(message);
    for (const each of this.#keys ?? none) {
      changes.requests.push({ shard: this.token.shard, idempotencyKey: each, at: this.at, refusal: null });
    }
  }

  /** The instance row once the turn is durable; undefined after the end. */
  get rowAfter(): InstanceRow | undefined {
    return this.#finished === undefined ? (this.#instance ?? this.actor.row) : undefined;
  }

  /** The actor's `turnText` once the turn is durable. */
  get textAfter(): TurnText | null {
    return this.#places.text;
  }

  reply(): void {
    for (const message of this.messages) {
      if (this.#refusals?.has(message)) message.reply?.reject(this.#refusals.get(message));
      else message.reply?.resolve();
    }
  }

  /** Rejects all callers of a turn that will never be durable. */
  fail(error: unknown): void {
    for (const message of this.messages) message.reply?.reject(error);
  }
}
