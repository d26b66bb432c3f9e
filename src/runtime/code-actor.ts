import { assert } from "../base/assert.ts";
import { EngineError, hasCode, messageOf } from "../base/error.ts";
import { parseStored } from "../base/stored-json.ts";
import type { Arrival } from "../code/arrival.ts";
import { CodeRun, type RunListener, type RunOwner } from "../code/code-run.ts";
import { type ReactionSlot, suspectLosses } from "../dispatch/reaction-slots.ts";
import type { TaskInputs, TaskRun } from "../dispatch/task-run.ts";
import { CodeMachine } from "../kernel/code/code-machine.ts";
import type { Step } from "../kernel/code/step.ts";
import type { Event } from "../kernel/event.ts";
import type { Payload, PayloadRef } from "../kernel/payload.ts";
import { Fenced, type HistoryRow, type InstanceRow } from "../stores/store.ts";
import { arrivalOf, type PayloadReader } from "./code-arrival.ts";
import { identityOfRun, type PastEvent, replay } from "./code-replay.ts";
import type { CodeDefinition } from "./definitions.ts";
import { type ActorHost, type ActorTurn, type FindAttempt, InstanceActor } from "./instance-actor.ts";
import type { Message, Told } from "./message.ts";
import { CrashLoop, type ReactionCaution } from "./reaction-caution.ts";

/** So many turns an update or a query waits for code that begins anew and anew. */
const turnsWithoutAnswerMax = 100;

const noInputs: TaskInputs = { context: {}, outputs: {} };

/**
 * An instance of code. What comes in is written down as it does; the code reacts to it inside the same turn if it is
 * here and sound, and otherwise later: what it sees is the history, in order, and nothing else. So code that is missing,
 * or is not what it was, holds up its own instance and loses nothing.
 *
 * - A1 The code is brought to where it was, by a replay, before it sees anything new. While it stays in memory, it never
 *   sees anything twice.
 * - A2 A turn is prepared while no other turn of the instance is being written: the code does not run ahead.
 */
export class CodeActor extends InstanceActor<CodeMachine> implements RunListener, RunOwner, PayloadReader {
  /** Why the code does not go on. */
  attention: string | undefined;
  /** A workflow that the code asked for and that this process does not have. */
  lacking: string | undefined;
  #run: CodeRun | undefined;
  /** As read from the store, until the code has seen it. Undefined: not read. */
  #past: PastEvent[] | undefined = [];
  #open: ActorTurn | undefined;
  /** Of the open turn: how many of its messages were heard. */
  #heard = 0;
  /** Of the open turn: how many of its events the code has seen. */
  #seen = 0;
  /** What the code has to answer, and was taken out of the open turn for the next one. */
  #deferred: Message[] | undefined;
  /** What the code has to answer, and came before the instance was let in by its workflow's maximum. */
  #untilStarted: Message[] | undefined;
  /** Turns in a row in which the code began anew twice before it could answer anything. */
  #turnsWithoutAnswer = 0;
  #onPrepared: ((actor: InstanceActor) => void) | undefined;
  /** It needs another turn: it has begun anew, or its code has come after this one was prepared. */
  #isPutOff = false;
  /** It has no further turn. */
  #isAbandoned = false;
  /** Of reactions recorded before they ran: how many were lost with their process, at the step where it is. */
  #losses = 0;
  #recordedStep = 0;
  /** The open turn only records that the code is about to react, or answers while it may not. */
  #isCodeless = false;
  /** Held from before the record until it is durable that the reaction is through. */
  #slot: ReactionSlot | undefined;
  /** It has asked for a slot and has none yet. */
  #awaitsSlot = false;
  /** Its turn is being prepared, and waits for that slot. */
  #isOnHold = false;
  /** Why the turn cannot be opened. */
  #problem: { readonly error: unknown } | undefined;

  constructor(host: ActorHost, definition: CodeDefinition, id: string, key: number) {
    const { timeoutSeconds, maxConcurrentActivities } = definition.spec;
    const timeoutMs = timeoutSeconds === undefined ? undefined : timeoutSeconds * 1000;
    const { limits } = host;
    super(host, definition, new CodeMachine({ id, key, limits, timeoutMs, maxConcurrentActivities }));
  }

  override get isInboxEmpty(): boolean {
    return super.isInboxEmpty && this.#open === undefined;
  }

  override get isAheadOfStore(): boolean {
    return super.isAheadOfStore || this.#open !== undefined;
  }

  override get isActive(): boolean {
    return super.isActive || this.hasOwnWork;
  }

  override get hasOwnWork(): boolean {
    return super.hasOwnWork || this.#isReactionOnRecord || this.attention !== undefined || this.hasMore;
  }

  /** One that needs attention stays where it is seen, and one that owes answers stays where they can be given. */
  override get isIdle(): boolean {
    return super.isIdle && this.attention === undefined && this.#untilStarted === undefined;
  }

  override get needsPreparation(): boolean {
    return true;
  }

  override get hasMore(): boolean {
    return this.#isPutOff && !this.hasEnded;
  }

  override restore(history: readonly HistoryRow[], row: InstanceRow | "from state" | undefined): void {
    super.restore(history, row);
    this.#past = pastOf(history);
    const { reaction } = this.machine.state;
    if (this.host.caution !== undefined && reaction !== undefined) {
      this.#losses = reaction.losses + (reaction.isUnderWay ? 1 : 0);
    }
  }

  override forgetLosses(): void {
    this.#losses = 0;
  }

  /** What had not been seen by the code when it went, because it was missing or wrong, is seen now. */
  override resumeTasks(wasClean: boolean, find: FindAttempt): TaskRun[] {
    this.host.schedule(this, "now");
    return super.resumeTasks(wasClean, find);
  }

  inputsOf(): TaskInputs {
    return noInputs;
  }

  paramsOf(task: number): string {
    return this.machine.state.params(task) ?? "";
  }

  outputs(): undefined {
    return undefined;
  }

  override abandonInbox(): Message[] {
    const taken = this.#open?.messages ?? [];
    this.#open = undefined;
    this.#isAbandoned = true;
    this.#slot?.leave();
    const waiting = [...(this.#deferred?.splice(0) ?? []), ...(this.#untilStarted?.splice(0) ?? [])];
    return [...taken, ...waiting, ...super.abandonInbox()];
  }

  /** The code that it waited for is there. */
  codeCame(): void {
    if (this.attention === undefined) return;
    this.attention = undefined;
    // A turn that is prepared already, without it, is followed by another.
    this.#isPutOff = true;
    this.tell({ query: () => undefined, reply: { resolve: () => undefined, reject: () => undefined } });
  }

  /** `HANDLER_UNKNOWN`, or why the code is not there to answer. */
  query(name: string, input: string | undefined): string | undefined {
    if (this.#run === undefined) throw this.#absent();
    try {
      return this.#run.answer(name, input);
    } catch (error) {
      if (error instanceof EngineError) throw error;
      const message = `query "${name}" of instance "${this.id}" threw: ${messageOf(error)}`;
      throw new EngineError("HANDLER_FAILED", message, { cause: error });
    }
  }

  #absent(): EngineError {
    return new EngineError(
      "INSTANCE_STATE",
      `the code of instance "${this.id}" does not go on, so it cannot answer: ${this.attention ?? "it begins anew again and again"}`,
    );
  }

  // Turns

  override prepare(onPrepared: (actor: InstanceActor) => void): void {
    this.#onPrepared = onPrepared;
    if (this.#isAbandoned) return onPrepared(this);
    const { caution } = this.host;
    if (caution !== undefined && this.#isCautionNeeded(caution)) this.#recordReaction(caution);
    else this.#react();
  }

  /** Unless the reaction is on record already: this turn is the one that was recorded. */
  #isCautionNeeded(caution: ReactionCaution): boolean {
    const isRecorded = this.#slot !== undefined && this.machine.state.reaction?.isUnderWay === true;
    if (isRecorded || this.hasEnded || !caution.isNeeded(this.key)) return false;
    // Where nothing new has come in, code that is there has nothing to react to.
    if (this.#run !== undefined && this.inbox.every((message) => this.#isKnown(message))) return false;
    const { name, version } = this.definition;
    return this.host.code.find(name, version) !== undefined;
  }

  #isKnown(message: Message): boolean {
    if ("query" in message) return true;
    return message.input.type === "RequestUpdate" && this.machine.state.hasUpdate(message.input.update);
  }

  #recordReaction(caution: ReactionCaution): void {
    this.#recordedStep = this.#step;
    if (this.#losses > this.host.limits.interruptionsMax) return this.#fail(new CrashLoop(this.#losses, this.#step));
    if (this.#takeWithoutCode((message) => this.#isRepeatedOutcome(message))) return;
    this.#isOnHold = true;
    if (!this.#awaitsSlot) {
      this.#awaitsSlot = true;
      caution.enter(this.#suspicion, (slot) => this.#enterSlot(slot));
    }
    this.#serveOnHold();
  }

  /** Its losses; on its last chance it is a suspect, however few losses are allowed. */
  get #suspicion(): number {
    const isLastTry = this.#losses >= this.host.limits.interruptionsMax;
    return isLastTry ? Math.max(this.#losses, suspectLosses) : this.#losses;
  }

  #enterSlot(slot: ReactionSlot): void {
    this.#awaitsSlot = false;
    // A turn that only answers is being written; the next one asks again.
    if (!this.#isOnHold) return slot.leave();
    this.#isOnHold = false;
    this.#slot = slot;
    if (!this.#isAbandoned) this.#openRecord();
    if (!this.#isCodeless) this.#leaveSlot();
    this.#onPrepared?.(this);
  }

  override tell(message: Message): void {
    super.tell(message);
    this.#serveOnHold();
  }

  /**
   * What needs no code is done while the code waits for a slot. Otherwise an attempt for which the slot waits would itself
   * wait for the record of its start.
   */
  #serveOnHold(): void {
    if (!this.#isOnHold || this.isUnborn || this.#isAbandoned) return;
    const needsNoCode = (message: Message): boolean =>
      "query" in message ? message.ofCode !== true : this.#isRepeatedOutcome(message);
    if (this.#takeWithoutCode(needsNoCode)) this.#isOnHold = false;
  }

  /** Of an attempt that was lost before. Code that ends the process when it sees the outcome must not lose it again. */
  #isRepeatedOutcome(message: Message): boolean {
    if ("query" in message || message.input.type !== "AttemptEnded") return false;
    const { task, attempt, generation } = message.input;
    const { state } = this.machine;
    if (generation !== state.generation || task >= state.size || attempt !== state.attempt(task)) return false;
    return (state.record(task)?.interruptions ?? 0) > 0;
  }

  /** A turn of these messages alone, if there are any. Code that is here has to be brought back to see what came of them. */
  #takeWithoutCode(which: (message: Message) => boolean): boolean {
    const messages = this.inbox.filter(which);
    if (messages.length === 0) return false;
    this.inbox = this.inbox.filter((message) => !messages.includes(message));
    try {
      const open = this.#beginWithoutCode(messages);
      for (const message of messages) {
        if ("query" in message) open.answer(message);
        else {
          this.take(message, open);
          this.#detach();
        }
      }
      this.#isCodeless = true;
      this.#isPutOff = true;
    } catch (error) {
      this.#problem = { error };
    }
    this.#onPrepared?.(this);
    return true;
  }

  #beginWithoutCode(messages: readonly Message[]): ActorTurn {
    const { clock, random } = this.host;
    const open = this.beginTurn(clock.now(), random.next());
    this.#open = open;
    open.messages = messages;
    return open;
  }

  #detach(): void {
    this.#run?.end();
    this.#run = undefined;
    this.#past = undefined;
  }

  /** A turn without the code. A new instance is durable before its code runs; all other messages wait for the code. */
  #openRecord(): void {
    const messages = this.isUnborn ? this.#takeStart() : [];
    try {
      const open = this.#beginWithoutCode(messages);
      for (const message of messages) this.take(message, open);
      // What it did is read back, for the code to see.
      if (messages.length > 0) this.#past = undefined;
      this.#isCodeless = this.machine.state.generation > 0 && !this.hasEnded;
      if (this.#isCodeless) this.machine.handle({ type: "StartReaction", losses: this.#losses }, open.turn);
      this.#isPutOff = this.#isCodeless;
    } catch (error) {
      this.#problem = { error };
    }
  }

  /** Its start, and the events that whoever started it sent along: they are acknowledged with it, and need no code. */
  #takeStart(): Told[] {
    const end = this.inbox.findIndex((message) => !isStartOrEvent(message));
    return this.inbox.splice(0, end === -1 ? this.inbox.length : end) as Told[];
  }

  /** How many steps its code has taken in this generation. */
  get #step(): number {
    const { size, timers } = this.machine.state;
    return size + timers;
  }

  #leaveSlot(): void {
    this.#slot?.leave();
    this.#slot = undefined;
  }

  #react(): void {
    try {
      const open = this.#begin();
      if (this.#isDetached) this.#wait(this.#attach(open));
      else this.#goOn();
    } catch (error) {
      this.#fail(error);
    }
  }

  #begin(): ActorTurn {
    const { clock, random } = this.host;
    const open = this.beginTurn(clock.now(), random.next());
    // What comes later has a later time, and so waits for the next turn.
    open.messages = this.inbox;
    this.inbox = [];
    this.#open = open;
    this.#heard = 0;
    this.#seen = 0;
    this.#isPutOff = false;
    return open;
  }

  /**
   * Hears one message after the other, and lets the code see what comes of each before the next. Where something has to be
   * waited for it leaves off, and is called again.
   */
  #goOn(): void {
    try {
      for (let open = this.#open; open !== undefined; open = this.#open) {
        if (this.#isReacting(open)) return;
        const message = open.messages[this.#heard++];
        if (message === undefined) break;
        if (this.#needsCode(message) && this.#defer(message, open)) continue;
        if ("query" in message) open.answer(message);
        else {
          const wait = this.#hear(message, open);
          if (wait !== undefined) return this.#wait(wait);
        }
      }
      this.#requeueDeferred();
      this.#onPrepared?.(this);
    } catch (error) {
      this.#fail(error);
    }
  }

  #needsCode(message: Message): boolean {
    if ("query" in message) return message.ofCode === true;
    const { input } = message;
    return input.type === "RequestUpdate" && !this.machine.state.hasUpdate(input.update);
  }

  /**
   * Queries and updates of code that is about to begin anew wait for the next turn, and so for the next generation. Code
   * that begins anew without end would never get to them: after some turns they are refused. Those of an instance that is
   * not let in yet wait until it is.
   */
  #defer(message: Message, open: ActorTurn): boolean {
    if (!this.#isBetweenGenerations) this.#turnsWithoutAnswer = 0;
    if (!this.#isNotLetIn && !this.#isBetweenGenerations) return false;
    if (this.#turnsWithoutAnswer > turnsWithoutAnswerMax) return false;
    (open.messages as Message[]).splice(--this.#heard, 1);
    if (this.#isNotLetIn) (this.#untilStarted ??= []).push(message);
    else (this.#deferred ??= []).push(message);
    return true;
  }

  get #isNotLetIn(): boolean {
    return this.machine.state.startedAt === undefined && !this.hasEnded;
  }

  get #isBetweenGenerations(): boolean {
    return this.#isPutOff && this.#run === undefined && this.attention === undefined && !this.hasEnded;
  }

  #requeueDeferred(): void {
    if (this.#untilStarted !== undefined && !this.#isNotLetIn) {
      this.inbox = [...this.#untilStarted, ...this.inbox];
      this.#untilStarted = undefined;
    }
    if (this.#deferred === undefined) return;
    this.#turnsWithoutAnswer++;
    this.inbox = [...this.#deferred, ...this.inbox];
    this.#deferred = undefined;
  }

  #wait(until: Promise<void>): void {
    until.then(
      () => this.#goOn(),
      (error: unknown) => this.#fail(error),
    );
  }

  #fail(error: unknown): void {
    this.#problem = { error };
    this.#onPrepared?.(this);
  }

  openTurn(): ActorTurn {
    const open = this.#open;
    this.#open = undefined;
    try {
      if (this.#problem !== undefined) throw this.#problem.error;
      assert(open !== undefined, "a turn of code is prepared before it is opened");
      if (this.#isCodeless) this.#isCodeless = false;
      else {
        this.#answerLatecomers(open);
        if (this.machine.state.reaction?.isUnderWay === true) this.#endReaction(open);
      }
      return this.closeTurn(open);
    } catch (error) {
      open?.fail(error);
      throw error;
    }
  }

  override onCommitted(turn: ActorTurn): void {
    super.onCommitted(turn);
    if (turn.events.length > 0 && this.#slot !== undefined && !this.#isReactionOnRecord) this.#leaveSlot();
  }

  get #isReactionOnRecord(): boolean {
    return this.machine.state.reaction?.isUnderWay === true && !this.hasEnded;
  }

  #endReaction(open: ActorTurn): void {
    const isEnough = this.host.caution?.noteCameThrough(this.key) === true;
    if (isEnough || this.#step !== this.#recordedStep) this.#losses = 0;
    if (!this.hasEnded) this.machine.handle({ type: "EndReaction", losses: this.#losses }, open.turn);
  }

  /**
   * Questions that came after the turn was prepared: left for the next one, they would be news for whoever asks after
   * them, and two who wait for there to be none would ask each other on for ever.
   */
  #answerLatecomers(open: ActorTurn): void {
    const messages = open.messages as Message[];
    for (let first = this.inbox[0]; first !== undefined && "query" in first; first = this.inbox[0]) {
      if (this.#needsCode(first) && (this.#isBetweenGenerations || this.#isNotLetIn)) return;
      this.inbox.shift();
      messages.push(first);
      open.answer(first);
    }
  }

  /** Resolves when the code is there to see what comes of it; undefined if it is already, or need not be. */
  #hear(message: Told, open: ActorTurn): Promise<void> | undefined {
    const { input } = message;
    if (input.type === "ResumeInstance" && this.attention !== undefined) {
      this.attention = undefined;
      if (this.machine.status === "Running") open.done(message);
      else this.take(message, open);
      return this.#attach(open);
    }
    // It is on its way to its end already, and what it takes back must not be cut short.
    if (input.type === "CancelInstance" && this.#run?.isUndoing === true && !this.hasEnded) {
      open.done(message);
      return undefined;
    }
    // What came in while it was paused is seen first: what the code does about that is then called off too.
    if (input.type === "CancelInstance" && this.machine.status === "Paused") {
      this.machine.handle({ type: "ResumeInstance" }, open.turn);
      this.carryOut(open);
      this.#heard--;
      return undefined;
    }
    // Code that is not here may be undoing something, too.
    if (input.type === "CancelInstance" && (this.#run === undefined || this.#run.isUndoingSaga)) {
      this.take(message, open, { ...input, isHeld: true });
      return undefined;
    }
    try {
      const isNew = input.type === "RequestUpdate" && !this.machine.state.hasUpdate(input.update);
      if (isNew && !this.hasEnded) this.#refuseUpdate(input);
    } catch (error) {
      open.refused(message, updateRefusal(input, error));
      return undefined;
    }
    if (input.type === "TimerDue" && this.#run === undefined) {
      this.#wakeWithoutCode(message, open);
      return undefined;
    }
    this.take(message, open);
    // What was taken over from another instance, the code has to be brought to first.
    return input.type === "StartInstance" && input.fork !== undefined ? this.#attach(open) : undefined;
  }

  #wakeWithoutCode(message: Told, open: ActorTurn): void {
    const { state } = this.machine;
    const isTimeUp = state.compensationMs !== undefined;
    this.take(message, open, { type: "TimerDue", isCodeAbsent: true });
    if (isTimeUp || state.compensationMs === undefined || this.attention === undefined) return;
    this.host.logger.warn(
      { instanceId: this.id, problem: this.attention },
      "the timeout of an instance is over; it waits for its code, which has to compensate; terminate it if that does not come back",
    );
  }

  #refuseUpdate({ name, data }: { readonly name: string; readonly data?: Payload }): void {
    if (this.#run === undefined) throw this.#absent();
    this.#run.refuseUpdate(name, data as string | undefined);
  }

  /** Lets the code see what has happened in this turn, event by event. False once it has seen all of it. */
  #isReacting(open: ActorTurn): boolean {
    do {
      for (let arrival = this.#nextArrival(open); arrival !== undefined; arrival = this.#nextArrival(open)) {
        if (arrival instanceof Promise) {
          arrival
            .then((read) => this.#run?.deliver(read, open.at, this) === true || this.#goOn())
            .catch((error: unknown) => this.#fail(error));
          return true;
        }
        if (this.#run?.deliver(arrival, open.at, this) === true) return true;
      }
    } while (this.#deliverHeldCancel(open));
    return false;
  }

  /**
   * A cancel that was recorded while the code was absent takes effect once the code has seen everything recorded after it:
   * a step that succeeded in between is then known to the code, and compensated. False if there is none to deliver.
   */
  #deliverHeldCancel(open: ActorTurn): boolean {
    const { status, isCancelHeld, cancelReason } = this.machine.state;
    if (!isCancelHeld || cancelReason === undefined || status !== "Running") return false;
    if (this.#run === undefined || !this.#run.canCancel) return false;
    this.machine.handle({ type: "CancelInstance", reason: cancelReason }, open.turn);
    this.carryOut(open);
    return true;
  }

  onSteps(steps: readonly Step[]): void {
    if (this.#open !== undefined) this.#takeSteps(this.#open, steps);
  }

  onDelivered(error?: unknown): void {
    try {
      if (error !== undefined) this.#holdUp(error, this.#run);
    } catch (problem) {
      return this.#fail(problem);
    }
    this.#goOn();
  }

  /** The next event of the turn that the code has to see, if it is there to do so. */
  #nextArrival(open: ActorTurn): Arrival | Promise<Arrival> | undefined {
    const { events } = open.turn;
    for (let event = events[this.#seen]; event !== undefined; event = events[this.#seen]) {
      this.#seen++;
      if (event.type === "InstanceCreated") this.#run = this.#newRun();
      else if (event.type === "InstanceContinued") this.#beginAnew(open, event);
      if (this.hasEnded) this.#endRun();
      if (this.#run === undefined || this.#run.isOver) continue;
      const arrival = arrivalOf(event, this.machine.state.input, this);
      if (arrival !== undefined) return arrival;
    }
    return undefined;
  }

  /** Others may end an instance too: a user, who knows what that means, the bound of its compensation, or the limit of steps. */
  #endRun(): void {
    if (this.machine.status === "Failed") this.#run?.warnOfDroppedUndo(this.machine.state.reason ?? "");
    this.#run?.end();
  }

  /**
   * What was before it in the same turn belongs to a generation that is over, and so is not written. Code that begins anew
   * over and over has one such beginning in each turn, so that others get a word in.
   */
  #beginAnew(open: ActorTurn, event: Event): void {
    const { events } = open.turn;
    events.splice(0, events.indexOf(event));
    open.dropRuns();
    this.#seen = 1;
    this.attention = undefined;
    this.#isPutOff = open.beginsAnew;
    this.#past = undefined;
    this.#run = open.beginsAnew ? undefined : this.#newRun();
    open.beginsAnew = true;
    this.#answerAgain(open);
  }

  /** Questions about the state that were answered earlier in this turn: what they were told of is not written. */
  #answerAgain(open: ActorTurn): void {
    for (const message of open.messages.slice(0, this.#heard))
      if ("query" in message && message.ofCode !== true) open.answer(message);
  }

  #takeSteps(open: ActorTurn, steps: readonly Step[]): void {
    if (steps.length === 0 || this.hasEnded) return;
    this.machine.handle(open.payloads.extract({ type: "StepsTaken", steps }), open.turn);
    this.carryOut(open);
  }

  /** Large values of this turn are not in the store yet. */
  async read({ ref }: PayloadRef): Promise<string> {
    const here = this.#open?.payloads.rows.find((row) => row.ref === ref);
    return here?.body ?? ((await this.host.readPayloads(this.key, [ref]))[0] as string);
  }

  // The code

  get #isDetached(): boolean {
    return this.#run === undefined && this.attention === undefined && this.machine.state.generation > 0;
  }

  /** Brings the code to where it was; what it does beyond that becomes part of the turn. */
  async #attach(open: ActorTurn): Promise<void> {
    const past = (this.#past ??= pastOf(await this.#readHistory(open)));
    const run = this.#newRun();
    if (run === undefined) return;
    const { events, at } = open.turn;
    const all = [...past, ...events.map((event) => ({ event, turn: open.number, at }))];
    this.#seen = events.length;
    try {
      const steps = await replay(run, all, this.machine.state, this);
      this.#run = run;
      this.#past = undefined;
      this.#takeSteps(open, steps);
    } catch (error) {
      this.#holdUp(error, run);
    }
  }

  /**
   * `STORE_FENCED` if the history has turns that this actor did not write: the shard has another owner, and what is in
   * memory is out of date. Compared with that history, sound code would seem to have changed.
   */
  async #readHistory({ number }: ActorTurn): Promise<HistoryRow[]> {
    const history = await this.host.readHistory(this.key);
    const last = history.at(-1)?.turn ?? -1;
    if (last < number) return history;
    const shard = this.host.token.shard;
    const message = `shard ${shard} has another owner, which wrote turn ${last} of instance "${this.id}"`;
    const error = new Fenced([shard], message);
    this.host.lose(error);
    throw error;
  }

  /** What is wrong with the code holds up the code, not the instance. */
  #holdUp(error: unknown, run: CodeRun | undefined): void {
    const isMissing = hasCode(error, "WORKFLOW_UNKNOWN");
    if (!isMissing && !hasCode(error, "WORKFLOW_CHANGED") && !hasCode(error, "WORKFLOW_NOT_DURABLE")) throw error;
    run?.end();
    this.lacking = run?.lacking;
    this.#detach();
    this.attention = error.message;
    const { id: instanceId } = this;
    const level = isMissing ? "warn" : "error";
    this.host.logger[level](
      { instanceId, code: error.code, problem: error.message },
      "the code of an instance was stopped",
    );
  }

  #newRun(): CodeRun | undefined {
    const { name, version } = this.definition;
    const { code, logger } = this.host;
    const workflow = code.find(name, version);
    if (workflow === undefined) {
      this.attention = `the code of workflow "${name}" in version "${version}" is not registered in this process`;
      // More may happen before the code is there.
      this.#past = undefined;
      return undefined;
    }
    return new CodeRun({ ...identityOfRun(this.id, this.machine.state), workflow, logger, host: code, owner: this });
  }

  onStray(run: CodeRun, error: EngineError): void {
    if (this.#run === run) this.#holdUp(error, run);
  }
}

function pastOf(history: readonly HistoryRow[]): PastEvent[] {
  return history.flatMap(({ turn, at, events }) =>
    (parseStored(events, `turn ${turn} of a history`) as Event[]).map((event) => ({ event, turn, at })),
  );
}

function updateRefusal(input: Told["input"], error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  const name = "name" in input ? input.name : "";
  return new EngineError("INPUT_INVALID", `update "${name}" was not let in: ${messageOf(error)}`, { cause: error });
}

function isStartOrEvent(message: Message): boolean {
  return "input" in message && ["StartInstance", "RaiseEvent"].includes(message.input.type);
}
