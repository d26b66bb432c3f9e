import type { Clock } from "../base/clock.ts";
import { EngineError, hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Random } from "../base/random.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { ParentAddress } from "../kernel/address.ts";
import type { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { TaskDefinition } from "../kernel/dag/graph.ts";
import type { Input, StartWorkflow } from "../kernel/input.ts";
import type { MachineLimits } from "../kernel/machine.ts";
import { firstKey } from "../stores/instance-key.ts";
import { type Changes, noChanges, type OutboxRow, type Store } from "../stores/store.ts";
import { endFor } from "./children.ts";
import { Committer, type Rejected } from "./committer.ts";
import type { Definition, Definitions } from "./definitions.ts";
import type { Expressions } from "./expression.ts";
import { type ActorHost, type Effect, InstanceActor } from "./instance-actor.ts";
import { InstanceEntry } from "./instance-entry.ts";
import type { InstanceTurn } from "./instance-turn.ts";
import { letterOf } from "./letter-of.ts";
import { MailRoom, type MailShard } from "./mail-room.ts";
import type { CommittedTurn, Message, Origin } from "./message.ts";
import { Parking } from "./parking.ts";
import { Pump } from "./pump.ts";
import { type Letter, Outbox, type StartChild } from "./outbox.ts";
import { Residents, unknownInstance } from "./residents.ts";
import { WakeQueue } from "./wake-queue.ts";
import type { WorkflowGates } from "./workflow-gate.ts";

/** How long to wait before reading again from a store that is away. */
const readAgainMs = 500;

/** What the shards of one member share. */
export interface ShardParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly dispatcher: Dispatcher;
  readonly definitions: Definitions;
  readonly expressions: Expressions;
  readonly gates: WorkflowGates;
  readonly limits: MachineLimits;
  readonly owner: string;
  resolveJob(definition: TaskDefinition, params: string | undefined): string;
  /** Where an instance of that id lives. */
  shardOf(instanceId: string): number;
  post(row: OutboxRow, letter: Letter): void;
  /** A shard has taken in durably what another sent it, up to the number. */
  acknowledge(source: number, target: number, number: number): void;
  readonly hasSubscribers: boolean;
  /** Subscribers hear of committed changes only. */
  publish(turn: CommittedTurn): void;
  onHealth(shard: number, problem: unknown): void;
  /** Another owner has the shard now. */
  onFenced(shard: number, error: unknown): void;
}

export interface StartRequest {
  readonly id: string;
  /** Chosen by the caller: it may exist already. */
  readonly isGivenId: boolean;
  /** A finished instance of that id may be followed by a new one. */
  readonly reuse: boolean;
  readonly definition: Definition;
  /** With the definitions of nested workflows. */
  readonly definitions: readonly Definition[];
  readonly input: Omit<StartWorkflow, "type" | "workflow" | "version" | "generation" | "admission">;
  readonly origin?: Origin;
}

/**
 * Some of the instances, with one writer: this. Messages go in, turns are opened when the committer is free, and what
 * they cause is let out when they are durable.
 *
 * - H1 At most one commit is under way (`Pump`), and an actor has at most one turn in it.
 * - H2 Effects, replies and answers leave in `#release`, after the commit, and nowhere else.
 * - H3 Every unfinished instance has an entry; an actor only while it has something to do or was used lately.
 */
export class Shard implements ActorHost, MailShard {
  readonly number: number;
  readonly limits: MachineLimits;
  readonly expressions: Expressions;
  readonly logger: Logger;
  readonly outbox: Outbox;
  /** Reports that came too late to matter. */
  droppedReports = 0;
  readonly #parts: ShardParts;
  readonly #residents: Residents;
  readonly #mailRoom: MailRoom;
  readonly #parking: Parking;
  readonly #wakes: WakeQueue<InstanceEntry>;
  #committer: Committer | undefined;
  readonly #pump: Pump;
  #isClosing = false;
  /** Why it does nothing more. */
  #closedBy: unknown;

  constructor(number: number, parts: ShardParts) {
    this.number = number;
    this.#parts = parts;
    this.limits = parts.limits;
    this.expressions = parts.expressions;
    this.logger = parts.logger;
    this.outbox = new Outbox(number);
    this.#mailRoom = new MailRoom(this);
    this.#pump = new Pump({
      clock: parts.clock,
      commitTurns: () => this.#commitTurns(),
      onLost: (error) => this.#lose(error),
    });
    this.#wakes = new WakeQueue(parts.clock, (entry) => void this.#wake(entry));
    this.#residents = new Residents({
      shard: number,
      store: parts.store,
      definitions: parts.definitions,
      host: this,
      onBroken: (entry, row, error) => void this.#parking.park(entry, row, error),
    });
    this.#parking = new Parking({
      logger: parts.logger,
      dispatcher: parts.dispatcher,
      gates: parts.gates,
      residents: this.#residents,
      wakes: this.#wakes,
      commit: (changes) => this.commit(changes),
      consumed: (origins) => this.#mailRoom.consumed(origins),
      dismiss: (entry, error) => this.#dismiss(entry, error),
      withActor: (id, use) => this.#withActor(id, use),
      send: (actor, effects) => this.#send(actor, effects),
    });
  }

  resolveJob(definition: TaskDefinition, params: string | undefined): string {
    return this.#parts.resolveJob(definition, params);
  }

  /** Waits for a store that is away: no job fails because its inputs could not be read. */
  async readPayloads(instance: number, refs: readonly number[]): Promise<string[]> {
    return await this.#patiently(() => this.#parts.store.readPayloads(instance, refs));
  }

  async #patiently<T>(read: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await read();
      } catch (error) {
        if (!hasCode(error, "STORE_UNAVAILABLE") || this.#isClosing || this.isClosed) throw error;
        await new Promise<void>((resolve) => this.#parts.clock.after(readAgainMs, resolve));
      }
    }
  }

  shardOf(instanceId: string): number {
    return this.#parts.shardOf(instanceId);
  }

  post(row: OutboxRow, letter: Letter): void {
    this.#parts.post(row, letter);
  }

  acknowledge(source: number, number: number): void {
    this.#parts.acknowledge(source, this.number, number);
  }

  get isClosed(): boolean {
    return this.#closedBy !== undefined;
  }

  get entries(): Iterable<InstanceEntry> {
    return this.#residents.all();
  }

  // Opening and closing

  /** Takes the shard over and brings back what was unfinished. Nothing runs before the result is called. */
  async open(): Promise<() => void> {
    const { store, clock, logger, owner, dispatcher } = this.#parts;
    const claim = await store.claimShard(this.number, owner);
    const onHealth = (problem: unknown): void => this.#parts.onHealth(this.number, problem);
    this.#committer = new Committer({ store, clock, logger, shard: this.number, claim, onHealth });
    this.#mailRoom.restore(await store.loadMarks(this.number));
    const rows = (await this.#residents.loadEntries()).filter(({ parked }) => parked === null);
    const actors = await this.#residents.restoreAll(rows.filter(({ active }) => active));
    return () => {
      for (const row of rows) this.#wakes.set(this.#residents.get(row.id) as InstanceEntry, row.wake ?? undefined);
      for (const actor of actors) for (const run of actor.resumeTasks(claim.clean)) dispatcher.enqueue(run);
    };
  }

  /** Letters that an earlier life wrote and may not have delivered; `marks` says how far each target has come. */
  async reopenOutbox(marks: ReadonlyMap<number, number>): Promise<OutboxRow[]> {
    const rows = await this.#parts.store.loadOutbox(this.number);
    this.outbox.restore(rows, marks);
    return rows;
  }

  markOf(source: number): number {
    return this.#mailRoom.markOf(source).mark;
  }

  /** Writes what is still to be written, and that nothing runs any more. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#wakes.stop();
    await this.#mailRoom.settled();
    await this.#pump.flush();
    this.#failAll((this.#closedBy ??= new EngineError("ENGINE_STATE", "the engine was stopped")));
    await this.#committer?.close({ ...noChanges(), outboxAcked: this.outbox.takeAcked() });
  }

  /** Stops waiting for a store that does not come back. */
  giveUp(): void {
    this.#committer?.giveUp();
  }

  // What may be said to instances

  /** Durable when it resolves. */
  start(request: StartRequest): Promise<void> {
    return request.isGivenId ? this.#startAs(request) : this.#enter(request, 1);
  }

  async #startAs(request: StartRequest): Promise<void> {
    const { committed } = await this.#enterAs(request);
    await committed;
  }

  /** Of an id that somebody chose: it may be taken. */
  async #enterAs(request: StartRequest): Promise<{ committed: Promise<void> }> {
    const generation = await this.#nextGeneration(request);
    // Asked again right here: another start of the same id may have come in while this one waited.
    this.#refuseExisting(request.id);
    return { committed: this.#enter(request, generation) };
  }

  #enter(request: StartRequest, generation: number): Promise<void> {
    const { id, definition, input, origin } = request;
    const { name: workflow, version } = definition;
    const committer = this.#openCommitter();
    const key = (committer.lastKey = Math.max(committer.lastKey, firstKey(this.number) - 1) + 1);
    const admission = this.#parts.gates.enter(workflow, id, definition.spec.maxInstances);
    const entry = new InstanceEntry({ id, key, workflow, status: "Ready", at: this.#parts.clock.now() });
    const actor = new InstanceActor(this, definition, id, key);
    actor.starting = request.definitions;
    entry.actor = actor;
    this.#residents.add(entry);
    const reply = Promise.withResolvers<void>();
    const start: StartWorkflow = { type: "StartWorkflow", workflow, version, generation, admission, ...input };
    actor.tell(origin === undefined ? { input: start, reply } : { input: start, reply, origin });
    return reply.promise;
  }

  async #nextGeneration({ id, reuse }: StartRequest): Promise<number> {
    await this.#refuseActive(id);
    const finished = await this.#parts.store.findFinished(id);
    if (finished !== undefined && !reuse) {
      throw new EngineError(
        "INSTANCE_EXISTS",
        `an instance with id "${id}" exists and is ${finished.status}; pass "reuse: true" to start a new one under the same id`,
      );
    }
    return (finished?.generation ?? 0) + 1;
  }

  /** One that has ended may still be on its way out of memory, with its last turn being written. */
  async #refuseActive(id: string): Promise<void> {
    while (this.#residents.get(id)?.actor?.hasEnded) await this.ask(id, () => undefined);
    this.#refuseExisting(id);
  }

  #refuseExisting(id: string): void {
    const entry = this.#residents.get(id);
    if (entry === undefined) return;
    throw new EngineError(
      "INSTANCE_EXISTS",
      `an active instance with id "${id}" already exists; it is ${entry.status}`,
    );
  }

  async startChild(
    letter: StartChild,
    context: Readonly<Record<string, string>>,
    options: { origin: Origin; reuse: boolean },
  ): Promise<{ committed: Promise<void> }> {
    const definition = await this.#patiently(() => this.#parts.definitions.load(letter.workflow, letter.version));
    const request: StartRequest = {
      id: letter.to,
      isGivenId: true,
      definition,
      definitions: [definition],
      input: { context, parent: letter.parent, trigger: "nested" },
      ...options,
    };
    return await this.#patiently(() => this.#enterAs(request));
  }

  async childOf(parent: ParentAddress, id: string): Promise<{ end: Letter | undefined } | undefined> {
    const question = (machine: DagMachine, actor: InstanceActor): { end: Letter | undefined } | undefined => {
      if (machine.state.parent?.key !== parent.key) return undefined;
      const report = endFor(machine, parent);
      return { end: report && letterOf(actor, report) };
    };
    return await this.#patiently(() => this.ask(id, question));
  }

  async tellInstance(id: string, message: Message): Promise<void> {
    await this.#patiently(() => this.#withActor(id, (actor) => actor.tell(message)));
  }

  /** Resolves when what it led to is durable; `EngineError` if it is refused. */
  async tell(id: string, input: (machine: DagMachine) => Input): Promise<void> {
    const reply = Promise.withResolvers<void>();
    await this.#withActor(id, (actor) => actor.tell({ input: input(actor.machine), reply }));
    return reply.promise;
  }

  async ask<T>(id: string, query: (machine: DagMachine, actor: InstanceActor) => T): Promise<T> {
    const reply = Promise.withResolvers<void>();
    const answer: T[] = [];
    await this.#withActor(id, (actor) => {
      const look = (machine: DagMachine): void => {
        if (machine.state.generation === 0) throw unknownInstance(id);
        answer.push(query(machine, actor));
      };
      // With nothing of it outstanding, what it is in memory is what it is in the store: no commit to wait for.
      if (actor.hasNews || actor.isBusy || this.isClosed) return actor.tell({ query: look, reply });
      look(actor.machine);
      reply.resolve();
    });
    await reply.promise;
    return answer[0] as T;
  }

  /** Uses the actor in the same breath in which it is found: an ended one may be gone a microtask later. */
  async #withActor(id: string, use: (actor: InstanceActor) => void): Promise<void> {
    for (;;) {
      const actor = this.#residents.get(id)?.actor;
      if (actor === undefined) {
        await this.#residents.load(id);
        continue;
      }
      try {
        return use(actor);
      } finally {
        this.#letGo(actor);
      }
    }
  }

  /** An ended instance, or one whose start was refused, stays only while it has messages. */
  #letGo(actor: InstanceActor): void {
    if (!actor.isInboxEmpty || actor.isBusy) return;
    if (!actor.hasEnded && !actor.isUnborn) return;
    const entry = this.#residents.get(actor.id);
    if (entry?.actor !== actor) return;
    if (actor.isUnborn) this.#parts.gates.left(entry.workflow, entry.id);
    this.#residents.delete(actor.id);
    if (entry.waiters.length > 0) this.#dismiss(entry, unknownInstance(actor.id));
  }

  /** The actor as it is at its end. */
  awaitEnd(id: string): Promise<InstanceActor> {
    const entry = this.#residents.get(id);
    const isUnderWay = entry !== undefined && entry.parked === undefined && !entry.actor?.hasEnded;
    if (!isUnderWay || this.isClosed) return this.#findEnd(id);
    const waiter = Promise.withResolvers<InstanceActor>();
    entry.waiters.push(waiter);
    return waiter.promise;
  }

  async #findEnd(id: string): Promise<InstanceActor> {
    if (this.isClosed) throw this.#closedBy;
    const actor = await this.ask(id, (_, ended) => ended);
    return actor.hasEnded ? actor : await this.awaitEnd(id);
  }

  peek(id: string): DagMachine | undefined {
    return this.#residents.get(id)?.actor?.machine;
  }

  receive(row: OutboxRow, letter: Letter): void {
    if (!this.isClosed) this.#mailRoom.receive(row, letter);
  }

  // Actors

  arrived(actor: InstanceActor, urgency: "now" | "later"): void {
    if (this.isClosed) return void this.#abandon(actor, this.#closedBy);
    this.#pump.arrived(actor, urgency);
  }

  failed(actor: InstanceActor, error: unknown): void {
    const entry = this.#residents.get(actor.id);
    if (entry?.actor === actor) void this.#parking.park(entry, actor.row, error);
  }

  async #wake(entry: InstanceEntry): Promise<void> {
    try {
      await this.#withActor(entry.id, (actor) => actor.tell({ input: { type: "TimerDue" } }));
    } catch (error) {
      this.logger.error({ instanceId: entry.id, error: messageOf(error) }, "an instance could not be woken");
      if (!this.isClosed && entry.parked === undefined) this.#wakes.set(entry, this.#parts.clock.now() + 1000);
    }
  }

  // Turns

  async #commitTurns(): Promise<void> {
    const turns = this.#openTurns();
    const changes = noChanges();
    changes.marks = this.#mailRoom.consumed(turns.flatMap((turn) => turn.origins));
    if (changes.marks.length === 0 && turns.every((turn) => turn.events.length === 0)) {
      for (const turn of turns) this.#release(turn);
      return;
    }
    changes.outboxAcked = this.outbox.takeAcked();
    const rejected = await this.#commit(turns, changes);
    const errors = new Map(rejected.map(({ commitment, error }) => [commitment, error]));
    for (const turn of turns) {
      if (errors.has(turn)) this.#reject(turn, errors.get(turn));
      else this.#release(turn);
    }
    for (const { source, number } of changes.marks) this.acknowledge(source, number);
  }

  /** Whoever waits for one of the turns is told if the shard is lost with it. */
  async #commit(turns: readonly InstanceTurn[], changes: Changes): Promise<Rejected<InstanceTurn>[]> {
    try {
      return await this.#openCommitter().commit(turns, changes);
    } catch (error) {
      for (const turn of turns) turn.fail(error);
      throw error;
    }
  }

  #openTurns(): InstanceTurn[] {
    const now = this.#parts.clock.now();
    const turns: InstanceTurn[] = [];
    this.#pump.drain((actor) => {
      actor.isBusy = true;
      const turn = this.#openTurn(actor, now);
      if (turn === undefined) return 0;
      turns.push(turn);
      return turn.bytes;
    });
    return turns;
  }

  #openTurn(actor: InstanceActor, now: number): InstanceTurn | undefined {
    const entry = this.#residents.get(actor.id);
    if (entry?.actor !== actor) {
      this.#abandon(actor, unknownInstance(actor.id));
      return undefined;
    }
    try {
      const turn = actor.openTurn(now, this.#parts.random.next());
      if (actor.starting.length > 0) {
        turn.definitions = actor.starting.flatMap((each) => this.#parts.definitions.unstored(each, now) ?? []);
      }
      for (const effect of turn.effects) {
        const row = this.#address(actor, effect);
        if (row !== undefined) turn.send(row);
      }
      this.droppedReports += turn.dropped;
      return turn;
    } catch (error) {
      void this.#parking.park(entry, actor.row, error);
      return undefined;
    }
  }

  /** What goes to other instances is written with the turn that caused it. */
  #address(actor: InstanceActor, effect: Effect): OutboxRow | undefined {
    const letter = letterOf(actor, effect);
    return letter && this.outbox.address(this.shardOf(letter.to), letter);
  }

  /** The actor counts as busy throughout: a subscriber that asks about it in between is answered after those who wait. */
  #release(turn: InstanceTurn): void {
    const { actor } = turn;
    turn.committed();
    for (const row of turn.outbox) this.post(row, JSON.parse(row.body) as Letter);
    const entry = this.#residents.get(actor.id);
    if (entry?.actor !== actor) return turn.reply();
    if (turn.events.length > 0) this.#follow(entry, turn);
    // A wake-up that found nothing due, because the machine's clock was set back, is still to come.
    else this.#wakes.set(entry, actor.machine.nextWake());
    for (const effect of turn.effects) this.#carryOut(actor, effect);
    turn.reply();
    if (turn.hasEnded) for (const waiter of entry.waiters.splice(0)) waiter.resolve(actor);
    actor.isBusy = false;
    this.#letGo(actor);
  }

  #follow(entry: InstanceEntry, turn: InstanceTurn): void {
    const { machine } = turn.actor;
    const { gates, definitions } = this.#parts;
    for (const { name, version } of turn.definitions) definitions.stored(name, version);
    turn.actor.starting = [];
    if (turn.wasReopened) gates.reopened(entry.workflow, entry.id);
    if (turn.hasEnded) gates.left(entry.workflow, entry.id);
    entry.status = machine.status;
    entry.lastTurnAt = turn.at;
    entry.isReportedStuck = false;
    this.#wakes.set(entry, machine.nextWake());
    if (this.#parts.hasSubscribers) {
      const { events, at } = turn;
      this.#parts.publish({ instanceId: entry.id, workflow: entry.workflow, at, events, machine });
    }
  }

  #carryOut(actor: InstanceActor, effect: Effect): void {
    const { dispatcher } = this.#parts;
    if (effect.type === "RunTasks") for (const task of effect.tasks) dispatcher.enqueue(actor.run(task));
    else if (effect.type === "WithdrawTasks") dispatcher.withdraw(effect.attemptIds);
    else if (effect.type === "AbortTasks") dispatcher.abort(effect.attemptIds);
    else if (effect.type === "EvaluateDecision") actor.decideLater(effect.task, effect.attempt);
  }

  /** The store will never take the turn: its instance is parked, or stays what it was: ended, or nothing at all. */
  #reject(turn: InstanceTurn, error: unknown): void {
    const { actor } = turn;
    turn.fail(error);
    const entry = this.#residents.get(actor.id);
    if (entry?.actor !== actor) return;
    if (turn.outbox.length > 0) void this.#voidLetters(turn.outbox, actor);
    if (actor.row !== undefined) return void this.#parking.park(entry, actor.row, error);
    this.#residents.delete(actor.id);
    this.#dismiss(entry, error);
    this.#parts.gates.left(entry.workflow, entry.id);
  }

  /** Letters of a turn that will never be: their numbers are used up all the same. */
  async #voidLetters(rows: readonly OutboxRow[], { key: from, id: to }: InstanceActor): Promise<void> {
    const letter: Letter = { kind: "void", from, to };
    const voided = rows.map((row) => ({ ...row, body: JSON.stringify(letter) }));
    try {
      await this.commit({ ...noChanges(), outbox: voided });
      for (const row of voided) this.post(row, letter);
    } catch (error) {
      this.logger.error(
        { instanceId: to, error: messageOf(error) },
        "the letters of a refused turn could not be voided",
      );
    }
  }

  /** Letters of an instance that no turn of it caused. */
  async #send(actor: InstanceActor, effects: readonly Effect[]): Promise<void> {
    const rows = effects.flatMap((effect) => this.#address(actor, effect) ?? []);
    if (rows.length === 0) return;
    await this.commit({ ...noChanges(), outbox: rows });
    for (const row of rows) this.post(row, JSON.parse(row.body) as Letter);
  }

  isParked(id: string): boolean {
    return this.#parking.isParked(id);
  }

  /** Puts a parked instance back into service. */
  unpark(id: string): Promise<void> {
    return this.#parking.unpark(id);
  }

  /** Removes every trace of ended instances, but for those that are being used. Gives back how many. */
  async purge(instances: readonly { key: number; id: string }[]): Promise<number> {
    const changes = noChanges();
    for (const { key, id } of instances) if (this.#residents.get(id)?.key !== key) changes.purged.push(key);
    if (changes.purged.length === 0) return 0;
    await this.commit(changes);
    for (const entry of this.#residents.forget(instances)) this.#dismiss(entry, unknownInstance(entry.id));
    return changes.purged.length;
  }

  /** A change of the shard's own; it waits until no other commit is under way. */
  async commit(changes: Changes): Promise<void> {
    await this.#pump.alone(async () => await this.#openCommitter().commit([], changes));
    for (const { source, number } of changes.marks) this.acknowledge(source, number);
  }

  // Care

  /** Lets idle actors go, and names instances that have not moved for too long. */
  sweep(options: { idleBefore: number; stuckBefore: number }): InstanceEntry[] {
    const stuck: InstanceEntry[] = [];
    for (const entry of this.entries) {
      const { actor } = entry;
      if (entry.lastTurnAt < options.idleBefore && actor?.isIdle && !actor.isBusy) entry.actor = undefined;
      if (entry.lastTurnAt >= options.stuckBefore || entry.status !== "Running" || entry.isReportedStuck) continue;
      entry.isReportedStuck = true;
      stuck.push(entry);
    }
    return stuck;
  }

  #openCommitter(): Committer {
    if (this.isClosed) throw this.#closedBy;
    if (this.#committer === undefined) throw new EngineError("ENGINE_STATE", "the engine is not running");
    return this.#committer;
  }

  #lose(error: unknown): void {
    this.#closedBy ??= error;
    this.#wakes.stop();
    this.#pump.stop();
    this.#failAll(error);
    this.#parts.onFenced(this.number, error);
  }

  #failAll(error: unknown): void {
    for (const entry of this.entries) this.#dismiss(entry, error);
  }

  /** Nobody waits for it any longer. */
  #dismiss({ actor, waiters }: InstanceEntry, error: unknown): Message[] {
    for (const waiter of waiters.splice(0)) waiter.reject(error);
    return actor === undefined ? [] : this.#abandon(actor, error);
  }

  /** It will have no further turn. Gives back what it had not read. */
  #abandon(actor: InstanceActor, error: unknown): Message[] {
    const unread = actor.abandonInbox();
    for (const { reply } of unread) reply?.reject(error);
    return unread;
  }
}
