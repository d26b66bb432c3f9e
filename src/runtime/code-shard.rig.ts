import assert from "node:assert/strict";
import { type CodeWorkflow, defineWorkflow } from "../authoring/code-workflow.ts";
import type { WorkflowContext } from "../authoring/workflow-context.ts";
import { whenDrained } from "../code/code-run.rig.ts";
import type { CodeHosts } from "../dispatch/code-hosts.ts";
import { eventsIn } from "../kernel/event-text.ts";
import type { Event } from "../kernel/event.ts";
import { NewTurns } from "../stores/batch-turns.rig.ts";
import { type HistoryRow, noChanges } from "../stores/store.ts";
import { failureFrom } from "../worker/failure-from.ts";
import { CodeActor } from "./code-actor.ts";
import type { CodeRuntime } from "./code-runtime.ts";
import type { ActorTurn } from "./instance-actor.ts";
import type { Input } from "./input.ts";
import { RigShard, RigStore } from "./shard.rig.ts";

export const startInput = {
  type: "StartInstance",
  workflow: "w",
  version: "1",
  generation: 1,
  context: {},
  trigger: "api",
  admission: "run",
} as const satisfies Input;

/** A shard with one instance of code, whose history it keeps. */
export class CodeShard extends RigShard {
  readonly workflows = new Map<string, CodeWorkflow>();
  rows: HistoryRow[] = [];
  readonly #newTurns = new NewTurns();
  readonly payloads = new Map<number, string>();
  reads = 0;
  #life: CodeActor | undefined;
  override readonly code: CodeRuntime & { hosts?: CodeHosts } = {
    find: (name, version) => this.workflows.get(`${name}@${version}`),
    versionOf: () => "1",
    hasDomain: () => true,
    whenDrained,
    failureFrom,
    within: (call) => call(),
  };

  static async having(fn?: (ctx: WorkflowContext, input: never) => Promise<unknown>): Promise<CodeShard> {
    const store = new RigStore();
    await store.open();
    const shard = new CodeShard(0, await store.claim(0));
    if (fn !== undefined) shard.deploy(fn);
    return shard;
  }

  deploy(fn: (ctx: WorkflowContext, input: never) => Promise<unknown>): void {
    this.workflows.set("w@1", defineWorkflow("w", fn));
  }

  get life(): CodeActor {
    return (this.#life ??= this.#newActor());
  }

  #newActor(): CodeActor {
    return new CodeActor(this, { kind: "code", name: "w", version: "1", spec: { code: true } }, "i", 7);
  }

  /** The instance leaves memory and comes back from its history. */
  revive(): CodeActor {
    this.#life = this.#newActor();
    this.#life.restore({ history: this.rows, row: undefined, turnText: null });
    return this.#life;
  }

  override schedule(): void {
    // The tests say themselves when a turn is opened.
  }

  override readHistory(): Promise<[]> {
    this.reads++;
    return Promise.resolve(this.rows as []);
  }

  override readPayloads(_instance?: number, refs: readonly number[] = []): Promise<string[]> {
    return Promise.resolve(refs.map((ref) => this.payloads.get(ref) ?? assert.fail("no such payload")));
  }

  /** Its code is only on those hosts. */
  static async asking(hosts: CodeHosts): Promise<CodeShard> {
    const shard = await CodeShard.having();
    shard.code.hosts = hosts;
    return shard;
  }

  /** One turn with these messages, written down. */
  async turn(...inputs: readonly Input[]): Promise<ActorTurn> {
    for (const input of inputs) this.life.tell({ input });
    await this.prepare();
    return this.write(this.life.openTurn());
  }

  prepare(): Promise<void> {
    return new Promise((resolve) => this.life.prepare(() => resolve()));
  }

  write(turn: ActorTurn): ActorTurn {
    const changes = noChanges();
    turn.addTo(changes);
    for (const { turn: first } of changes.trims) this.rows = this.rows.filter((row) => row.turn >= first);
    for (const { ref, body } of changes.payloads) this.payloads.set(ref, body);
    this.rows.push(...this.#newTurns.in(changes));
    turn.actor.onCommitted(turn);
    turn.reply();
    return turn;
  }

  get events(): Event[] {
    return this.rows.flatMap(({ events }) => eventsIn(events));
  }

  get types(): string[] {
    return this.events.map(({ type }) => type);
  }

  done(task: number, output = "1"): Input {
    const { state } = this.life.machine;
    const outcome = { kind: "success", output } as const;
    return { type: "AttemptEnded", task, attempt: state.attempt(task), generation: state.generation, outcome };
  }
}
