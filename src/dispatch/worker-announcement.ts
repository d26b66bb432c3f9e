import { namespaceOf, qualify } from "../base/namespace.ts";
import type { Hello } from "./session-message.ts";

/** The capabilities that a remote worker has announced in its last hello. */
export class WorkerAnnouncement {
  /** The qualified ids of its jobs. */
  readonly jobs: readonly string[];
  readonly slots: number;
  readonly tags: ReadonlySet<string>;
  readonly #known: ReadonlySet<string>;
  /** `@signature` of which it takes every job, in its namespace. */
  readonly #signatures: readonly string[];
  readonly #namespace: string;

  constructor(namespace: string, { jobs, slots, tags = [] }: Pick<Hello, "jobs" | "slots" | "tags">) {
    this.slots = slots;
    this.#namespace = namespace;
    this.#signatures = jobs.filter((job) => job.startsWith(anyName)).map((job) => job.slice(1));
    this.tags = new Set(tags);
    this.jobs = jobs.map((job) => qualify(namespace, job));
    const plain = Map.groupBy(jobs, nameOf);
    const names = [...plain].filter(([, ids]) => ids.length === 1).map(([name]) => qualify(namespace, name));
    this.#known = new Set([...this.jobs, ...names]);
  }

  /** A task that was scheduled before its job was known has only the name, which must be that of one job here. */
  hasJob(idOrName: string): boolean {
    return this.#known.has(idOrName) || this.#signatures.some((signature) => this.#isAnyOf(signature, idOrName));
  }

  #isAnyOf(signature: string, id: string): boolean {
    return id.endsWith(signature) && namespaceOf(id) === this.#namespace;
  }
}

/** Announced as `*@signature`: the worker does not know the names of its jobs. */
const anyName = "*@";

function nameOf(id: string): string {
  const mark = id.lastIndexOf("@");
  return mark > 0 ? id.slice(0, mark) : id;
}
