import type { TestContext } from "node:test";
import { defineJob, type Engine, type EngineOptions, type Event, type Store } from "../../src/index.ts";
import { memoryStore, SeededRandom, TestClock } from "../../src/testing.ts";
import { newEngine, stopEngine } from "./rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

/** What a test may have otherwise: the engine's options, but for those that the rig has in its hands. */
export type CodeRigOptions = Partial<Omit<EngineOptions, "clock" | "logger" | "random">>;

/**
 * One engine after the other on the same store and the same clock, as processes that are stopped and started again. Time
 * passes only when the test says so.
 */
export class CodeRig {
  readonly clock = new TestClock();
  readonly storage: Store;
  /** What jobs were called with, in order. */
  readonly calls: string[] = [];
  readonly log = new LogBook();
  /** Notes its input, and gives it back. */
  readonly note = defineJob("note", (text: string) => {
    this.calls.push(text);
    return text;
  });
  /** Notes its input, and fails. */
  readonly refuse = defineJob("refuse", (text: string): string => {
    this.calls.push(text);
    throw new Error(`no ${text} here`);
  });
  #options: CodeRigOptions;
  #engine: Engine | undefined;

  private constructor(options: CodeRigOptions) {
    this.#options = options;
    this.storage = options.storage ?? memoryStore();
  }

  static async start(t: TestContext, options: CodeRigOptions = {}): Promise<CodeRig> {
    const rig = new CodeRig(options);
    t.after(() => rig.#engine && rig.clock.until(stopEngine(rig.#engine)));
    await rig.#begin();
    return rig;
  }

  get engine(): Engine {
    if (this.#engine === undefined) throw new Error("no engine was started");
    return this.#engine;
  }

  /** The engine is stopped, and the next one started, which may know other workflows and jobs. */
  async restart(changes: CodeRigOptions = {}): Promise<void> {
    await this.away(0, changes);
  }

  /** For so long, nobody runs. */
  async away(ms: number, changes: CodeRigOptions = {}): Promise<void> {
    this.#options = { ...this.#options, ...changes };
    await this.clock.until(this.engine.stop());
    await this.clock.advance(ms);
    await this.#begin();
  }

  /** Everything happens that needs no time to pass. */
  settle(): Promise<void> {
    return this.clock.settle();
  }

  /** What the instance's history holds, oldest first. */
  async events(instanceId: string): Promise<Event[]> {
    return (await this.engine.getWorkflowInstanceHistory(instanceId)).flatMap(({ events }) => events);
  }

  async eventTypes(instanceId: string): Promise<string[]> {
    return (await this.events(instanceId)).map(({ type }) => type);
  }

  async #begin(): Promise<void> {
    const { storage, clock, log: logger } = this;
    const { jobs = [], ...options } = this.#options;
    const all = [this.note, this.refuse, ...jobs];
    this.#engine = newEngine({ random: new SeededRandom(1), ...options, jobs: all, storage, clock, logger });
    await this.#engine.start();
  }
}
