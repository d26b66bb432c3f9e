import { Engine, hasCode } from "../../src/index.ts";
import type { Logger } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { recoveryJobs } from "./jobs.ts";
import { SideEffectLog } from "./side-effects.ts";
import type { Scenario } from "./workload.ts";

/**
 * Asks a new engine for what every instance gave: it has nothing but the histories to know it from. Gives back what is
 * wrong, in words.
 */
export async function checkOutputs(
  files: { databaseFile: string; logFile: string },
  scenarios: readonly Scenario[],
): Promise<string[]> {
  const log = new SideEffectLog(files.logFile, 0);
  const engine = new Engine({ storage: sqlite(files.databaseFile), jobs: recoveryJobs(log), logger: silent });
  await engine.start();
  try {
    const wrong = await Promise.all(scenarios.map(async (scenario) => await checkOutput(engine, scenario)));
    return wrong.flat();
  } finally {
    await engine.stop();
    log.close();
  }
}

async function checkOutput(engine: Engine, { id, status, outputs }: Scenario): Promise<string[]> {
  const { tasks, status: found } = await engine.getWorkflowInstanceStatus(id);
  if (found !== status) return [`${id} is ${found}, not ${status}`];
  const successes = tasks.filter((task) => task.status === "Success").map(({ name }) => name);
  const expected = Object.keys(outputs);
  if (successes.sort().join() !== expected.sort().join()) {
    return [`${id}: ${successes.join(", ")} succeeded, it should have been ${expected.join(", ")}`];
  }
  const given = status === "Success" ? await engine.awaitWorkflowInstance(id) : await refusedResult(engine, id);
  if (given === undefined || canonical(given) === canonical(outputs)) return [];
  return [`${id} gave ${canonical(given)}, not ${canonical(outputs)}`];
}

async function refusedResult(engine: Engine, id: string): Promise<unknown> {
  try {
    return await engine.awaitWorkflowInstance(id);
  } catch (error) {
    if (hasCode(error, "WORKFLOW_FAILED") || hasCode(error, "WORKFLOW_TERMINATED")) return undefined;
    throw error;
  }
}

/** The same text for the same value, whatever the order of its keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

const ignore = (): void => undefined;
const silent: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
