import { EngineError } from "../base/error.ts";
import type { NodeId } from "../kernel/node-spec.ts";
import { didYouMean } from "../base/closest-name.ts";
import type { KnownJob } from "./announced-job.ts";
import { AnnouncedJobs } from "./announced-jobs.ts";
import type { Job } from "./job.ts";
import { describeJob, type JobDescription, type JobMetadata } from "./job-metadata.ts";
import { paramsFromText, validateParamsNow } from "./job-params.ts";
import { reconcileJobs, type Reconciliation } from "./job-reconcile.ts";
import { preview } from "../base/preview.ts";

/** A task's reference to its job. Nodes and the kernel's `TaskDefinition` have these fields. */
export interface JobReference {
  /** A name, or a full id `name@signature`. */
  readonly jobName?: string | null | undefined;
  /** Used if there is no name: the number a job was registered with, or else the digits of its name. */
  readonly jobId?: NodeId | null | undefined;
  /** The node's text. Used only if the name has several signatures. */
  readonly params?: string | null | undefined;
}

/** A job whose function is in this process. */
export interface RegisteredJob extends KnownJob {
  readonly job: Job;
  readonly description: JobDescription;
}

/** The jobs of one engine, by name and signature, and those that workers have announced. */
export class JobRegistry {
  readonly announced = new AnnouncedJobs();
  readonly #byId = new Map<string, RegisteredJob>();
  readonly #byName = new Map<string, RegisteredJob[]>();
  /** Maps PowerJob's numbers, as text, to names. */
  readonly #nameByJobId = new Map<string, string>();
  #missingNames: ReadonlySet<string> = new Set();

  /** Returns the job's id. Throws JOB_DUPLICATE. */
  register(job: Job): string {
    // From JavaScript, and from modules that export something else by mistake.
    if (!isJob(job)) {
      throw new EngineError(
        "JOB_INVALID",
        `a job is what defineJob returns, or a name and a function, got ${preview(job)}`,
      );
    }
    const description = describeJob(job);
    const { id, name } = description;
    if (this.#byId.has(id)) {
      throw new EngineError(
        "JOB_DUPLICATE",
        `job ${preview(name)} is already registered with these parameters, as ${id}`,
      );
    }
    this.#claimJobId(job);
    const registered: RegisteredJob = { id, job, description };
    this.#byId.set(id, registered);
    this.#byName.set(name, [...(this.#byName.get(name) ?? []), registered]);
    return id;
  }

  get(id: string): RegisteredJob | undefined {
    return this.#byId.get(id);
  }

  /** Finds a job by id, or by its name if that has one signature: a task that waited for its job has only the name. */
  find(idOrName: string): RegisteredJob | undefined {
    const [only, ...others] = this.#byName.get(idOrName) ?? [];
    return this.#byId.get(idOrName) ?? (others.length === 0 ? only : undefined);
  }

  get ids(): string[] {
    return [...this.#byId.keys()];
  }

  /** The names of all jobs that tasks can run. */
  get names(): string[] {
    return [...new Set([...this.#byName.keys(), ...this.announced.names])].toSorted();
  }

  /** An unambiguous reference to the job: its name, or its id if the name has several signatures. */
  referenceTo({ id, job: { name } }: KnownJob): string {
    const own = this.#byName.get(name);
    const isPlain = own === undefined ? this.announced.isLatest(id) : own.length === 1 && own[0]?.id === id;
    return isPlain ? name : id;
  }

  /**
   * Finds the job of a task: one with a function in this process, or else one that a worker has announced. Throws
   * JOB_MISSING, or JOB_AMBIGUOUS if the name has several signatures and the params do not select one.
   */
  resolve(reference: JobReference): KnownJob {
    const name = this.#nameIn(reference);
    const exact = this.#byId.get(name);
    if (exact !== undefined) return exact;

    const [only, ...others] = this.#byName.get(name) ?? [];
    if (only === undefined) {
      const announced = this.announced.find(name, paramsFromText(reference.params));
      if (announced !== undefined) return announced;
      throw this.#missing(name);
    }
    return others.length === 0 ? only : choose(name, [only, ...others], paramsFromText(reference.params));
  }

  /** Compares the stored metadata with the registered jobs; the caller saves, removes and logs accordingly. */
  reconcile(stored: readonly JobMetadata[], nowMs: number): Reconciliation {
    const present = Array.from(this.#byId.values(), ({ description }) => description);
    const reconciliation = reconcileJobs({ present, stored, nowMs });
    const missing = reconciliation.changes.filter(({ kind }) => kind === "missing");
    this.#missingNames = new Set(missing.flatMap(({ name, id }) => [name, id]));
    return reconciliation;
  }

  /** Signatures of one name may share a number; two names may not. */
  #claimJobId(job: Job): void {
    if (job.jobId === undefined) return;
    const jobId = String(job.jobId);
    const owner = this.#nameByJobId.get(jobId);
    if (owner !== undefined && owner !== job.name) {
      throw new EngineError(
        "JOB_DUPLICATE",
        `job ${preview(job.name)}: jobId ${jobId} belongs to job ${preview(owner)}`,
      );
    }
    this.#nameByJobId.set(jobId, job.name);
  }

  #nameIn({ jobName, jobId }: JobReference): string {
    if (jobName !== undefined && jobName !== null) return jobName;
    if (jobId === undefined || jobId === null) throw new EngineError("JOB_MISSING", "the task names no job");
    return this.#nameByJobId.get(String(jobId)) ?? String(jobId);
  }

  #missing(name: string): EngineError {
    if (this.#missingNames.has(name)) {
      return new EngineError(
        "JOB_MISSING",
        `job ${preview(name)} was registered earlier, but its function is not here now`,
      );
    }
    const hint = didYouMean(name, this.names);
    return new EngineError("JOB_MISSING", `job ${preview(name)} is not registered${hint} (${knownJobs(this.names)})`);
  }
}

const namesShownMax = 20;

function knownJobs(names: readonly string[]): string {
  if (names.length === 0) return "no job is";
  const more = names.length > namesShownMax ? ` and ${names.length - namesShownMax} more` : "";
  return `registered: ${names.slice(0, namesShownMax).join(", ")}${more}`;
}

function choose(name: string, candidates: readonly RegisteredJob[], params: unknown): RegisteredJob {
  const fitting = candidates.filter(({ job }) => validateParamsNow(job, params)?.ok === true);
  const [chosen] = fitting;
  if (chosen !== undefined && fitting.length === 1) return chosen;
  const ids = (chosen === undefined ? candidates : fitting).map(({ id }) => id).join(", ");
  const fit = chosen === undefined ? "the params fit none of them" : "the params fit more than one";
  throw new EngineError("JOB_AMBIGUOUS", `job ${preview(name)} has several signatures and ${fit}: use one of ${ids}`);
}

function isJob(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return "name" in value && typeof value.name === "string" && "fn" in value && typeof value.fn === "function";
}
