import { setTimeout as sleep } from "node:timers/promises";
import { hasCode, TaskBuilder } from "../../src/index.ts";
import type { EndStatus, Engine } from "../../src/index.ts";
import type { SideEffectLog } from "./side-effects.ts";
import type { Outside, Scenario } from "./workload.ts";

/** What a driver has to work with. `wasSaid`: the log has that line for the instance, from this life or an earlier one. */
export interface Drive {
  readonly engine: Engine;
  readonly scenario: Scenario;
  readonly log: SideEffectLog;
  readonly wasSaid: (what: "paused" | "resuming") => boolean;
}

/**
 * Does to an instance what its scenario says, and waits for its end. A driver may be killed anywhere and begins again
 * in the next life: it looks at the instance to see what has been done, because a call whose answer was lost may have
 * been carried out.
 */
export const drivers: Readonly<Record<Outside, (drive: Drive) => Promise<EndStatus>>> = {
  nothing: ending,

  async retry(drive) {
    if (await failedAtFirst(drive)) {
      await drive.engine.retryWorkflowInstance(drive.scenario.id);
      drive.log.write("retried", drive.scenario.id);
    }
    return await ending(drive);
  },

  async mend(drive) {
    if (await failedAtFirst(drive)) {
      await drive.engine.succeedTask(drive.scenario.id, "bad", { sum: 70 });
      drive.log.write("mended", drive.scenario.id);
    }
    return await ending(drive);
  },

  async pause(drive) {
    const { engine, log } = drive;
    const { id } = drive.scenario;
    if (!drive.wasSaid("paused")) {
      await pause(drive);
      log.write("paused", id);
    }
    await sleep(200);
    log.write("resuming", id);
    try {
      await engine.resumeWorkflowInstance(id);
    } catch (error) {
      // It was over before it could be paused, or an earlier life had resumed it already.
      if (!hasCode(error, "INSTANCE_STATE")) throw error;
    }
    return await ending(drive);
  },

  async patch(drive) {
    await sleep(150);
    await patchContext(drive);
    return await ending(drive);
  },

  async add(drive) {
    await sleep(100);
    await addTask(drive);
    await patchContext(drive);
    return await ending(drive);
  },

  async terminate(drive) {
    const { engine, log } = drive;
    const { id } = drive.scenario;
    await sleep(300);
    try {
      await engine.terminateWorkflowInstance(id, "no longer wanted");
    } catch (error) {
      // An earlier life had terminated it, and did not live to write it down.
      if (!hasCode(error, "INSTANCE_STATE")) throw error;
    }
    log.write("terminated", id);
    return await ending(drive);
  },
};

async function ending({ engine, scenario }: Drive): Promise<EndStatus> {
  try {
    await engine.awaitWorkflowInstance(scenario.id);
    return "Success";
  } catch (error) {
    if (hasCode(error, "WORKFLOW_FAILED")) return "Failed";
    if (hasCode(error, "WORKFLOW_TERMINATED")) return "Terminated";
    throw error;
  }
}

async function failedAtFirst(drive: Drive): Promise<boolean> {
  const { generation } = await drive.engine.getWorkflowInstanceStatus(drive.scenario.id);
  return generation === 1 && (await ending(drive)) === "Failed";
}

/** Returns when nothing of the instance runs. */
async function pause({ engine, scenario, log, wasSaid }: Drive): Promise<void> {
  if (wasSaid("resuming")) return;
  for (;;) {
    const { status, pausing } = await engine.getWorkflowInstanceStatus(scenario.id);
    if (status !== "Running" && status !== "Ready") return;
    if (!pausing && (await tryToPause(engine, scenario.id))) log.write("pausing", scenario.id);
    await sleep(10);
  }
}

async function tryToPause(engine: Engine, id: string): Promise<boolean> {
  try {
    await engine.pauseWorkflowInstance(id);
    return true;
  } catch (error) {
    // It ended since it was looked at.
    if (hasCode(error, "INSTANCE_STATE")) return false;
    throw error;
  }
}

async function patchContext({ engine, scenario, log }: Drive): Promise<void> {
  const { context } = await engine.getWorkflowInstanceBreakpoint(scenario.id);
  if (context["external"] !== undefined) return;
  await engine.updateContext(scenario.id, { external: 42 });
  log.write("patched", scenario.id);
}

async function addTask({ engine, scenario, log }: Drive): Promise<void> {
  const { tasks } = await engine.getWorkflowInstanceStatus(scenario.id);
  if (tasks.some(({ name }) => name === "extra")) return;
  const extra = new TaskBuilder("extra").withJobFunction("step", { ms: 5, value: 1 }).build();
  await engine.addSubTask(scenario.id, extra, "wait");
  log.write("added", scenario.id);
}
