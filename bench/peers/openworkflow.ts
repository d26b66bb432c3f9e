import { setTimeout } from "node:timers/promises";
import { OpenWorkflow } from "openworkflow";
import { BackendPostgres } from "openworkflow/postgres";
import type { Peer } from "./peer.ts";

const concurrency = 20;

export async function startOpenworkflow(url: string): Promise<Peer> {
  const backend = await BackendPostgres.connect(url);
  const client = new OpenWorkflow({ backend });
  const oneStep = client.defineWorkflow({ name: "one-step" }, async ({ step }) => {
    await step.run({ name: "only" }, () => undefined);
  });
  const manySteps = client.defineWorkflow<{ steps: number }, void>({ name: "many-steps" }, async ({ input, step }) => {
    for (let number = 0; number < input.steps; number++) await step.run({ name: `step ${number}` }, () => undefined);
  });
  await client.newWorker({ concurrency }).start();
  const completions = new Completions(backend);
  return {
    setup: `a worker with ${concurrency} slots; ends are noticed by one count for all, not by a handle's look once a second`,
    run: async () => {
      await oneStep.run();
      await completions.next();
    },
    runSteps: async (steps) => {
      await manySteps.run({ steps });
      await completions.next();
    },
  };
}

/** As every workflow is like the next, an end that is counted is told to whoever has waited longest. */
class Completions {
  readonly #backend: BackendPostgres;
  readonly #waiting: (() => void)[] = [];
  #told = 0;

  constructor(backend: BackendPostgres) {
    this.#backend = backend;
  }

  async next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (this.#waiting.length === 1) void this.#watch();
    await promise;
  }

  /** The count costs the more the more workflows there were: under load it is made less often. */
  async #watch(): Promise<void> {
    while (this.#waiting.length > 0) {
      const { completed } = await this.#backend.countWorkflowRuns();
      const ended = this.#waiting.splice(0, completed - this.#told);
      this.#told += ended.length;
      for (const tell of ended) tell();
      await setTimeout(this.#waiting.length > 1 ? 25 : 2);
    }
  }
}
