import { existsSync } from "node:fs";
import { basename, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { type CodeWorkflow, isCodeWorkflow } from "../../authoring/code-workflow.ts";
import type { Job } from "../../authoring/job.ts";
import { Workflow } from "../../authoring/workflow.ts";
import { EngineError, messageOf } from "../../base/error.ts";
import { type DeclaredSchedule, isDeclaredSchedule } from "../../schedules/declared-schedule.ts";

/** The jobs, workflows and schedules of the user's modules. */
export interface AppParts {
  readonly jobs: readonly Job[];
  readonly workflows: readonly (Workflow | CodeWorkflow)[];
  readonly schedules?: readonly DeclaredSchedule[];
}

/**
 * Imports modules and collects every job, workflow and schedule that they export, singly or in arrays. Duplicate exports
 * count once. `OPTION_INVALID` names the file and the problem.
 */
export async function loadApp(files: readonly string[]): Promise<AppParts> {
  const jobs = new Map<unknown, Job>();
  const workflows = new Set<Workflow | CodeWorkflow>();
  const schedules = new Set<DeclaredSchedule>();
  for (const file of files) {
    const before = jobs.size + workflows.size + schedules.size;
    // Single exports go first: their name is the best one for a job.
    const exported = Object.entries(await importModule(file)).toSorted(([, a], [, b]) => rankOf(a) - rankOf(b));
    for (const [name, value] of exported) {
      for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) {
        if (each instanceof Workflow || isCodeWorkflow(each)) workflows.add(each);
        else if (isDeclaredSchedule(each)) schedules.add(each);
        else if (isJob(each)) jobs.set(each, jobs.get(each) ?? { ...each, codePath: codePathOf(file, name) });
        else if (isForeignWorkflow(each)) throw twoCopies(file);
      }
    }
    if (jobs.size + workflows.size + schedules.size === before) {
      throw invalid(
        file,
        "exports no job, workflow or schedule: export what defineJob, defineWorkflow, WorkflowBuilder.build() or defineSchedule gave",
      );
    }
  }
  return { jobs: [...jobs.values()], workflows: [...workflows], schedules: [...schedules] };
}

function rankOf(value: unknown): number {
  return Array.isArray(value) ? 1 : 0;
}

/** The code path of an export, relative to the project. */
function codePathOf(file: string, exportName: string): string {
  const short = relative(process.cwd(), file);
  return `${short.startsWith("..") ? basename(file) : short}#${exportName}`;
}

async function importModule(file: string): Promise<object> {
  // Node exits if only a promise is pending that nothing will settle.
  const onExit = (): void => {
    process.stderr.write(`heddle: the module ${file} cannot be loaded: a top-level await in it never settles\n`);
    process.exitCode = 1;
  };
  process.once("exit", onExit);
  try {
    return (await import(pathToFileURL(file).href)) as object;
  } catch (error) {
    const isMissing = !existsSync(file);
    throw invalid(file, isMissing ? "is not there" : `cannot be loaded: ${messageOf(error)}`, error);
  } finally {
    process.removeListener("exit", onExit);
  }
}

function isJob(value: unknown): value is Job {
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    "isolation" in value &&
    "fn" in value &&
    typeof value.fn === "function"
  );
}

/** A DAG that another copy of the library built: its class has the same name, but is not ours. */
function isForeignWorkflow(value: unknown): boolean {
  return typeof value === "object" && value !== null && value.constructor?.name === "Workflow" && "toJSON" in value;
}

function twoCopies(file: string): EngineError {
  return invalid(
    file,
    'was built with another copy of "heddle" than the one that runs: start the one of its own project, with npx heddle',
  );
}

function invalid(file: string, problem: string, cause?: unknown): EngineError {
  return new EngineError("OPTION_INVALID", `the module ${file} ${problem}`, { cause });
}
