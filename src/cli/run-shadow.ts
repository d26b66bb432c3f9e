import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "../base/logger.ts";
import { defineJob } from "../authoring/job.ts";
import { Workflow } from "../authoring/workflow.ts";
import { messageOf } from "../base/error.ts";
import { type ImportedWorkflow, importPowerJob } from "../powerjob/imported-workflow.ts";
import {
  compareRuns,
  contextOf,
  giveRecorded,
  type PowerJobRun,
  type RecordedOutcome,
  recordedJob,
  shadowSpec,
} from "../powerjob/shadow.ts";
import type { Doors, PastEngine } from "./doors.ts";
import { Output } from "./output.ts";
import { PowerJobDatabase } from "./powerjob-database.ts";

export interface ShadowOptions {
  readonly app?: string;
  readonly follow?: boolean;
  readonly json?: boolean;
}

/** The outcome of one run. */
interface Comparison {
  readonly instance: string;
  readonly workflow: string;
  readonly differences: readonly string[];
}

const pollMs = 5000;

/** `heddle shadow`: repeats finished runs of PowerJob in memory and prints how each compares. */
export async function runShadow(doors: Doors, url: string, options: ShadowOptions): Promise<void> {
  const database = new PowerJobDatabase(url);
  const output = new Output({ json: options.json === true });
  const past = await doors.pastEngine({
    now: Date.now(),
    jobs: [defineJob(recordedJob, (outcome: RecordedOutcome) => giveRecorded(outcome))],
    logger: silent,
  });
  const count = { agree: 0, differ: 0 };
  try {
    for (let after = 0; ;) {
      const workflows = await importedById(database, options.app);
      const runs = await database.finishedRuns(options.app, after);
      for (const run of runs) {
        const comparison = await compare(past, run, workflows.get(run.workflowId));
        if (comparison.differences.length === 0) count.agree++;
        else count.differ++;
        output.line(comparison, () => textOf(comparison));
      }
      after = runs.at(-1)?.id ?? after;
      if (runs.length > 0) continue;
      if (options.follow !== true) break;
      await delay(pollMs);
    }
  } finally {
    await past.stop();
  }
  output.say(`${count.agree} runs agree, ${count.differ} differ.`);
  if (count.differ > 0) process.exitCode = 1;
}

/** The definitions as they are now; a run of an older one is compared with it. */
async function importedById(
  database: PowerJobDatabase,
  app: string | undefined,
): Promise<ReadonlyMap<number, ImportedWorkflow>> {
  const { workflows } = importPowerJob(await database.read(app));
  return new Map(workflows.flatMap((workflow) => (workflow.id === undefined ? [] : [[workflow.id, workflow]])));
}

async function compare(
  { engine }: PastEngine,
  run: PowerJobRun,
  workflow: ImportedWorkflow | undefined,
): Promise<Comparison> {
  const about = { instance: run.wfInstanceId, workflow: workflow?.name ?? `workflow-${run.workflowId}` };
  const spec = workflow && shadowSpec(workflow.dagSpec, run);
  if (spec === undefined) {
    return { ...about, differences: ["the workflow is deleted, or the record of the run cannot be read"] };
  }
  try {
    const controller = await engine.submitWorkflow(Workflow.fromJSON(spec), { params: contextOf(run) });
    await controller.result().catch(() => undefined);
    const { status, tasks } = await controller.getStatus();
    return { ...about, differences: compareRuns(run, status, tasks) };
  } catch (error) {
    return { ...about, differences: [`it cannot run here: ${messageOf(error)}`] };
  }
}

function textOf({ instance, workflow, differences }: Comparison): string {
  if (differences.length === 0) return `agrees   ${workflow} ${instance}`;
  return [`differs  ${workflow} ${instance}`, ...differences.map((line) => `         - ${line}`)].join("\n");
}

/** Failures of tasks are part of the comparison. */
const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
