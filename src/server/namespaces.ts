import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { Job } from "../authoring/job.ts";
import type { Workflow } from "../authoring/workflow.ts";
import { assert } from "../base/assert.ts";
import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { Catalogue, type CatalogueParts } from "../catalogue/catalogue.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineNamespace } from "../engine/engine-namespace.ts";
import { workflowDocument } from "../stores/document-kinds.ts";
import type { Store } from "../stores/store.ts";
import { listNamespaces, type NamespaceStore, namespaceStore } from "./namespace-store.ts";
import { ChangeFeed } from "./push/change-feed.ts";
import { WorkerNewsFeed } from "./push/worker-news.ts";

/** Poll interval for namespaces in which other members have saved their first workflow. */
const pollMs = 5000;

/** A server in one namespace. */
export interface ServerNamespace {
  readonly namespace: string;
  readonly engine: EngineNamespace;
  readonly store: NamespaceStore;
  readonly catalogue: Catalogue;
  readonly feed: ChangeFeed;
  readonly workers: WorkerNewsFeed;
}

export interface ServerNamespacesParts {
  readonly engine: Engine;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The folder of definition files belongs to the engine's own namespace. */
  readonly folder: Pick<CatalogueParts, "folder" | "onFileEdit">;
  /** Further namespaces in which the jobs and workflows of the server's modules are registered. */
  readonly namespaces: readonly string[];
  readonly jobs: readonly Job[];
  readonly workflows: readonly (Workflow | CodeWorkflow)[];
}

/** A namespace that lasts as long as the requests and connections that read in it. */
interface Visited {
  readonly space: ServerNamespace;
  visits: number;
}

/** The namespaces of a server: each has its own catalogue, and its own feed of changes. */
export class ServerNamespaces {
  readonly #parts: ServerNamespacesParts;
  readonly #byName = new Map<string, ServerNamespace>();
  /** The namespaces that are configured or have saved workflows; any other has only what was started there. */
  readonly #listed = new Set<string>();
  /** Namespaces in which there is only somebody who reads. */
  readonly #visited = new Map<string, Visited>();
  /** Catalogues that are started, or about to be. */
  readonly #started = new Map<string, Promise<void>>();
  #timer: Timer | undefined;
  #isRunning = false;

  constructor(parts: ServerNamespacesParts) {
    this.#parts = parts;
    const { engine, namespaces, jobs, workflows } = parts;
    for (const namespace of [engine.namespace, ...namespaces]) this.#listed.add(namespace);
    for (const namespace of new Set(namespaces)) {
      if (namespace === engine.namespace) continue;
      const space = engine.inNamespace(namespace);
      for (const job of jobs) space.registerJobFunction(job);
      // The engine is not up yet, so registration only takes note of them.
      for (const workflow of workflows) void space.registerWorkflow(workflow);
      this.get(namespace);
    }
    this.get(engine.namespace);
  }

  /**
   * The server in a namespace for a request that changes something there, which creates the namespace. Its catalogue
   * starts with it.
   */
  get(namespace: string): ServerNamespace {
    let found = this.#byName.get(namespace);
    if (found === undefined) {
      this.#byName.set(namespace, (found = this.#make(this.#parts.engine.inNamespace(namespace))));
      if (this.#isRunning) void this.#startCatalogue(found);
    }
    return found;
  }

  /** The namespaces that are configured or have saved workflows, by name. */
  get names(): readonly string[] {
    return [...this.#listed].toSorted();
  }

  /**
   * Begins a read in a namespace and returns the function that ends it. A name that is merely asked for must leave nothing
   * behind, because a page in any browser may ask a local server for thousands.
   */
  visit(namespace: string): () => void {
    if (this.#byName.has(namespace)) return () => undefined;
    let visited = this.#visited.get(namespace);
    if (visited === undefined) {
      visited = { space: this.#make(this.#parts.engine.viewNamespace(namespace)), visits: 0 };
      this.#visited.set(namespace, visited);
    }
    visited.visits++;
    return () => this.#leave(visited);
  }

  /** The server in a namespace that exists or is visited. */
  find(namespace: string): ServerNamespace {
    const found = this.#byName.get(namespace) ?? this.#visited.get(namespace)?.space;
    assert(found !== undefined, `namespace ${namespace} is visited before it is used`);
    return found;
  }

  /** Starts the catalogues of all namespaces that have saved workflows. */
  async start(): Promise<void> {
    await this.#discover();
    this.#isRunning = true;
    await Promise.all([...this.#byName.values()].map((space) => this.#startCatalogue(space)));
    this.#poll();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#timer?.cancel();
    await Promise.allSettled(this.#started.values());
    for (const { catalogue } of this.#byName.values()) await catalogue.stop();
  }

  stopFeeds(): void {
    for (const { feed } of this.#byName.values()) feed.stop();
    for (const { space } of this.#visited.values()) space.feed.stop();
  }

  #leave(visited: Visited): void {
    if (--visited.visits > 0) return;
    const { namespace, feed } = visited.space;
    feed.stop();
    if (this.#visited.get(namespace) === visited) this.#visited.delete(namespace);
  }

  #make(engine: EngineNamespace): ServerNamespace {
    const { store: whole, clock, logger, folder } = this.#parts;
    const { namespace } = engine;
    const store = namespaceStore(whole, namespace);
    const isOwn = engine === this.#parts.engine;
    const catalogue = new Catalogue({ engine, store, clock, logger, ...(isOwn && folder) });
    const workers = new WorkerNewsFeed(engine.cluster);
    return { namespace, engine, store, catalogue, feed: new ChangeFeed({ engine, clock }), workers };
  }

  #startCatalogue({ namespace, catalogue }: ServerNamespace): Promise<void> {
    let starting = this.#started.get(namespace);
    if (starting === undefined) {
      starting = catalogue.start();
      this.#started.set(namespace, starting);
      starting.catch((error: unknown) => {
        this.#started.delete(namespace);
        this.#parts.logger.warn({ namespace, error: messageOf(error) }, "a catalogue could not be read; retrying");
      });
    }
    return starting;
  }

  #poll(): void {
    if (!this.#isRunning) return;
    this.#timer = this.#parts.clock.after(pollMs, () => void this.#refresh());
  }

  async #refresh(): Promise<void> {
    try {
      await this.#discover();
    } catch (error) {
      this.#parts.logger.warn({ error: messageOf(error) }, "the namespaces could not be read; retrying");
    }
    for (const space of this.#byName.values()) if (this.#isRunning) void this.#startCatalogue(space);
    this.#poll();
  }

  async #discover(): Promise<void> {
    for (const namespace of await listNamespaces(this.#parts.store, workflowDocument)) {
      this.#listed.add(namespace);
      this.get(namespace);
    }
  }
}
