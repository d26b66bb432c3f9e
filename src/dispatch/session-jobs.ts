import { qualify } from "../base/namespace.ts";

/** The jobs of a remote worker, by qualified id. */
export class SessionJobs {
  readonly ids: readonly string[];
  readonly #known: ReadonlySet<string>;

  constructor(namespace: string, jobs: readonly string[]) {
    this.ids = jobs.map((job) => qualify(namespace, job));
    const plain = Map.groupBy(jobs, nameOf);
    const names = [...plain].filter(([, ids]) => ids.length === 1).map(([name]) => qualify(namespace, name));
    this.#known = new Set([...this.ids, ...names]);
  }

  /** A task that was scheduled before its job was known has only the name, which must be that of one job here. */
  has(idOrName: string): boolean {
    return this.#known.has(idOrName);
  }
}

function nameOf(id: string): string {
  const mark = id.lastIndexOf("@");
  return mark > 0 ? id.slice(0, mark) : id;
}
