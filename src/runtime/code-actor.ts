import type { CodeHost } from "../dispatch/code-host.ts";
import type { TaskInputs, TaskRun } from "../dispatch/task-run.ts";
import { CodeMachine } from "../kernel/code/code-machine.ts";
import type { LiveWaits } from "../views/waiting.ts";
import type { AttachedCode } from "./attached-code.ts";
import { CodePreparation } from "./code-preparation.ts";
import type { CodeDefinition } from "./definitions.ts";
import {
  type ActorShard,
  type ActorTurn,
  type FindAttempt,
  InstanceActor,
  type StoredInstance,
} from "./instance-actor.ts";
import type { Message } from "./message.ts";
import { RecordedReaction } from "./recorded-reaction.ts";

const noInputs: TaskInputs = { context: {}, outputs: {} };

/**
 * An instance of code. Messages are recorded as they come; the code reacts to them in the same turn if it is here and
 * sound, and otherwise later: it sees the history, in order, and nothing else. So code that is missing, or has changed,
 * holds up its own instance and loses nothing.
 *
 * - A1 The code is brought to where it was, by a replay, before it sees anything new. While it stays in memory, it never
 *   sees anything twice.
 * - A2 A turn is prepared while no other turn of the instance is being written: the code does not run ahead.
 */
export class CodeActor extends InstanceActor<CodeMachine> {
  readonly #preparation: CodePreparation;
  /** Undefined where reactions need not be recorded before they run. */
  readonly #reaction: RecordedReaction | undefined;

  constructor(shard: ActorShard, definition: CodeDefinition, id: string, key: number) {
    const { timeoutSeconds, maxConcurrentActivities } = definition.spec;
    const timeoutMs = timeoutSeconds === undefined ? undefined : timeoutSeconds * 1000;
    const { limits, caution } = shard;
    super(shard, definition, new CodeMachine({ id, key, limits, timeoutMs, maxConcurrentActivities }));
    this.#reaction = caution && new RecordedReaction(caution, key, limits.interruptionsMax);
    this.#preparation = new CodePreparation(this, this.#reaction);
  }

  get code(): AttachedCode {
    return this.#preparation.code;
  }

  /** Why its code does not go on. */
  get blocked(): LiveWaits["blocked"] {
    const { attention, stoppedAt } = this.code;
    if (attention !== undefined) return { reason: "code", text: `its code: ${attention}`, since: stoppedAt };
    const missing = this.code.remote?.missing;
    if (missing !== undefined)
      return { reason: "code", text: `its code: ${this.code.missingText}, ${missing.text}`, since: missing.since };
    if (this.#isReactionOnRecord || this.#reaction?.isOnHold === true) {
      const text = "its code, which reacts alone because the process was lost before";
      return { reason: "isolation", text, since: undefined };
    }
    return this.lacksCode ? { reason: "code", text: "its code, which is about to go on", since: undefined } : undefined;
  }

  /** Why its code needs attention. */
  get attention(): string | undefined {
    const missing = this.code.remote?.missing;
    return this.code.attention ?? (missing && `${this.code.missingText}, ${missing.text}`);
  }

  override get lacksCode(): boolean {
    return this.code.isDetached && this.machine.state.startedAt !== undefined && !this.hasEnded;
  }

  override get isInboxEmpty(): boolean {
    return super.isInboxEmpty && !this.#preparation.isUnderWay;
  }

  override get isAheadOfStore(): boolean {
    return super.isAheadOfStore || this.#preparation.isUnderWay;
  }

  override get isActive(): boolean {
    return super.isActive || this.hasOwnWork;
  }

  override get hasOwnWork(): boolean {
    const isStopped = this.code.attention !== undefined || this.code.remote?.hasUnseen === true;
    return super.hasOwnWork || this.#isReactionOnRecord || isStopped || this.hasMore;
  }

  get #isReactionOnRecord(): boolean {
    return this.machine.state.reaction?.isUnderWay === true && !this.hasEnded;
  }

  /**
   * An instance that needs attention stays in memory, where it is seen, and one that owes answers, where it gives them.
   */
  override get isIdle(): boolean {
    const isBusy = this.code.remote?.isBusy === true || this.#preparation.owesAnswers;
    return super.isIdle && this.code.attention === undefined && !isBusy;
  }

  override get owesAnswers(): boolean {
    return this.code.remote?.owesAnswers === true;
  }

  override get needsPreparation(): boolean {
    return true;
  }

  override get hasMore(): boolean {
    return this.#preparation.isPutOff;
  }

  override restore(stored: StoredInstance): void {
    super.restore(stored);
    this.code.restore(stored.history);
    this.#reaction?.restore(this.machine.state);
  }

  override forgetLosses(): void {
    this.#reaction?.forgetLosses();
    this.code.remote?.forgetLosses();
  }

  /** The code sees now what it had not seen when the instance left memory, because it was missing or had changed. */
  override resumeTasks(wasClean: boolean, find: FindAttempt): TaskRun[] {
    // Code that was registered while the shard was being opened was not reported to its instances.
    if (this.code.remote !== undefined) this.#bringHome();
    this.code.remote?.askAgain();
    this.shard.schedule(this, "now");
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
    return [...this.#preparation.abandon(), ...super.abandonInbox()];
  }

  /** The workflow that it waited for is registered in this process. */
  onCodeRegistered(): void {
    if (this.code.attention === undefined && this.code.remote === undefined) return;
    this.code.forgive();
    this.#bringHome();
    this.#preparation.putOff();
    this.#wake();
  }

  #bringHome(): void {
    const { name, version } = this.definition;
    if (this.shard.code.find(name, version) !== undefined) for (const each of this.code.bringHome()) this.tell(each);
  }

  /** A host of code has connected, perhaps with other code than the one that was stopped. */
  onCodeHosted(host: CodeHost): void {
    const { name, version } = this.definition;
    if (this.code.remote === undefined || this.code.attention === undefined || !host.canRun(name, version)) return;
    this.code.forgive();
    this.#wake();
  }

  #wake(): void {
    this.tell({ query: () => undefined, reply: { resolve: () => undefined, reject: () => undefined } });
  }

  override tell(message: Message): void {
    super.tell(message);
    this.#preparation.serveOnHold();
  }

  override prepare(onPrepared: (actor: InstanceActor) => void): void {
    this.#preparation.prepare(onPrepared);
  }

  openTurn(): ActorTurn {
    return this.#preparation.openTurn();
  }

  override onCommitted(turn: ActorTurn): void {
    super.onCommitted(turn);
    if (turn.events.length > 0 && !this.#isReactionOnRecord) this.#reaction?.leaveSlot();
    this.code.remote?.onCommitted(this.code.attention === undefined);
  }
}
