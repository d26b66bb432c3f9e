import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { EngineError } from "../base/error.ts";
import type { Job, JobSource } from "../authoring/job.ts";

/** Imports the function of a job: the result of `defineJob`, or a plain function. JOB_INVALID. */
export async function loadJob(source: JobSource): Promise<Pick<Job, "fn">> {
  const exported = (await load(source.module))[source.export];
  if (typeof exported === "function") return { fn: exported as Job["fn"] };
  if (isJob(exported)) return exported;
  const message = `module ${source.module} exports no job and no function called "${source.export}"`;
  throw new EngineError("JOB_INVALID", message);
}

async function load(module: string): Promise<Record<string, unknown>> {
  try {
    return (await import(isAbsolute(module) ? pathToFileURL(module).href : module)) as Record<string, unknown>;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new EngineError("JOB_INVALID", `module ${module} cannot be loaded: ${problem}`, { cause: error });
  }
}

function isJob(value: unknown): value is Job {
  return typeof value === "object" && value !== null && "fn" in value && typeof value.fn === "function";
}
