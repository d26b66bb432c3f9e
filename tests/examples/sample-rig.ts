import assert from "node:assert/strict";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { TestContext } from "node:test";
import type { CodeWorkflow } from "../../src/authoring/code-workflow.ts";
import type { Job } from "../../src/authoring/job.ts";
import { hasCode, messageOf } from "../../src/base/error.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { type AppParts, loadApp } from "../../src/server/config/app-modules.ts";
import { type Moment, outcomeOf, type Outcome, type Story } from "../runtime/code-crash-rig.ts";
import type { Ledger } from "../runtime/ledger.ts";

/** How a sample is used, and what is to come of it. */
export interface Scenario {
  /** The file in `examples/samples/`, without its ending. */
  readonly sample: string;
  /** Runs from its beginning again after each crash. */
  readonly play: (client: Client) => Promise<unknown>;
  readonly result: unknown;
  /** What its attempts gave back, or the messages of their failures, in their order. */
  readonly effects: readonly unknown[];
}

const moments: readonly Moment[] = ["before", "after"];

/** After a crash a reaction takes two commits, and so does a repeated attempt: fewer commits would let no life get on. */
const crashEvery = 9;

/**
 * Plays the scenario without a crash, then once for each commit and moment with a crash there, and with several crashes where
 * it takes enough commits. Every run must have the same result and the same attempts; the rig itself fails if an attempt is
 * repeated that was not in flight. `parts` replace those of the sample's file.
 */
export async function survivesCrashes(t: TestContext, scenario: Scenario, parts?: AppParts): Promise<void> {
  const file = join(import.meta.dirname, `../../examples/samples/${scenario.sample}.ts`);
  const app = parts ?? (await loadApp([file]));
  const effects: unknown[] = [];
  const jobs = app.jobs.map((job) => ({ ...job, fn: recording(job, effects) }));
  const run = async (endsAt?: (commit: number) => Moment | undefined): Promise<Outcome> => {
    const memory: Memory = new Map();
    const tell: Story["tell"] = (engine, ledger) => scenario.play(new Client({ engine, ledger, memory }));
    return await outcomeOf(t, { workflows: app.workflows, jobs, tell }, endsAt);
  };

  const calm = await run();
  assert.deepEqual(calm.result, scenario.result);
  assert.deepEqual(effects, scenario.effects);
  let repeated = 0;
  const crash = async (where: string, endsAt: (commit: number) => Moment | undefined): Promise<Outcome> => {
    const outcome = await run(endsAt);
    assert.deepEqual(outcome.result, calm.result, where);
    assert.deepEqual(outcome.executed, calm.executed, where);
    repeated = Math.max(repeated, outcome.repeated);
    return outcome;
  };
  for (const moment of moments) {
    for (let at = 1; at <= calm.commits; at++) {
      const where = `after a crash ${moment} commit ${at}`;
      const { lives } = await crash(where, (commit) => (commit === at ? moment : undefined));
      assert.equal(lives, 2, where);
    }
    const where = `after crashes ${moment} every ${crashEvery} commits`;
    await crash(where, (commit) => (commit % crashEvery === 0 ? moment : undefined));
  }
  t.diagnostic(`${calm.commits} commits, ${calm.executed.length} attempts, at most ${repeated} repeated`);
}

function recording(job: Job, effects: unknown[]): Job["fn"] {
  return async (params, ctx) => {
    try {
      const output = await job.fn(params, ctx);
      effects.push(output);
      return output;
    } catch (error) {
      effects.push(messageOf(error));
      throw error;
    }
  };
}

/** Calls that were acknowledged, with their answers: the client's own process does not crash. */
type Memory = Map<string, PromiseSettledResult<unknown>>;

interface ClientParts {
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly memory: Memory;
}

/** A client that repeats a call after a crash only if the call had no effect yet, or is idempotent. */
export class Client {
  readonly engine: Engine;
  readonly #ledger: Ledger;
  readonly #memory: Memory;
  readonly #calls = new Map<string, number>();

  constructor({ engine, ledger, memory }: ClientParts) {
    this.engine = engine;
    this.#ledger = ledger;
    this.#memory = memory;
  }

  async start<Params, Output, Input>(
    workflow: CodeWorkflow<Params, Output, Input>,
    input: Input,
    instanceId: string,
  ): Promise<void> {
    await this.#once(`start ${instanceId}`, () => this.#start(workflow as unknown as CodeWorkflow, input, instanceId));
  }

  async #start(workflow: CodeWorkflow, input: unknown, instanceId: string): Promise<void> {
    try {
      await this.engine.startWorkflow(workflow, input, { instanceId });
    } catch (error) {
      if (!hasCode(error, "INSTANCE_EXISTS")) throw error;
    }
  }

  /** An event with other data than those before it: so it can be told whether it has arrived. */
  async raise(instanceId: string, name: string, data?: unknown): Promise<void> {
    await this.#once(`raise ${instanceId} ${name} ${JSON.stringify(data)}`, async () => {
      if (!this.#isRaised(instanceId, name, data)) await this.engine.raiseEvent(instanceId, name, data);
    });
  }

  #isRaised(instanceId: string, name: string, data: unknown): boolean {
    return this.#ledger.events(instanceId).some((event) => {
      if (event.type !== "EventRaised" || event.name !== name) return false;
      const raised: unknown = typeof event.data === "string" ? JSON.parse(event.data) : undefined;
      return isDeepStrictEqual(raised, data);
    });
  }

  /** Under the same update id each time it is called with that name and input. */
  async update(instanceId: string, name: string, input?: unknown): Promise<unknown> {
    const updateId = `${name} ${JSON.stringify(input)}`;
    return await this.#once(`update ${instanceId} ${updateId}`, () =>
      this.engine.updateWorkflowInstance(instanceId, name, input, { updateId }),
    );
  }

  /** A cancel that was written before the crash may have ended the instance by now. */
  async cancel(instanceId: string, reason: string): Promise<void> {
    await this.#once(`cancel ${instanceId}`, async () => {
      try {
        await this.engine.cancelWorkflowInstance(instanceId, reason);
      } catch (error) {
        if (!hasCode(error, "INSTANCE_STATE")) throw error;
      }
    });
  }

  /** The output, or the message of the failure. */
  async result(instanceId: string): Promise<unknown> {
    return await this.engine.awaitWorkflowInstance<unknown>(instanceId).catch(messageOf);
  }

  async query(instanceId: string, name: string, input?: unknown): Promise<unknown> {
    return await this.#once(`query ${instanceId} ${name}`, () =>
      this.engine.queryWorkflowInstance(instanceId, name, input),
    );
  }

  /** Waits until the instance shows this custom status, or has ended. */
  async untilStatus(instanceId: string, status: unknown): Promise<void> {
    await this.#until(`status of ${instanceId}`, async () => {
      const { endedAt, customStatus } = await this.engine.getWorkflowInstanceStatus(instanceId);
      return endedAt !== undefined || isDeepStrictEqual(customStatus, status);
    });
  }

  /** Waits until an instance that somebody else starts is there. */
  async untilStarted(instanceId: string): Promise<void> {
    await this.#until(`start of ${instanceId}`, async () => {
      const instances = await this.engine.listWorkflowInstances({ idPrefix: instanceId });
      return instances.length > 0;
    });
  }

  async #until(what: string, holds: () => Promise<boolean>): Promise<void> {
    await this.#once(what, async () => {
      const done = Promise.withResolvers<void>();
      const stop = this.engine.subscribe(() => void holds().then((yes) => yes && done.resolve(), done.reject));
      if (!(await holds())) await done.promise;
      stop();
    });
  }

  /** Calls are made in the same order each time, so a call that was acknowledged before the crash is known by its number. */
  async #once<T>(what: string, call: () => Promise<T>): Promise<T> {
    const number = (this.#calls.get(what) ?? 0) + 1;
    this.#calls.set(what, number);
    const key = `${what} #${number}`;
    const answer = this.#memory.get(key) ?? (await settled(call));
    this.#memory.set(key, answer);
    if (answer.status === "rejected") throw answer.reason;
    return answer.value as T;
  }
}

async function settled(call: () => Promise<unknown>): Promise<PromiseSettledResult<unknown>> {
  const [outcome] = await Promise.allSettled([call()]);
  return outcome;
}
