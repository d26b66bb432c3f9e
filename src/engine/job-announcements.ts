import type { AnnouncedJob } from "../authoring/announced-job.ts";
import type { JobRegistry } from "../authoring/job-registry.ts";
import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { localName, namespaceOf, qualify } from "../base/namespace.ts";
import type { JobDetails } from "../dispatch/session-message.ts";
import { announcedDocument } from "../stores/document-kinds.ts";
import type { DocumentRow, Store } from "../stores/store.ts";

export interface JobAnnouncementsParts {
  readonly store: Pick<Store, "findDocument" | "listDocuments" | "saveDocument">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registryOf: (namespace: string) => JobRegistry;
  /** Called when a namespace has jobs that it did not have before. */
  readonly onAdded: (namespace: string) => void;
}

const pageSize = 500;

/**
 * The jobs that workers have announced: each is a document, so that a job stays known while no worker has it, and every
 * member finds it. Workers that announce what is known cost nothing.
 */
export class JobAnnouncements {
  readonly #parts: JobAnnouncementsParts;
  #learning: Promise<void> | undefined;

  constructor(parts: JobAnnouncementsParts) {
    this.#parts = parts;
  }

  /** Reads the jobs that were announced to any member. Calls at the same time share one read. */
  learn(): Promise<void> {
    return (this.#learning ??= this.#learn().finally(() => (this.#learning = undefined)));
  }

  async #learn(): Promise<void> {
    const { store, registryOf } = this.#parts;
    for (let after: string | undefined; ;) {
      const page = await store.listDocuments(announcedDocument, {
        ...(after !== undefined && { after }),
        limit: pageSize,
      });
      for (const row of page) registryOf(namespaceOf(row.name)).announced.add(announcedJobOf(row));
      if (page.length < pageSize) return;
      after = page.at(-1)?.name;
    }
  }

  /** Takes in the jobs of a worker that has connected, and records those that are new or are not the latest of their name. */
  async announce(namespace: string, jobs: readonly JobDetails[]): Promise<void> {
    const { clock, logger, registryOf, onAdded } = this.#parts;
    const { announced } = registryOf(namespace);
    const news = jobs.filter((job) => !announced.isLatest(job.id) || !isSame(job, announced.get(job.id)));
    for (const { id, ...details } of news) {
      announced.add({ ...describe({ id, ...details }), announcedAt: clock.now() });
    }
    if (news.length > 0) onAdded(namespace);
    for (const { id } of news) {
      const job = announced.get(id);
      try {
        if (job !== undefined) await this.#save(qualify(namespace, id), job);
      } catch (error) {
        // The worker announces the job again when it connects again.
        const fields = { job: id, namespace, error: messageOf(error) };
        logger.warn(fields, "a job that a worker announced could not be recorded; it is known to this process only");
      }
    }
  }

  /** Another member may record the same job at the same time; whoever is later is right. */
  async #save(name: string, job: AnnouncedJob): Promise<void> {
    const { store } = this.#parts;
    for (;;) {
      const revision = ((await store.findDocument(announcedDocument, name))?.revision ?? 0) + 1;
      const row = { kind: announcedDocument, name, revision, at: job.announcedAt, body: JSON.stringify(job) };
      if (await store.saveDocument(row)) return;
    }
  }
}

function describe({ id, parameters, description, sourceHash = "" }: JobDetails): Omit<AnnouncedJob, "announcedAt"> {
  const end = id.lastIndexOf("@");
  return {
    id,
    name: id.slice(0, end),
    signature: id.slice(end + 1),
    parameters,
    codePath: null,
    sourceHash,
    ...(description !== undefined && { description }),
  };
}

function isSame(details: JobDetails, announced: AnnouncedJob | undefined): boolean {
  const { parameters, description, sourceHash = "" } = details;
  return (
    announced?.parameters === parameters && announced.description === description && announced.sourceHash === sourceHash
  );
}

function announcedJobOf({ name, body }: DocumentRow): AnnouncedJob {
  return { ...(JSON.parse(body) as AnnouncedJob), id: localName(name) };
}
