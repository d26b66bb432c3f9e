import type { Clock } from "../base/clock.ts";
import { EngineError, hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Random } from "../base/random.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { WorkerConnection } from "../dispatch/worker.ts";
import { attemptId, type ParentAddress } from "../kernel/address.ts";
import type { Machine, MachineLimits } from "../kernel/machine.ts";
import { CodeMachine } from "../kernel/code/code-machine.ts";
import type { Command } from "../kernel/command.ts";
import type { UpdateAnswered } from "../kernel/event.ts";
import { hasEnded } from "../kernel/status.ts";
import type { MaxInstances } from "../kernel/dag/dag-spec.ts";
import type { TaskDefinition } from "../kernel/task-definition.ts";
import type { StartInstance } from "../kernel/input.ts";
import type { Input } from "./input.ts";
import type { HistoryRow, InstanceRow, OffsetRow, OutboxRow, ShardClaim, Store } from "../stores/store.ts";
import { RemoteAttempts, type AttemptHosts, instanceOf, isRemote, workerOf } from "./remote-attempts.ts";
import type { CallOf } from "./call.ts";
import { endFor } from "./children.ts";
import type { CodeHost } from "./code-host.ts";
import { DagActor } from "./dag-actor.ts";
import type { Definition, Definitions } from "./definitions.ts";
import { InstanceStarter, requestOfChild, type StartRequest } from "./instance-starter.ts";
import type { Expressions } from "../expressions/expression.ts";
import { type ActorHost, type ActorTurn, InstanceActor } from "./instance-actor.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import type { IdleActors } from "./idle-actors.ts";
import { type InstanceEnd, readEnd } from "./instance-query.ts";
import type { InstanceTaskRun } from "./instance-task-run.ts";
import type { Lane, OwnRows } from "./lane.ts";
import { outboxMessageOf } from "./outbox-message-of.ts";
import { type GivenToChild, type KnownChild, InboundMessages, type InboundShard } from "./inbound-messages.ts";
import type { CommittedTurn, Message, Origin, Reply, Told } from "./message.ts";
import { type Admit, type EnterGate, type LeaveGate, type OutboxMessage, Outbox, type StartChild } from "./outbox.ts";
import { Quarantine } from "./quarantine.ts";
import { retryWhileUnavailable } from "./retry-while-unavailable.ts";
import { FencingToken } from "./fencing-token.ts";
import { ReactionCaution } from "./reaction-caution.ts";
import { InstanceTable, unknownInstance } from "./instance-table.ts";
import { gateAddress, SharedGates } from "./shared-gates.ts";
import { type WaitingTask, waitingTasksOf } from "./waiting-task.ts";
import { WakeQueue } from "./wake-queue.ts";
import type { WorkflowGates } from "./workflow-gate.ts";

/** Clocks of members differ by less. */
const clockBehindMsMax = 60_000;

const clockWarnEveryMs = 60_000;

/** What the shards of one member share. */
export interface ShardParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly dispatcher: Dispatcher;
  readonly definitions: Definitions;
  readonly expressions: Expressions;
  readonly code: CodeHost;
  readonly idle: IdleActors;
  readonly gates: WorkflowGates;
  readonly shardCount: number;
  /** Instances of one workflow may be with other members: its gate is asked by message. */
  readonly sharesInstances: boolean;
  readonly limits: MachineLimits;
  /** What is known of attempts that other members hold. */
  readonly hosts: AttemptHosts;
  resolveJob(definition: TaskDefinition, params: string | undefined): string;
  /** Where an instance of that id lives. */
  shardOf(instanceId: string): number;
  post(row: OutboxRow): void;
  readonly hasSubscribers: boolean;
  /** Subscribers hear of committed changes only. */
  publish(turn: CommittedTurn): void;
  /** Another owner has the shard now, or nothing can be written any more. */
  onLost(shard: Shard, error: unknown): void;
}

/**
 * Some of the instances, with one writer: this. Messages go in, turns are opened when the committer is free, and what
 * they cause is let out when they are durable.
 *
 * - H1 At most one commit is under way (`Lane`), and an actor has at most one turn in it.
 * - H2 Effects, replies and answers leave in `release`, after the commit, and nowhere else.
 * - H3 Every unfinished instance has an entry; an actor only while it has something to do or was used lately.
 * - H4 An object of this class is good for one claim: a shard that is lost or released is never opened again, but made
 *   anew.
 */
export class Shard implements ActorHost, InboundShard {
  readonly number: number;
  readonly token: FencingToken;
  readonly limits: MachineLimits;
  readonly expressions: Expressions;
  readonly code: CodeHost;
  readonly caution: ReactionCaution | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly outbox: Outbox;
  readonly remoteAttempts: RemoteAttempts;
  #clockWarnsFrom = -Infinity;
  /** On the monotonic clock. Everything that an earlier owner did was in the store by then. */
  readonly claimedAt: number;
  readonly #sharedEnds = new Map<string, Promise<InstanceEnd>>();
  /** By their keys. */
  readonly callsUnderWay = new Map<string, Promise<unknown>>();
  /** Reports that came too late to matter. */
  droppedReports = 0;
  readonly #parts: ShardParts;
  readonly #lane: Lane;
  readonly #claim: ShardClaim;
  readonly #instances: InstanceTable;
  readonly #starter: InstanceStarter;
  readonly #inbound: InboundMessages;
  readonly #quarantine: Quarantine;
  readonly #sharedGates: SharedGates;
  readonly #wakes: WakeQueue<InstanceEntry>;
  #restored: { rows: readonly InstanceRow[]; actors: readonly InstanceActor[] } = { rows: [], actors: [] };
  /** It takes leave: what runs goes on, nothing new starts. */
  #isClosing = false;
  /** Why it does nothing more. */
  #closedBy: unknown;
  /** It was given up in good order, so what still runs for it is another's. */
  #isReleased = false;

  constructor(number: number, options: { claim: ShardClaim; lane: Lane; parts: ShardParts }) {
    const { claim, lane, parts } = options;
    this.number = number;
    this.#claim = claim;
    this.#lane = lane;
    this.token = new FencingToken(number, claim);
    this.claimedAt = parts.clock.monotonic();
    this.#parts = parts;
    this.limits = parts.limits;
    this.expressions = parts.expressions;
    this.code = parts.code;
    this.caution = claim.clean
      ? undefined
      : new ReactionCaution({ clock: parts.clock, slots: parts.dispatcher.reactionSlots, lastKey: this.token.lastKey });
    this.clock = parts.clock;
    this.random = parts.random;
    this.logger = parts.logger;
    this.outbox = new Outbox(number);
    this.#sharedGates = new SharedGates({ ...parts, shard: number });
    this.#inbound = new InboundMessages(this);
    this.#wakes = new WakeQueue(parts.clock, (entry) => this.#wake(entry));
    this.remoteAttempts = new RemoteAttempts(parts.clock, parts.hosts, claim);
    this.#instances = new InstanceTable({
      shard: number,
      store: parts.store,
      definitions: parts.definitions,
      host: this,
      onBroken: (entry, row, error) => void this.#quarantine.add(entry, row, error),
    });
    this.#starter = new InstanceStarter({
      host: this,
      instances: this.#instances,
      store: parts.store,
      admit: (definition, id) => this.#admission(definition, id),
      refuseIfClosed: () => this.#refuseIfClosed(),
      hasInstance: (id) => this.hasInstance(id),
    });
    this.#quarantine = new Quarantine({
      logger: parts.logger,
      dispatcher: parts.dispatcher,
      remoteAttempts: this.remoteAttempts,
      rejoinGate: (actor) => this.rejoinGate(actor),
      instances: this.#instances,
      wakes: this.#wakes,
      commit: (rows) => this.commit(rows),
      consumed: (origins) => this.#inbound.consume(origins),
      dismiss: (entry, error) => this.#dismiss(entry, error),
      withActor: (id, use) => this.#withActor(id, use),
      send: (messages) => this.send(messages),
    });
    lane.enter(this);
  }

  resolveJob(definition: TaskDefinition, params: string | undefined): string {
    return this.#parts.resolveJob(definition, params);
  }

  /** Waits for a store that is away: no job fails because its inputs could not be read, even if its shard moves on. */
  async readPayloads(instance: number, refs: readonly number[]): Promise<string[]> {
    const { clock, store, dispatcher } = this.#parts;
    const read = (): Promise<string[]> => store.readPayloads(instance, refs);
    return await retryWhileUnavailable(clock, read, () => dispatcher.isShutDown);
  }

  async readHistory(instance: number): Promise<HistoryRow[]> {
    return await this.#patiently(() => this.#parts.store.loadHistory([instance]));
  }

  #patiently<T>(read: () => Promise<T>): Promise<T> {
    return retryWhileUnavailable(this.#parts.clock, read, () => this.#isClosing || this.isClosed);
  }

  shardOf(instanceId: string): number {
    return this.#parts.shardOf(instanceId);
  }

  post(row: OutboxRow): void {
    this.#parts.post(row);
  }

  get isClosed(): boolean {
    return this.#closedBy !== undefined;
  }

  /** To another owner, and not in good order. */
  get isLost(): boolean {
    return this.isClosed && !this.#isReleased;
  }

  get entries(): Iterable<InstanceEntry> {
    return this.#instances.all();
  }

  /** Tasks that wait inside instances, and instances that wait as a whole. */
  get waitingCount(): number {
    return this.#instances.waitingCount;
  }

  /** At least so many of them, if there are; instances that are not in memory are brought there. */
  async listWaiting(limit: number): Promise<WaitingTask[]> {
    const ids: string[] = [];
    let count = 0;
    for (const { id, waiting } of this.entries) {
      if (waiting === 0) continue;
      if (count >= limit) break;
      ids.push(id);
      count += waiting;
    }
    const lists = await Promise.all(ids.map((id) => this.#waitingTasksOf(id)));
    return lists.flat();
  }

  /** None of one that is gone, or out of service, by the time it is asked. */
  async #waitingTasksOf(id: string): Promise<WaitingTask[]> {
    try {
      return await this.ask(id, (_, actor) => waitingTasksOf(actor));
    } catch (error) {
      if (hasCode(error, "INSTANCE_UNKNOWN") || hasCode(error, "INSTANCE_QUARANTINED") || this.isClosed) return [];
      throw error;
    }
  }

  // Opening and closing

  /** Brings back what was unfinished. Nothing runs before `resume`. */
  async load(): Promise<void> {
    const { store } = this.#parts;
    this.#inbound.restore(await store.loadOffsets(this.number));
    this.outbox.restore(await store.loadSent(this.number));
    const rows = (await this.#instances.loadEntries()).filter(({ quarantined }) => quarantined === null);
    this.#restored = { rows, actors: await this.#instances.restoreAll(rows.filter(({ active }) => active)) };
  }

  resume(): void {
    const { rows, actors } = this.#restored;
    this.#restored = { rows: [], actors: [] };
    for (const row of rows) this.#wakes.set(this.#instances.get(row.id) as InstanceEntry, row.wake ?? undefined);
    for (const actor of actors) {
      const runs = actor.resumeTasks(this.#claim.clean, (run, worker) => this.#find(run, worker));
      for (const run of runs) this.#parts.dispatcher.enqueue(run);
    }
  }

  /** Where an attempt is that was running when the shard was opened. */
  #find(run: InstanceTaskRun, worker: string): "here" | "elsewhere" | "stopped" | "lost" {
    const { dispatcher, hosts } = this.#parts;
    if (dispatcher.rebind(run)) {
      hosts.reclaim(run.attemptId);
      return "here";
    }
    this.remoteAttempts.add(run, worker);
    return this.remoteAttempts.classify(run.attemptId);
  }

  /** Writes what is still to be written, and gives the shard up. Attempts that run go on. */
  async close(error: EngineError): Promise<void> {
    const { dispatcher, hosts } = this.#parts;
    this.#isClosing = true;
    this.#wakes.stop();
    dispatcher.drop((run) => this.#isMine(run));
    await this.#inbound.whenDelivered();
    if (dispatcher.isShutDown && this.#parts.sharesInstances) this.#takeBackStopped();
    await this.#lane.flush(this);
    if (this.isClosed) throw this.#closedBy;
    this.#closedBy = error;
    this.#isReleased = true;
    const running = dispatcher.listRunning().filter(({ run }) => this.#isMine(run));
    hosts.add(
      this.number,
      running.map(({ run }) => run.attemptId),
    );
    this.#failAll(error);
    this.#lane.leave(this);
    await this.#lane.releaseShard(this);
  }

  /** What this member ran was stopped with it, and is not to be looked for: whoever opens the shard next starts it. */
  #takeBackStopped(): void {
    for (const { actor } of this.entries) actor?.takeBackStopped((attempt) => this.remoteAttempts.has(attempt));
  }

  /** Whoever owns the shard now looks for what runs on remote workers, and runs the rest again. */
  #stopAttempts(): void {
    const { dispatcher } = this.#parts;
    dispatcher.drop((run) => this.#isMine(run));
    const running = dispatcher.listRunning().filter(({ run }) => this.#isMine(run));
    dispatcher.release(running.map(({ run }) => run.attemptId));
  }

  #isMine({ owner }: TaskRun): boolean {
    return owner instanceof InstanceActor && owner.host === this;
  }

  // What may be said to instances

  /** Durable when it resolves. */
  start(request: StartRequest): Promise<void> {
    return this.#starter.start(request);
  }

  /** Durably there, whatever its state. */
  async hasInstance(id: string): Promise<boolean> {
    try {
      return await this.ask(id, () => true);
    } catch (error) {
      if (hasCode(error, "INSTANCE_UNKNOWN")) return false;
      if (hasCode(error, "INSTANCE_QUARANTINED")) return true;
      throw error;
    }
  }

  async startChild(
    message: StartChild,
    given: GivenToChild,
    options: { origin: Origin; reuse: boolean },
  ): Promise<{ committed: Promise<void> }> {
    const definition = await this.#patiently(() => this.#parts.definitions.load(message.workflow, message.version));
    const request = requestOfChild(message, definition, { ...given, ...options });
    return await this.#patiently(() => this.#starter.startWithGivenId(request));
  }

  async childOf(parent: ParentAddress, id: string): Promise<KnownChild | undefined> {
    const question = (machine: Machine, actor: InstanceActor): KnownChild | undefined => {
      const own = machine.state.parent;
      if (own?.key !== parent.key) return undefined;
      const report = endFor(machine, parent);
      const isSameTask = own.task === parent.task && own.generation === parent.generation;
      return { end: report && outboxMessageOf(actor, report), isSameTask };
    };
    return await this.#patiently(() => this.ask(id, question));
  }

  async tellInstance(id: string, message: Message): Promise<void> {
    await this.#patiently(() => this.#withActor(id, (actor) => actor.tell(message)));
  }

  /** An id that code has chosen for a child may be another's. */
  async tellChild(id: string, parentKey: number, message: Message): Promise<void> {
    const tell = (actor: InstanceActor): void => {
      // Of one whose start is in its inbox nothing is known yet.
      if (!actor.isUnborn && actor.machine.state.parent?.key !== parentKey) throw unknownInstance(id);
      actor.tell(message);
    };
    await this.#patiently(() => this.#withActor(id, tell));
  }

  /** Resolves when what it led to is durable; `EngineError` if it is refused. */
  async tell(id: string, input: (machine: Machine) => Input, key?: string): Promise<void> {
    const reply = Promise.withResolvers<void>();
    await this.#withActor(id, (actor) => {
      const told = { input: input(actor.machine), reply };
      actor.tell(key === undefined ? told : { ...told, key });
    });
    return reply.promise;
  }

  /** With `ofCode` the instance's code is brought back first, where it has one. */
  async ask<T>(
    id: string,
    query: (machine: Machine, actor: InstanceActor) => T,
    options: { ofCode?: boolean } = {},
  ): Promise<T> {
    const reply = Promise.withResolvers<void>();
    const answer: T[] = [];
    await this.#withActor(id, (actor) => {
      const look = (machine: Machine): void => {
        if (machine.state.generation === 0) throw unknownInstance(id);
        answer[0] = query(machine, actor);
      };
      // With nothing of it outstanding, what it is in memory is what it is in the store: no commit to wait for.
      const isPlain = options.ofCode !== true || !actor.needsPreparation;
      if (!isPlain || actor.hasMessages || actor.isBusy || this.isClosed)
        return actor.tell({ query: look, ofCode: !isPlain, reply });
      look(actor.machine);
      reply.resolve();
    });
    await reply.promise;
    return answer[0] as T;
  }

  /** Uses the actor in the same breath in which it is found: an ended one may be gone a microtask later. */
  async #withActor(id: string, use: (actor: InstanceActor) => void): Promise<void> {
    for (;;) {
      const actor = this.#instances.get(id)?.actor;
      if (actor === undefined) {
        await this.#loadResident(id);
        continue;
      }
      try {
        return use(actor);
      } finally {
        this.#letGo(actor);
      }
    }
  }

  /** What was read from the store counts only while the shard is open: the next owner may have written since. */
  async #loadResident(id: string): Promise<void> {
    try {
      await this.#instances.load(id);
    } catch (error) {
      this.#refuseIfClosed();
      throw error;
    }
    this.#refuseIfClosed();
  }

  /** An ended instance, or one whose start was refused, stays only while it has messages. */
  #letGo(actor: InstanceActor): void {
    if (!actor.isInboxEmpty || actor.isBusy) return;
    if (!actor.hasEnded && !actor.isUnborn) return;
    const entry = this.#instances.get(actor.id);
    if (entry?.actor !== actor) return;
    if (actor.isUnborn) this.#parts.gates.left(entry.workflow, entry.id);
    this.#instances.delete(actor.id);
    if (entry.hasWaiters) this.#dismiss(entry, unknownInstance(actor.id));
  }

  /** What the code of an instance has answered to an update, once it has. */
  async awaitAnswer(id: string, update: string): Promise<{ key: number; answer: UpdateAnswered }> {
    for (;;) {
      const changed = this.#nextChange(id);
      const answer = await this.ask(id, (machine) => answerTo(machine, update));
      if (answer !== undefined) return answer;
      await changed;
    }
  }

  /** Resolves with the next turn of an instance that is under way. Nobody need wait for it. */
  #nextChange(id: string): Promise<void> {
    const entry = this.#instances.get(id);
    if (entry === undefined) return Promise.resolve();
    const watcher = Promise.withResolvers<void>();
    watcher.promise.catch(() => undefined);
    entry.addWatcher(watcher);
    return watcher.promise;
  }

  /**
   * What `look` finds at the instance's end, once that is durable. It looks in the breath in which the end is released:
   * later the actor may be in a turn that is not durable yet.
   */
  awaitEnd<T>(id: string, look: (actor: InstanceActor) => T): Promise<T> {
    const entry = this.#instances.get(id);
    const isUnderWay = entry !== undefined && entry.quarantined === undefined && !entry.actor?.hasEnded;
    if (!isUnderWay || this.isClosed) return this.#findEnd(id, look);
    const reply = Promise.withResolvers<T>();
    entry.addWaiter({ resolve: (actor) => settle(reply, () => look(actor)), reject: reply.reject });
    return reply.promise;
  }

  /** Waits like `awaitEnd`, for callers that come back again and again: all of them share one waiter. */
  sharedEnd(id: string): Promise<InstanceEnd> {
    let end = this.#sharedEnds.get(id);
    if (end === undefined) {
      end = this.awaitEnd(id, readEnd).finally(() => this.#sharedEnds.delete(id));
      this.#sharedEnds.set(id, end);
    }
    return end;
  }

  async #findEnd<T>(id: string, look: (actor: InstanceActor) => T): Promise<T> {
    if (this.isClosed) throw this.#closedBy;
    const end = await this.ask(id, (_, actor) => (actor.hasEnded ? { found: look(actor) } : undefined));
    return end === undefined ? await this.awaitEnd(id, look) : end.found;
  }

  peek(id: string): Machine | undefined {
    return this.#instances.get(id)?.actor?.machine;
  }

  /** What is in the store for it. */
  looked(rows: readonly OutboxRow[]): void {
    this.#inbound.noteOutbox(rows);
  }

  async isRequestKnown(key: string): Promise<boolean> {
    return (await this.#patiently(() => this.#parts.store.findRequest(this.number, key))) !== undefined;
  }

  /** False if a message that was sent before is missing. */
  receive(row: OutboxRow): boolean {
    return this.isClosed || this.#inbound.receive(row);
  }

  /** Another member tells how an attempt of an instance here has ended. Durable when it resolves, or not wanted. */
  async reported({ host, attemptId, id, input }: CallOf<"ReportAttempt">): Promise<void> {
    const { dispatcher } = this.#parts;
    const here = dispatcher.connectionOf(attemptId);
    // The worker that ran it here has gone there since, or was quicker than the word that it had: it is its own result.
    const isSameWorker = input.type === "AttemptEnded" && here?.worker === workerOf(input.worker ?? "");
    if (isSameWorker) dispatcher.detach([attemptId]);
    const ranOn =
      input.type === "AttemptEnded" && isRemote(input.worker ?? "") ? workerOf(input.worker ?? "") : undefined;
    if (this.remoteAttempts.delete(attemptId, host, ranOn)) return await this.tell(id, () => input);
    this.droppedReports++;
    await this.#durable(id);
  }

  /** Another member tells which attempts of instances here it holds; gives back those that are not wanted. */
  async held({ host, attemptIds, connections }: CallOf<"RenewAttempts">): Promise<string[]> {
    const unwanted = attemptIds.filter((id) => !this.#isHeld(id, host, connections[id]));
    await Promise.all(unwanted.map((id) => this.#durable(instanceOf(id))));
    return unwanted;
  }

  #isHeld(attemptId: string, holder: string, there: WorkerConnection | undefined): boolean {
    if (this.remoteAttempts.renew(attemptId, holder, there?.worker)) return true;
    const { dispatcher } = this.#parts;
    const here = dispatcher.connectionOf(attemptId);
    // A worker that was connected here has taken it along; or had taken it along before it came here.
    const hasGone = here !== undefined && here.worker === there?.worker && here.since < there.since;
    if (!hasGone) return false;
    dispatcher.detach([attemptId]);
    return this.remoteAttempts.renew(attemptId, holder, there.worker);
  }

  /** A worker that hears that nobody wants a result forgets it: whatever made it unwanted must not be lost after that. */
  async #durable(id: string): Promise<void> {
    const actor = this.#instances.get(id)?.actor;
    if (actor !== undefined && (actor.hasMessages || actor.isBusy)) await this.hasInstance(id);
  }

  runsElsewhere(run: InstanceTaskRun, worker: string): void {
    if (!this.isClosed) this.remoteAttempts.add(run, worker);
  }

  // Actors

  schedule(actor: InstanceActor, urgency: "now" | "later"): void {
    if (this.isClosed) return void this.#abandon(actor, this.#closedBy);
    this.#lane.schedule(actor, urgency);
  }

  onReadFailed(actor: InstanceActor, error: unknown): void {
    // A store that is away while the shard moves, or the engine stops, says nothing about the instance.
    if (this.#isClosing || this.#parts.dispatcher.isShutDown) return;
    const entry = this.#instances.get(actor.id);
    if (entry?.actor === actor) void this.#quarantine.add(entry, actor.row, error);
  }

  async #wake(entry: InstanceEntry): Promise<void> {
    try {
      await this.#withActor(entry.id, (actor) => actor.tell({ input: { type: "TimerDue" } }));
    } catch (error) {
      this.logger.error({ instanceId: entry.id, error: messageOf(error) }, "an instance could not be woken");
      if (!this.isClosed && entry.quarantined === undefined) this.#wakes.set(entry, this.#parts.clock.now() + 1000);
    }
  }

  // Turns

  consume(origins: readonly Origin[]): OffsetRow[] {
    return this.#inbound.consume(origins);
  }

  openTurn(actor: InstanceActor, now: number): ActorTurn | undefined {
    const entry = this.#instances.get(actor.id);
    if (entry?.actor !== actor) {
      this.#abandon(actor, unknownInstance(actor.id));
      return undefined;
    }
    try {
      const turn = actor.openTurn(now, this.#parts.random.next());
      if (actor.definitionsToStore.length > 0) {
        turn.definitions = actor.definitionsToStore.flatMap(
          (each) => this.#parts.definitions.unstored(each, now) ?? [],
        );
      }
      for (const effect of turn.effects) {
        const row = this.#address(actor, effect);
        if (row !== undefined) turn.send(row);
      }
      const gateMessage = this.#gateMessage(turn);
      if (gateMessage !== undefined) turn.send(this.outbox.address(this.shardOf(gateMessage.to), gateMessage));
      this.droppedReports += turn.dropped;
      return turn;
    } catch (error) {
      // What could not be read while the shard moves, or the engine stops, says nothing about the instance.
      if (this.#isClosing || this.#parts.dispatcher.isShutDown) this.#abandon(actor, error);
      else void this.#quarantine.add(entry, actor.row, error);
      return undefined;
    }
  }

  /** What goes to other instances is written with the turn that caused it. */
  #address(actor: InstanceActor, effect: Command): OutboxRow | undefined {
    const message = outboxMessageOf(actor, effect);
    return message && this.outbox.address(this.shardOf(message.to), message);
  }

  /** Undefined unless the workflow has a maximum that its instances share with those of other members. */
  #sharedLimit({ spec: { maxInstances } }: Definition): MaxInstances | undefined {
    return this.#parts.sharesInstances && maxInstances !== undefined && maxInstances.max > 0 ? maxInstances : undefined;
  }

  /** Whether a new instance may run: where others share its workflow's maximum, that is asked once it is there. */
  #admission(definition: Definition, id: string): StartInstance["admission"] {
    if (this.#sharedLimit(definition) !== undefined) return "queue";
    return this.#parts.gates.enter(definition.name, id, definition.spec.maxInstances);
  }

  /** What the turn has to say to its workflow's gate. */
  #gateMessage(turn: ActorTurn): EnterGate | LeaveGate | undefined {
    const limit = this.#sharedLimit(turn.actor.definition);
    if (limit === undefined || turn.events.length === 0) return undefined;
    if (turn.hasEnded) return { kind: "leave-gate", ...this.#gateOf(turn.actor) };
    if (turn.wasReopened) return { kind: "enter-gate", ...this.#gateOf(turn.actor), limit, isReopened: true };
    if (turn.events[0]?.type !== "InstanceCreated") return undefined;
    return { kind: "enter-gate", ...this.#gateOf(turn.actor), limit, isReopened: false };
  }

  #gateOf({ key: from, id: instanceId, definition: { name: workflow } }: InstanceActor): Omit<LeaveGate, "kind"> {
    return { from, to: gateAddress(workflow), workflow, instanceId };
  }

  /** An instance that waits, and may have missed the gate's answer, asks again. */
  async rejoinGate(actor: InstanceActor): Promise<void> {
    const { definition, id } = actor;
    const limit = this.#sharedLimit(definition);
    if (limit === undefined) return this.#parts.gates.rejoin(definition.name, id, definition.spec.maxInstances);
    const message: EnterGate = { kind: "enter-gate", ...this.#gateOf(actor), limit, isReopened: false };
    await this.send([message]);
  }

  /** What the gate of a workflow, which is on this shard, has to say to that. */
  answerForGate(message: EnterGate | LeaveGate): Promise<Admit[]> {
    return this.#patiently(() => this.#sharedGates.read(message));
  }

  /** The actor counts as busy throughout: a subscriber that asks about it in between is answered after those who wait. */
  releaseTurn(turn: ActorTurn): void {
    const { actor } = turn;
    actor.onCommitted(turn);
    for (const row of turn.outbox) this.post(row);
    const entry = this.#instances.get(actor.id);
    if (entry?.actor !== actor) return turn.reply();
    if (turn.events.length > 0) this.#follow(entry, turn);
    // A wake-up that found nothing due, because the machine's clock was set back, is still to come.
    else this.#wakes.set(entry, actor.machine.nextWake());
    for (const effect of turn.effects) this.#carryOut(actor, effect);
    turn.reply();
    if (turn.hasEnded) for (const waiter of entry.takeWaiters()) waiter.resolve(actor);
    // A turn that only answered has changed nothing: whoever waits for a change would ask again, and so without end.
    if (turn.events.length > 0) for (const watcher of entry.takeWatchers()) watcher.resolve();
    actor.endTurn();
    const wantsTurn = actor.hasMessages || (actor.hasMore && !this.#isClosing);
    if (actor.needsPreparation && wantsTurn) this.schedule(actor, "now");
    this.#parts.idle.touch(entry);
    this.#letGo(actor);
  }

  /** The time of an instance never goes back: after a clock was ahead, what it waits for counts from that time on. */
  #warnOfClockBehind({ actor, at }: ActorTurn): void {
    const { clock } = this.#parts;
    const behindMs = at - clock.now();
    if (behindMs <= clockBehindMsMax || clock.monotonic() < this.#clockWarnsFrom) return;
    this.#clockWarnsFrom = clock.monotonic() + clockWarnEveryMs;
    this.logger.warn(
      { instanceId: actor.id, behindMs },
      "the clock is behind the last turn of an instance: its timers and retries are due later by the difference",
    );
  }

  #follow(entry: InstanceEntry, turn: ActorTurn): void {
    const { machine } = turn.actor;
    const { gates, definitions } = this.#parts;
    for (const { name, version } of turn.definitions) definitions.stored(name, version);
    if (turn.wasReopened) gates.reopened(entry.workflow, entry.id);
    if (turn.hasEnded) gates.left(entry.workflow, entry.id);
    entry.status = machine.status;
    entry.lastTurnAt = turn.at;
    this.#warnOfClockBehind(turn);
    entry.isReportedStuck = false;
    this.#instances.noteWaiting(entry, machine.state.waitingCount);
    this.#wakes.set(entry, machine.nextWake());
    if (this.#parts.hasSubscribers) {
      const { events, at, number, firstEvent } = turn;
      this.#parts.publish({
        instanceId: entry.id,
        workflow: entry.workflow,
        turn: number,
        firstEvent,
        at,
        events,
        machine,
      });
    }
  }

  #carryOut(actor: InstanceActor, effect: Command): void {
    const { dispatcher } = this.#parts;
    if (effect.type === "RunTasks") {
      // Whoever opens the shard next finds them scheduled.
      if (!this.#isClosing) for (const task of effect.tasks) dispatcher.enqueue(actor.run(task));
    } else if (effect.type === "WithdrawTasks") dispatcher.withdraw(effect.attemptIds);
    else if (effect.type === "AbortTasks") {
      dispatcher.abort(effect.attemptIds);
      this.remoteAttempts.abort(effect.attemptIds);
    } else if (effect.type === "EvaluateDecision" && actor instanceof DagActor) {
      actor.decideLater(effect.task, effect.attempt);
    }
  }

  /** The store will never take the turn: its instance is quarantined, or stays what it was: ended, or nothing at all. */
  rejectTurn(turn: ActorTurn, error: unknown): void {
    const { actor } = turn;
    turn.fail(error);
    const entry = this.#instances.get(actor.id);
    if (entry?.actor !== actor) return;
    if (actor.row !== undefined) return void this.#quarantine.add(entry, actor.row, error);
    this.#instances.delete(actor.id);
    this.#dismiss(entry, error);
    this.#parts.gates.left(entry.workflow, entry.id);
  }

  /** Messages that no turn caused, in one commit with the offsets of what they answer. */
  async send(messages: readonly OutboxMessage[], offsets: () => OffsetRow[] = () => []): Promise<void> {
    const outbox: OutboxRow[] = [];
    await this.commit(() => {
      for (const message of messages) outbox.push(this.outbox.address(this.shardOf(message.to), message));
      return { offsets: offsets(), outbox };
    });
    for (const row of outbox) this.post(row);
  }

  isQuarantined(id: string): boolean {
    return this.#quarantine.has(id);
  }

  /** Puts a quarantined instance back into service. */
  releaseFromQuarantine(id: string): Promise<void> {
    return this.#quarantine.release(id);
  }

  /** Removes every trace of ended instances, but for those that are being used. Gives back how many. */
  async purge(instances: readonly { key: number; id: string }[]): Promise<number> {
    const purged = instances.filter(({ key, id }) => this.#instances.get(id)?.key !== key).map(({ key }) => key);
    if (purged.length === 0) return 0;
    await this.commit({ purged });
    for (const entry of this.#instances.forget(instances)) this.#dismiss(entry, unknownInstance(entry.id));
    return purged.length;
  }

  /** Rows of the shard's own; they wait until no other commit is under way. */
  async commit(rows: OwnRows): Promise<void> {
    // Asked again when it is their turn: nothing is written after the owner's last word.
    await this.#lane.commit(this, () => {
      this.#refuseIfClosed();
      return typeof rows === "function" ? rows() : rows;
    });
  }

  // Care

  /** Lets idle actors go, and names instances that have not moved for too long. */
  sweep(options: { idleBefore: number; stuckBefore: number }): InstanceEntry[] {
    const stuck: InstanceEntry[] = [];
    for (const entry of this.entries) {
      const { actor } = entry;
      if (entry.lastTurnAt < options.idleBefore && actor?.isIdle && !actor.isBusy) entry.actor = undefined;
      if (entry.isReportedStuck || !entry.isStuck(options.stuckBefore)) continue;
      entry.isReportedStuck = true;
      stuck.push(entry);
    }
    return stuck;
  }

  #refuseIfClosed(): void {
    if (this.isClosed) throw this.#closedBy;
  }

  lose(error: unknown): void {
    if (this.isClosed) return;
    this.#closedBy = error;
    this.#isClosing = true;
    this.#wakes.stop();
    this.#lane.leave(this);
    this.#stopAttempts();
    this.#failAll(error);
    this.#parts.onLost(this, error);
  }

  #failAll(error: unknown): void {
    for (const entry of this.entries) this.#dismiss(entry, error);
  }

  /** Nobody waits for it any longer. */
  #dismiss(entry: InstanceEntry, error: unknown): Message[] {
    const { actor } = entry;
    for (const waiter of [...entry.takeWaiters(), ...entry.takeWatchers()]) waiter.reject(error);
    return actor === undefined ? [] : this.#abandon(actor, error);
  }

  /** It will have no further turn. Gives back what it had not read. */
  #abandon(actor: InstanceActor, error: unknown): Message[] {
    const unread = actor.abandonInbox();
    for (const message of unread) {
      if (!(this.#isReleased && "input" in message && this.#passOn(actor, message))) message.reply?.reject(error);
    }
    return unread;
  }

  /** What an attempt that was running here when the shard moved has come to. False for anything else. */
  #passOn({ id, machine: { address } }: InstanceActor, { input, reply }: Told): boolean {
    if (input.type !== "AttemptEnded") return false;
    const { task, attempt, generation } = input;
    const run = { attemptId: attemptId({ ...address, generation }, task, attempt), instanceId: id };
    this.#parts.hosts.report(run, input, () => reply?.resolve());
    return true;
  }
}

function settle<T>(reply: Reply<T>, work: () => T): void {
  try {
    reply.resolve(work());
  } catch (error) {
    reply.reject(error);
  }
}

/** `INSTANCE_STATE` if none will ever come. */
function answerTo(machine: Machine, update: string): { key: number; answer: UpdateAnswered } | undefined {
  const { id, key } = machine.address;
  const state = machine instanceof CodeMachine ? machine.state : undefined;
  const answer = state?.answerTo(update);
  if (answer !== undefined) return { key, answer };
  if (!hasEnded(machine.status) && state?.hasUpdate(update) === true) return undefined;
  const end = hasEnded(machine.status) ? `ended in ${machine.status}` : "began anew";
  throw new EngineError("INSTANCE_STATE", `instance "${id}" ${end} before it answered`);
}
