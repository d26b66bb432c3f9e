import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import { EngineError, hasCode, messageOf } from "../base/error.ts";
import { instanceFields, localName } from "../base/namespace.ts";
import { CodeRun, type RunOwner } from "../code/code-run.ts";
import type { CodeMachine } from "../kernel/code/code-machine.ts";
import type { Step } from "../kernel/code/step.ts";
import { parseEvents } from "../kernel/event-text.ts";
import type { Payload } from "../kernel/payload.ts";
import type { TurnError } from "../kernel/code/turn-question.ts";
import { Fenced, type HistoryRow } from "../stores/store.ts";
import type { CodeWaits } from "../views/waiting.ts";
import type { PayloadReader } from "../code/code-arrival.ts";
import { identityOfRun, type PastEvent, replay } from "../code/code-replay.ts";
import type { ActorTurn, InstanceActor } from "./instance-actor.ts";
import type { Message } from "./message.ts";
import { RemoteCode } from "./remote-code.ts";

/**
 * The running code of an instance, while it is in memory. Code that is missing, or does not match its history, is
 * stopped: that holds up the code, not the instance, and `attention` says why.
 */
export class AttachedCode {
  readonly #actor: InstanceActor<CodeMachine>;
  readonly #owner: RunOwner & PayloadReader;
  #stopped: { readonly why: string; readonly at: number } | undefined;
  /** A workflow that the code asked for and that is not registered in this process. */
  lacking: string | undefined;
  #run: CodeRun | undefined;
  /** Asks other processes for the steps of the code; undefined if this process has the code, or can ask nobody. */
  #remote: RemoteCode | undefined;
  /** The history as read from the store, until it is replayed. Undefined: it has to be read. */
  #past: PastEvent[] | undefined = [];

  constructor(actor: InstanceActor<CodeMachine>, owner: RunOwner & PayloadReader) {
    this.#actor = actor;
    this.#owner = owner;
    const { hosts } = actor.shard.code;
    if (hosts !== undefined && this.#find() === undefined) this.#remote = new RemoteCode(actor, hosts);
  }

  get remote(): RemoteCode | undefined {
    return this.#remote;
  }

  /** The code is in this process from now on. Returns what was asked elsewhere and is not answered. */
  bringHome(): Message[] {
    const messages = this.#remote?.abandon() ?? [];
    this.#remote = undefined;
    this.#past = undefined;
    return messages;
  }

  #find(): CodeWorkflow | undefined {
    const { definition, shard } = this.#actor;
    return shard.code.find(definition.name, definition.version);
  }

  /** The reason why the code is stopped. */
  get attention(): string | undefined {
    return this.#stopped?.why;
  }

  /** Time at which the code was stopped, or was first missed. */
  get stoppedAt(): number | undefined {
    return this.#stopped?.at;
  }

  /** Waits of the code; undefined while it is not in memory, has yet to begin, and after its last step. */
  get waits(): CodeWaits | undefined {
    if (this.#run === undefined || this.#run.isOver || this.#run.waiting.isEmpty) return undefined;
    const { waiting, events } = this.#run;
    return { waits: waiting.list(), untakenEvents: events.countUntaken() };
  }

  /** Called when the code may be there again. */
  forgive(): void {
    this.#stopped = undefined;
  }

  #hold(why: string): void {
    this.#stopped = { why, at: this.#actor.shard.clock.now() };
  }

  get run(): CodeRun | undefined {
    return this.#run;
  }

  /** True if the code has to be brought back by a replay before it can react. */
  get isDetached(): boolean {
    if (this.#remote !== undefined) return false;
    return this.#run === undefined && this.attention === undefined && this.#actor.machine.state.generation > 0;
  }

  restore(history: readonly HistoryRow[]): void {
    if (this.#remote === undefined) this.#past = pastOf(history);
    else this.#remote.restore(history);
  }

  /** Called when events were written that the code has not seen: a replay has to read the history again. */
  forgetPast(): void {
    this.#past = undefined;
  }

  /** Starts the code of a new instance. */
  start(): void {
    this.#run = this.#newRun();
  }

  /** Called when a new generation begins. Its code is started at once, or attached again in the next turn. */
  restart(when: "now" | "next turn"): void {
    this.forgive();
    this.#past = undefined;
    this.#run = when === "now" ? this.#newRun() : undefined;
  }

  detach(): void {
    this.#run?.end();
    this.#run = undefined;
    this.#past = undefined;
  }

  /**
   * Called when the instance has ended: by its code, by a user, by the bound of its compensation, or by the limit of
   * steps.
   */
  end(): void {
    const { status, state } = this.#actor.machine;
    this.#run?.end(status === "Failed" ? (state.reason ?? "") : undefined);
  }

  /**
   * Replays the history and the events of the open turn; `onSteps` gets the steps that the code takes beyond those on
   * record.
   */
  async attach(open: ActorTurn, onSteps: (steps: readonly Step[]) => void): Promise<void> {
    if (this.#remote !== undefined) return;
    const past = (this.#past ??= pastOf(await this.#readHistory(open)));
    const run = this.#newRun();
    if (run === undefined) return;
    const { events, at } = open.turn;
    const all = [...past, ...events.map((event) => ({ event, turn: open.number, at }))];
    try {
      const steps = await replay(run, all, this.#actor.machine.state, this.#owner);
      this.#run = run;
      this.#past = undefined;
      onSteps(steps);
    } catch (error) {
      this.stop(error, run);
    }
  }

  /**
   * `STORE_FENCED` if the history has turns that this actor did not write: the shard has another owner, and the state in
   * memory is out of date. Compared with that history, sound code would seem to have changed.
   */
  async #readHistory(turn: ActorTurn): Promise<HistoryRow[]> {
    const { shard, key, id } = this.#actor;
    const history = await shard.readHistory(key);
    const last = history.at(-1)?.turn ?? -1;
    if (last < turn.number) return history;
    const number = shard.token.shard;
    const error = new Fenced(
      [number],
      `shard ${number} has another owner, which wrote turn ${last} of instance "${localName(id)}"`,
    );
    shard.lose(error);
    throw error;
  }

  /** Stops code that is missing, has changed, or awaits something that is not durable. Any other error is thrown. */
  stop(error: unknown, run: CodeRun | undefined): void {
    const isMissing = hasCode(error, "WORKFLOW_UNKNOWN");
    if (!isMissing && !hasCode(error, "WORKFLOW_CHANGED") && !hasCode(error, "WORKFLOW_NOT_DURABLE")) throw error;
    run?.end();
    this.lacking = run?.faults.missingWorkflow;
    this.detach();
    this.#hold(error.message);
    const { id, shard } = this.#actor;
    const level = isMissing ? "warn" : "error";
    shard.logger[level](
      { ...instanceFields(id), code: error.code, problem: error.message },
      "the code of an instance was stopped",
    );
  }

  #newRun(): CodeRun | undefined {
    if (this.#remote !== undefined) return undefined;
    const { id, machine, shard } = this.#actor;
    const { code, logger } = shard;
    const workflow = this.#find();
    if (workflow === undefined) {
      this.#hold(this.missingText);
      // More events may be written before the code is there.
      this.#past = undefined;
      return undefined;
    }
    return new CodeRun({ ...identityOfRun(id, machine.state), workflow, logger, services: code, owner: this.#owner });
  }

  get missingText(): string {
    const { name, version } = this.#actor.definition;
    return `the code of workflow "${localName(name)}" in version "${version}" is not registered in this process`;
  }

  /** Stops code that runs elsewhere. */
  stopRemote({ code, message }: TurnError): void {
    this.#hold(message);
    const { id, shard } = this.#actor;
    shard.logger.error({ ...instanceFields(id), code, problem: message }, "the code of an instance was stopped");
  }

  /** `HANDLER_UNKNOWN`, `HANDLER_FAILED`; `INSTANCE_STATE` if the code is not there to answer. */
  query(name: string, input: string | undefined): string | undefined {
    const reply = this.#remote?.reply;
    if (reply !== undefined) {
      if ("error" in reply) throw new EngineError(reply.error.code, reply.error.message);
      return reply.output;
    }
    if (this.#run === undefined) throw this.#absent();
    try {
      return this.#run.answer(name, input);
    } catch (error) {
      if (error instanceof EngineError) throw error;
      const message = `query "${name}" of instance "${localName(this.#actor.id)}" threw: ${messageOf(error)}`;
      throw new EngineError("HANDLER_FAILED", message, { cause: error });
    }
  }

  /** Throws if the code has no such update, or if its validator refuses the data. */
  refuseUpdate({ name, data }: { readonly name: string; readonly data?: Payload }): void {
    if (this.#run === undefined) throw this.#absent();
    this.#run.refuseUpdate(name, data as string | undefined);
  }

  #absent(): EngineError {
    return new EngineError(
      "INSTANCE_STATE",
      `the code of instance "${localName(this.#actor.id)}" does not go on, so it cannot answer: ${this.attention ?? "it begins anew again and again"}`,
    );
  }
}

function pastOf(history: readonly HistoryRow[]): PastEvent[] {
  return history.flatMap(({ turn, at, events }) =>
    parseEvents(events, `turn ${turn} of a history`).map((event) => ({ event, turn, at })),
  );
}
