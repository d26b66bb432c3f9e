import { assert } from "../base/assert.ts";
import type { EngineError } from "../base/error.ts";
import { instanceFields } from "../base/namespace.ts";
import type { CodeRun, RunOwner } from "../code/code-run.ts";
import type { CodeMachine } from "../kernel/code/code-machine.ts";
import type { Event } from "../kernel/event.ts";
import type { CancelInstance } from "../kernel/input.ts";
import type { PayloadRef } from "../kernel/payload.ts";
import { AttachedCode } from "./attached-code.ts";
import { changesNothing, isRepeatedOutcome, needsCode, takeUntilStarted, updateRefusal } from "./code-message.ts";
import { DeferredQuestions } from "./deferred-questions.ts";
import type { ActorTurn, InstanceActor } from "./instance-actor.ts";
import type { Message, InputMessage } from "./message.ts";
import type { RecordedReaction } from "./recorded-reaction.ts";
import { type ArrivalsListener, TurnArrivals } from "./turn-arrivals.ts";

/**
 * Prepares the turns of one instance of code, before the lane opens them: handles its messages one after the other, and
 * lets the code react to the events of each. Only the event loop knows when code has reacted, so this is asynchronous.
 */
export class CodePreparation implements ArrivalsListener, RunOwner {
  readonly #actor: InstanceActor<CodeMachine>;
  readonly #machine: CodeMachine;
  readonly #code: AttachedCode;
  readonly #arrivals: TurnArrivals;
  /** Undefined where reactions need not be recorded before they run. */
  readonly #reaction: RecordedReaction | undefined;
  #deferred: DeferredQuestions | undefined;
  #open: ActorTurn | undefined;
  /** Number of handled messages of the open turn. */
  #handled = 0;
  #onPrepared: ((actor: InstanceActor) => void) | undefined;
  /**
   * True if another turn is needed: a new generation has begun, or code was registered after this turn was prepared.
   */
  #isPutOff = false;
  /** True if no further turn will be prepared. */
  #isAbandoned = false;
  /** The open turn only records that the code is about to react, or answers queries while it may not. */
  #isCodeless = false;
  /** The error because of which the turn cannot be opened. */
  #problem: { readonly error: unknown } | undefined;

  constructor(actor: InstanceActor<CodeMachine>, reaction: RecordedReaction | undefined) {
    this.#actor = actor;
    this.#machine = actor.machine;
    this.#code = new AttachedCode(actor, this);
    this.#arrivals = new TurnArrivals(actor, this.#code, this);
    this.#reaction = reaction;
  }

  get open(): ActorTurn | undefined {
    return this.#open;
  }

  get code(): AttachedCode {
    return this.#code;
  }

  /** A turn is being prepared, or is prepared and not opened yet. */
  get isUnderWay(): boolean {
    return this.#open !== undefined;
  }

  /** The instance wants another turn, whether or not messages come. */
  get isPutOff(): boolean {
    return this.#isPutOff && !this.#actor.hasEnded;
  }

  /** True if callers wait for answers of an instance that is not started yet. */
  get owesAnswers(): boolean {
    return this.#deferred?.isWaitingForStart === true || this.#code.remote?.owesAnswers === true;
  }

  /** Prepares another turn after this one, which may be prepared without the code already. */
  putOff(): void {
    this.#isPutOff = true;
  }

  /** Gives up the turn, for an instance that has no further one; returns the messages that it holds. */
  abandon(): Message[] {
    const taken = this.#open?.messages ?? [];
    this.#open = undefined;
    this.#isAbandoned = true;
    this.#reaction?.leaveSlot();
    return [...taken, ...(this.#deferred?.takeAll() ?? []), ...(this.#code.remote?.abandon() ?? [])];
  }

  /** Calls back when the turn can be opened. */
  prepare(onPrepared: (actor: InstanceActor) => void): void {
    this.#onPrepared = onPrepared;
    if (this.#isAbandoned) return onPrepared(this.#actor);
    if (this.#reaction !== undefined && this.#mustRecord(this.#reaction)) this.#recordReaction(this.#reaction);
    else this.#react();
  }

  /** Ends the preparation and returns the turn; throws what made it fail. */
  openTurn(): ActorTurn {
    const open = this.#open;
    this.#open = undefined;
    try {
      if (this.#problem !== undefined) throw this.#problem.error;
      assert(open !== undefined, "a turn of code is prepared before it is opened");
      if (this.#isCodeless) this.#isCodeless = false;
      else {
        // A query that comes late may be that of a start which waits to be durable, and came late too.
        this.#actor.recordStarts(open.turn);
        this.#answerLatecomers(open);
        if (this.#machine.state.reaction?.isUnderWay === true) this.#endReaction(open);
      }
      this.#code.remote?.noteTurn(open, this.#actor.eventCount);
      return this.#actor.closeTurn(open);
    } catch (error) {
      if (this.#actor.shard.isStopping) this.#leaveUnread(open?.messages ?? [], error);
      else open?.fail(error);
      throw error;
    }
  }

  /**
   * While the shard closes, inputs stay unread: results of attempts are then reported to its next owner. Queries are
   * rejected, because the delivery of a message that the shard waits for may wait for the answer.
   */
  #leaveUnread(messages: readonly Message[], error: unknown): void {
    this.#actor.inbox.unshift(...messages.filter((message) => "input" in message));
    for (const message of messages) if ("query" in message) message.reply.reject(error);
  }

  // Reactions that are recorded before they run

  /** False if the reaction is on record already: this turn is the one that was recorded. */
  #mustRecord(reaction: RecordedReaction): boolean {
    const { state } = this.#machine;
    const isRecorded = reaction.hasSlot && state.reaction?.isUnderWay === true;
    if (isRecorded || this.#actor.hasEnded || !reaction.isNeeded) return false;
    // Attached code has nothing to react to if no message changes anything.
    if (this.#code.run !== undefined && this.#actor.inbox.every((message) => changesNothing(message, state)))
      return false;
    const { name, version } = this.#actor.definition;
    return this.#actor.shard.code.find(name, version) !== undefined;
  }

  #recordReaction(reaction: RecordedReaction): void {
    try {
      reaction.begin(this.#step);
    } catch (error) {
      return this.onFailed(error);
    }
    if (this.#takeWithoutCode((message) => isRepeatedOutcome(message, this.#machine.state))) return;
    reaction.awaitSlot(() => {
      if (!this.#isAbandoned) this.#openRecord(reaction);
      if (!this.#isCodeless) reaction.leaveSlot();
      this.#onPrepared?.(this.#actor);
    });
    this.serveOnHold();
  }

  /**
   * Messages that need no code are handled while the code waits for a slot. Otherwise an attempt for which the slot waits
   * would itself wait for the record of its start.
   */
  serveOnHold(): void {
    if (this.#reaction?.isOnHold !== true || this.#actor.isUnborn || this.#isAbandoned) return;
    const { state } = this.#machine;
    const needsNoCode = (message: Message): boolean =>
      "query" in message ? message.ofCode !== true && message.isInOrder !== true : isRepeatedOutcome(message, state);
    if (this.#takeWithoutCode(needsNoCode)) this.#reaction.endHold();
  }

  /**
   * Opens a turn of these messages alone, if there are any. Code that is here has to be replayed to see their events.
   */
  #takeWithoutCode(which: (message: Message) => boolean): boolean {
    const messages = this.#actor.inbox.filter(which);
    if (messages.length === 0) return false;
    this.#actor.inbox = this.#actor.inbox.filter((message) => !messages.includes(message));
    try {
      const open = this.#beginWithoutCode(messages);
      for (const message of messages) {
        if ("query" in message) open.answer(message);
        else {
          this.#actor.take(message, open);
          this.#code.detach();
        }
      }
      this.#isCodeless = true;
      this.#isPutOff = true;
    } catch (error) {
      this.#problem = { error };
    }
    this.#onPrepared?.(this.#actor);
    return true;
  }

  #beginWithoutCode(messages: readonly Message[]): ActorTurn {
    const { clock, random } = this.#actor.shard;
    const open = this.#actor.beginTurn(clock.now(), random.next());
    this.#open = open;
    open.messages = messages;
    return open;
  }

  /**
   * Opens a turn without the code. A new instance is durable before its code runs; all other messages wait for the
   * code.
   */
  #openRecord({ losses }: RecordedReaction): void {
    const messages = this.#actor.isUnborn ? takeUntilStarted(this.#actor.inbox) : [];
    try {
      const open = this.#beginWithoutCode(messages);
      for (const message of messages) {
        if ("query" in message) open.answer(message);
        else this.#actor.take(message, open);
      }
      // The code sees these events by a replay.
      if (messages.length > 0) this.#code.forgetPast();
      this.#isCodeless = this.#machine.state.generation > 0 && !this.#actor.hasEnded;
      if (this.#isCodeless) this.#machine.handle({ type: "StartReaction", losses }, open.turn);
      this.#isPutOff = this.#isCodeless;
    } catch (error) {
      this.#problem = { error };
    }
  }

  /** Number of steps of its code in this generation. */
  get #step(): number {
    const { size, timers } = this.#machine.state;
    return size + timers;
  }

  // Reactions of the code to messages

  #react(): void {
    try {
      const open = this.#begin();
      const answer = this.#takeAnswer(open);
      if (answer !== undefined) this.#wait(answer);
      else if (this.#code.isDetached) this.#wait(this.#arrivals.attach(open));
      else this.onReacted();
    } catch (error) {
      this.onFailed(error);
    }
  }

  #begin(): ActorTurn {
    const { clock, random } = this.#actor.shard;
    const open = this.#actor.beginTurn(clock.now(), random.next());
    // Messages that come later have a later time, and so wait for the next turn.
    open.messages = this.#actor.inbox;
    this.#actor.inbox = [];
    this.#open = open;
    this.#handled = 0;
    this.#arrivals.begin();
    this.#isPutOff = false;
    return open;
  }

  /**
   * Handles one message after the other, and lets the code see the events of each before the next. It returns where
   * something has to be awaited, and is called again.
   */
  onReacted(): void {
    try {
      for (let open = this.#open; open !== undefined; open = this.#open) {
        if (this.#arrivals.isReacting(open)) return;
        const message = open.messages[this.#handled++];
        if (message === undefined) break;
        if (needsCode(message, this.#machine.state) && this.#defer(message, open)) continue;
        if (this.#handOver(message, open)) continue;
        if ("query" in message) open.answer(message);
        else {
          const wait = this.#handle(message, open);
          if (wait !== undefined) return this.#wait(wait);
        }
      }
      this.#requeueDeferred();
      this.#onPrepared?.(this.#actor);
    } catch (error) {
      this.onFailed(error);
    }
  }

  /**
   * Defers queries and updates. Those of code that is about to continue as new wait for the next turn, and so for the
   * next generation. Those of an instance that is not admitted yet wait until it is.
   */
  #defer(message: Message, open: ActorTurn): boolean {
    if (!this.#isBetweenGenerations) this.#deferred?.onAnswerable();
    if (!this.#isNotAdmitted && !this.#isBetweenGenerations) return false;
    const deferred = (this.#deferred ??= new DeferredQuestions());
    if (deferred.isOverdue) return false;
    (open.messages as Message[]).splice(--this.#handled, 1);
    deferred.defer(message, this.#isNotAdmitted ? "start" : "next turn");
    return true;
  }

  /** Takes the answer of a host of code, if there is one. */
  #takeAnswer(open: ActorTurn): Promise<void> | undefined {
    const { remote } = this.#code;
    remote?.refuseCrashLoop();
    return remote?.takeAnswer(open, {
      takeSteps: (steps) => this.#arrivals.takeSteps(open, steps),
      settle: (message) => {
        (open.messages as Message[]).unshift(message);
        this.#handled++;
      },
      stop: (problem) => this.#code.stopRemote(problem),
    });
  }

  /** Leaves queries and new updates to the process that has the code. Its answer settles them in a later turn. */
  #handOver(message: Message, open: ActorTurn): boolean {
    const { remote, attention } = this.#code;
    const { state } = this.#machine;
    if (remote === undefined || attention !== undefined || state.generation === 0) return false;
    if (!needsCode(message, state) || ("input" in message && this.#actor.hasEnded)) return false;
    (open.messages as Message[]).splice(--this.#handled, 1);
    remote.add(message);
    return true;
  }

  get #isNotAdmitted(): boolean {
    const { generation, startedAt } = this.#machine.state;
    return generation > 0 && startedAt === undefined && !this.#actor.hasEnded;
  }

  get #isBetweenGenerations(): boolean {
    return (
      this.#isPutOff && this.#code.run === undefined && this.#code.attention === undefined && !this.#actor.hasEnded
    );
  }

  #requeueDeferred(): void {
    const messages = this.#deferred?.takeForNextTurn(!this.#isNotAdmitted) ?? [];
    if (messages.length > 0) this.#actor.inbox = [...messages, ...this.#actor.inbox];
  }

  #wait(until: Promise<void>): void {
    until.then(
      () => this.onReacted(),
      (error: unknown) => this.onFailed(error),
    );
  }

  onFailed(error: unknown): void {
    this.#problem = { error };
    this.#onPrepared?.(this.#actor);
  }

  #endReaction(open: ActorTurn): void {
    this.#reaction?.end(this.#step);
    if (this.#actor.hasEnded) return;
    this.#machine.handle({ type: "EndReaction", losses: this.#reaction?.losses ?? 0 }, open.turn);
  }

  /**
   * Answers queries that came after the turn was prepared. Left for the next turn, they would be outstanding for the query
   * after them, and two callers that wait until none is outstanding would wait for each other for ever.
   */
  #answerLatecomers(open: ActorTurn): void {
    const messages = open.messages as Message[];
    for (let first = this.#actor.inbox[0]; first !== undefined && "query" in first; first = this.#actor.inbox[0]) {
      const mustWait = this.#isBetweenGenerations || this.#isNotAdmitted || this.#code.remote !== undefined;
      if (mustWait && needsCode(first, this.#machine.state)) return;
      this.#actor.inbox.shift();
      messages.push(first);
      open.answer(first);
    }
  }

  /** Resolves when the code is there to see the events; undefined if it is already, or need not be. */
  #handle(message: InputMessage, open: ActorTurn): Promise<void> | undefined {
    const { input } = message;
    if (input.type === "ResumeInstance" && this.#code.attention !== undefined) {
      this.#code.forgive();
      if (this.#machine.status === "Running") open.accept(message);
      else this.#actor.take(message, open);
      return this.#arrivals.attach(open);
    }
    if (input.type === "CancelInstance" && this.#cancel(message, input, open)) return undefined;
    try {
      const isNew = input.type === "RequestUpdate" && !this.#machine.state.hasUpdate(input.update);
      if (isNew && this.#machine.state.generation > 0 && !this.#actor.hasEnded) this.#code.refuseUpdate(input);
    } catch (error) {
      open.refuse(message, updateRefusal(message, error));
      return undefined;
    }
    if (input.type === "TimerDue" && this.#code.run === undefined) {
      this.#wakeWithoutCode(message, open);
      return undefined;
    }
    this.#actor.take(message, open);
    // The code of a fork has to be brought to the events that were copied from another instance.
    return input.type === "StartInstance" && input.fork !== undefined ? this.#arrivals.attach(open) : undefined;
  }

  /** False if the cancel needs no care, and is handled like any other message. */
  #cancel(message: InputMessage, input: CancelInstance, open: ActorTurn): boolean {
    const { run } = this.#code;
    // The instance is on its way to its end already, and its compensation must not be cut short.
    if (run?.compensation.isUndoing === true && !this.#actor.hasEnded) open.accept(message);
    else if (this.#machine.status === "Paused") {
      // Events that came while it was paused are seen first: the code's reactions to them are then cancelled too.
      this.#machine.handle({ type: "ResumeInstance" }, open.turn);
      this.#actor.collectCommands(open);
      this.#handled--;
    }
    // Code that is not here may be undoing something, too.
    else if (run === undefined || run.compensation.isUndoingSaga)
      this.#actor.take(message, open, { ...input, isHeld: true });
    else return false;
    return true;
  }

  #wakeWithoutCode(message: InputMessage, open: ActorTurn): void {
    const { state } = this.#machine;
    const isTimeUp = state.compensationMs !== undefined;
    this.#actor.take(message, open, { type: "TimerDue", isCodeAbsent: true });
    if (isTimeUp || state.compensationMs === undefined || this.#code.attention === undefined) return;
    this.#actor.shard.logger.warn(
      { ...instanceFields(this.#actor.id), problem: this.#code.attention },
      "the timeout of an instance is over; it waits for its code, which has to compensate; terminate it if that does not come back",
    );
  }

  /**
   * Starts a new generation. Earlier events of the same turn belong to the old generation, and are not written. Code
   * that continues as new repeatedly does so once in each turn, so that other instances have their turns.
   */
  onContinued(open: ActorTurn, event: Event): void {
    const { events } = open.turn;
    events.splice(0, events.indexOf(event));
    open.dropRuns();
    this.#isPutOff = open.beginsAnew;
    this.#code.restart(open.beginsAnew ? "next turn" : "now");
    open.beginsAnew = true;
    this.#answerAgain(open);
  }

  /** Answers queries of this turn again: the events that their answers came from are not written. */
  #answerAgain(open: ActorTurn): void {
    for (const message of open.messages.slice(0, this.#handled))
      if ("query" in message && message.ofCode !== true) open.answer(message);
  }

  onStray(run: CodeRun, error: EngineError): void {
    if (this.#code.run === run) this.#code.stop(error, run);
  }

  /** Reads a large value, which is not in the store yet if it is of this turn. */
  async read({ ref }: PayloadRef): Promise<string> {
    const here = this.#open?.payloads.rows.find((row) => row.ref === ref);
    return here?.body ?? ((await this.#actor.shard.readPayloads(this.#actor.key, [ref]))[0] as string);
  }
}
