import { setTimeout as sleep } from "node:timers/promises";
import { Engine, hasCode } from "../../src/index.ts";
import type { Store } from "../../src/index.ts";
import { drivers } from "./drivers.ts";
import { recoveryJobs } from "./jobs.ts";
import { readSideEffects, SideEffectLog } from "./side-effects.ts";
import type { What } from "./side-effects.ts";
import type { Scenario } from "./workload.ts";

export interface LifeOptions {
  readonly storage: Store;
  readonly logFile: string;
  /** Counted up from 1: the log says which life did what. */
  readonly life: number;
  readonly scenarios: readonly Scenario[];
  readonly submitEveryMs: number;
  /** Few slots make tasks wait in the dispatcher, many let them run side by side. */
  readonly poolSize: number;
  onUp?(): void;
}

/**
 * Submits the scenarios under ids of its own, does to the instances what is to be done to them, writes every side effect
 * to the log before it goes on, and ends when every instance has. Goes on from whatever earlier lives left.
 */
export async function live(options: LifeOptions): Promise<void> {
  const { storage, logFile, life, scenarios, submitEveryMs, poolSize } = options;
  const said = new Set(readSideEffects(logFile).map(({ what, id }) => `${what} ${id}`));
  const log = new SideEffectLog(logFile, life);
  log.write("born", "process");
  const jobs = recoveryJobs(log);
  const engine = new Engine({ storage, jobs, poolSize, poolSizeMax: 20, maxInterruptions: 1_000_000 });
  await engine.start();
  log.write("up", "process");
  options.onUp?.();

  const drives: Promise<void>[] = [];
  for (const scenario of scenarios) {
    const wasSaid = (what: What): boolean => said.has(`${what} ${scenario.id}`);
    if (wasSaid("finished")) continue;
    if (!wasSaid("accepted")) {
      await submit(engine, scenario);
      log.write("accepted", scenario.id);
      await sleep(submitEveryMs);
    }
    drives.push(drive(engine, scenario, log, wasSaid));
  }
  await Promise.all(drives);
  await engine.stop();
  log.close();
}

async function submit(engine: Engine, { id, workflow, params }: Scenario): Promise<void> {
  try {
    await engine.submitWorkflow(workflow, { instanceId: id, params });
  } catch (error) {
    // An earlier life submitted it and did not live to hear the answer.
    if (!hasCode(error, "INSTANCE_EXISTS")) throw error;
  }
}

async function drive(
  engine: Engine,
  scenario: Scenario,
  log: SideEffectLog,
  wasSaid: (what: What) => boolean,
): Promise<void> {
  const status = await drivers[scenario.outside]({ engine, scenario, log, wasSaid });
  if (status !== scenario.status) {
    const view = await engine.getWorkflowInstanceStatus(scenario.id);
    throw new Error(`${scenario.id} ended in ${status}, not in ${scenario.status}: ${JSON.stringify(view)}`);
  }
  log.write("finished", scenario.id);
}
