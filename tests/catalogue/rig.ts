import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { Catalogue, type CatalogueEntry } from "../../src/catalogue/catalogue.ts";
import { DefinitionFolder } from "../../src/catalogue/definition-folder.ts";
import type { CatalogueStore } from "../../src/catalogue/entries.ts";
import type { CatalogueEngine } from "../../src/catalogue/reconciler.ts";
import type { Git } from "../../src/catalogue/git.ts";
import { systemClock } from "../../src/engine/system-clock.ts";
import { type Clock, defineJob, type DagSpec, Engine, type EngineOptions, type Store } from "../../src/index.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { eventually } from "../support/until.ts";

/** Two tasks, one after the other. What the second is given makes the version. */
export function dag(params: string, jobName = "work"): DagSpec {
  return {
    nodes: [
      { nodeId: 1, nodeName: "first", jobName },
      { nodeId: 2, nodeName: "second", jobName, nodeParams: JSON.stringify(params) },
    ],
    edges: [{ from: 1, to: 2 }],
  };
}

export interface HouseOptions {
  readonly store: Store;
  readonly clock?: Clock;
  /** So many times as fast as the machine's is the clock of the catalogue. */
  readonly pace?: number;
  readonly folder?: string;
  /** How long one operation on a file may take. */
  readonly folderLimitMs?: number;
  readonly git?: Git;
  readonly engine?: Partial<EngineOptions>;
  /** What the catalogue sees in place of the store and the engine. */
  readonly wrap?: (parts: { store: CatalogueStore; engine: CatalogueEngine }) => {
    store: CatalogueStore;
    engine: CatalogueEngine;
  };
}

/** An engine with a catalogue, as a server has them. */
export class House {
  readonly engine: Engine;
  readonly catalogue: Catalogue;
  readonly folder: DefinitionFolder | undefined;
  readonly lines = new LogBook();

  constructor(options: HouseOptions) {
    const {
      store,
      clock = systemClock,
      pace = 1,
      folder,
      folderLimitMs,
      git,
      engine,
      wrap = (parts) => parts,
    } = options;
    const logger = this.lines;
    const jobs = [defineJob("work", (params: unknown) => params)];
    this.engine = new Engine({ storage: store, clock, logger, jobs, stopGraceMs: 200, ...engine });
    this.folder =
      folder === undefined
        ? undefined
        : new DefinitionFolder({
            path: folder,
            logger,
            ...(git && { git }),
            ...(folderLimitMs && { limitMs: folderLimitMs }),
          });
    const seen = wrap({ store, engine: this.engine });
    this.catalogue = new Catalogue({
      ...seen,
      clock: paced(clock, pace),
      logger,
      ...(this.folder && { folder: this.folder }),
    });
  }

  static async open(t: TestContext, options: HouseOptions): Promise<House> {
    const house = new House(options);
    await house.start();
    t.after(() => house.stop());
    return house;
  }

  async start(): Promise<void> {
    await this.engine.start();
    await this.catalogue.start();
  }

  async stop(): Promise<void> {
    if (this.engine.health.status === "stopped") return;
    await this.catalogue.stop();
    await this.engine.stop();
  }

  /** Everything is as the documents say, and there is nothing else. */
  async checkInForce(): Promise<CatalogueEntry[]> {
    const { items } = await this.catalogue.list({ limit: 1000 });
    const names = items.map(({ name }) => name);
    assert.deepEqual(
      this.engine
        .listWorkflows()
        .map(({ name }) => name)
        .sort(),
      names,
    );
    for (const { name, version } of items) {
      const known = this.engine.listWorkflows().find((workflow) => workflow.name === name);
      assert.equal(known?.version, version, name);
    }
    const wanted = items.filter(({ isScheduled }) => isScheduled).map(timing);
    await eventually(async () => {
      const listed = await this.engine.schedules.list();
      const enabled = listed
        .filter(({ isEnabled }) => isEnabled)
        .map(({ scheduleId: name, spec: { every } }) => {
          const { cron, timeZone } = every as { cron: string; timeZone: string };
          return timing({ name, cronExpr: cron, timeZone });
        });
      assert.deepEqual(enabled.sort(), wanted.sort());
      for (const { scheduleId } of listed) {
        const entry = items.find(({ name }) => name === scheduleId);
        assert.notEqual(entry?.cronExpr ?? null, null, `nobody asks for schedule ${scheduleId}`);
      }
    });
    return items;
  }
}

function paced(clock: Clock, pace: number): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() * pace,
    soon: (callback) => clock.soon(callback),
    after: (delayMs, callback) => clock.after(delayMs / pace, callback),
  };
}

function timing({ name, cronExpr, timeZone }: Pick<CatalogueEntry, "name" | "cronExpr" | "timeZone">): string {
  return `${name}: ${cronExpr} ${timeZone}`;
}

/** The same, but for some of it. */
export function standIn<T extends object>(target: T, instead: Readonly<Record<string, unknown>>): T {
  return new Proxy(target, {
    get: (_, key) => {
      if (typeof key === "string" && key in instead) return instead[key];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

const changing = {
  store: ["saveDefinitions", "saveDocument", "deleteDocument", "appendLines"],
  engine: ["registerWorkflow", "forgetWorkflow"],
  schedules: ["create", "change", "pause", "resume", "delete"],
};

/** Lets so many changes through, and then nothing any more: the process is gone. */
export class Plug {
  #left = Infinity;
  readonly #pulled = Promise.withResolvers<"pulled">();

  /** What is gone wakes no more. */
  readonly clock: Clock = {
    ...systemClock,
    after: (delayMs, callback) =>
      systemClock.after(delayMs, () => {
        if (this.#left > 0) callback();
      }),
  };

  /** What is wrapped sees the end after so many more changes. */
  pullAfter(changes: number): void {
    this.#left = changes;
  }

  /** Whatever comes first: what it gives, or the end. */
  async race<T>(promise: Promise<T>): Promise<T | "pulled"> {
    return await Promise.race([promise, this.#pulled.promise]);
  }

  readonly wrap = (parts: { store: CatalogueStore; engine: CatalogueEngine }) => {
    const schedules = this.#wrapped(parts.engine.schedules, changing.schedules);
    return {
      store: this.#wrapped(parts.store, changing.store),
      engine: this.#wrapped(parts.engine, changing.engine, { schedules }),
    };
  };

  #wrapped<T extends object>(
    target: T,
    counted: readonly string[],
    instead: Readonly<Record<string, unknown>> = {},
  ): T {
    return new Proxy(target, {
      get: (_, key) => {
        if (typeof key === "string" && key in instead) return instead[key];
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== "function") return value;
        const call = value.bind(target) as (...args: unknown[]) => unknown;
        if (!counted.includes(String(key))) return (...args: unknown[]) => (this.#left > 0 ? call(...args) : never());
        return (...args: unknown[]) => this.#change(() => call(...args));
      },
    });
  }

  #change(call: () => unknown): unknown {
    if (this.#left <= 0) return never();
    this.#left--;
    const result = call();
    if (this.#left > 0) return result;
    void Promise.resolve(result)
      .catch(() => undefined)
      .then(() => this.#pulled.resolve("pulled"));
    return never();
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
