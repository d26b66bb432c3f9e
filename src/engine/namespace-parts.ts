import type { CodeRegistry } from "../authoring/code-registry.ts";
import type { JobRegistry } from "../authoring/job-registry.ts";
import type { Executor } from "./executor.ts";
import type { Registration } from "./registration.ts";
import type { Submission } from "./submission.ts";

/** The parts of a process that belong to one namespace. Names inside them are local. */
export interface NamespaceParts {
  readonly namespace: string;
  readonly registry: JobRegistry;
  readonly code: CodeRegistry;
  readonly submission: Submission;
  readonly registration: Registration;
  readonly executor: Executor;
}
