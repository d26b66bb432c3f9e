import { type AnnouncedJob, type KnownJob, knownJobOf } from "./announced-job.ts";
import { validateParamsNow } from "./job-params.ts";

interface Entry {
  readonly announced: AnnouncedJob;
  readonly known: KnownJob;
}

/** The jobs of one namespace that workers have announced, by id and name. */
export class AnnouncedJobs {
  readonly #byId = new Map<string, Entry>();
  /** Of each name, the one that was announced last comes first. */
  readonly #byName = new Map<string, Entry[]>();

  get all(): AnnouncedJob[] {
    return Array.from(this.#byId.values(), ({ announced }) => announced);
  }

  get names(): string[] {
    return [...this.#byName.keys()];
  }

  get(id: string): AnnouncedJob | undefined {
    return this.#byId.get(id)?.announced;
  }

  /** Adds a job, or replaces an earlier announcement of it; an older one than that changes nothing. */
  add(announced: AnnouncedJob): void {
    const { id, name } = announced;
    const before = this.#byId.get(id);
    if (before !== undefined && before.announced.announcedAt > announced.announcedAt) return;
    const entry = { announced, known: knownJobOf(announced) };
    this.#byId.set(id, entry);
    const others = (this.#byName.get(name) ?? []).filter((other) => other.announced.id !== id);
    const ordered = [entry, ...others].toSorted((a, b) => b.announced.announcedAt - a.announced.announcedAt);
    this.#byName.set(name, ordered);
  }

  /** True if the name alone means this job, whatever the parameters. */
  isLatest(id: string): boolean {
    const entry = this.#byId.get(id);
    return entry !== undefined && this.#byName.get(entry.announced.name)?.[0] === entry;
  }

  /** Finds a job by id, or by name: of several signatures the latest that the parameters fit, or else the latest. */
  find(idOrName: string, params: unknown): KnownJob | undefined {
    const exact = this.#byId.get(idOrName);
    if (exact !== undefined) return exact.known;
    const entries = this.#byName.get(idOrName) ?? [];
    if (entries.length < 2) return entries[0]?.known;
    const fitting = entries.find(({ known }) => validateParamsNow(known.job, params)?.ok === true);
    return (fitting ?? entries[0])?.known;
  }
}
