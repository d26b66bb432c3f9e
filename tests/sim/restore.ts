import { hasCode } from "../../src/base/error.ts";
import { localName, namespaceOf } from "../../src/base/namespace.ts";
import { markRestored } from "../../src/transfer/restored-store.ts";
import type { MemoryBackup, MemoryStore } from "../../src/stores/memory/memory-store.ts";
import type { Client } from "./client.ts";
import type { Moment } from "./evidence.ts";
import type { Member, MemberLife } from "./member.ts";
import type { Recorder } from "./recorder.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimRandom } from "./sim-random.ts";
import type { Supervisor } from "./supervisor.ts";

export interface RestoreParts {
  readonly store: MemoryStore;
  readonly members: readonly Member[];
  readonly clients: readonly Client[];
  readonly supervisor: Supervisor;
  readonly scheduler: Scheduler;
  readonly recorder: Recorder;
  readonly random: SimRandom;
}

/** The time after a restore in which members may notice it, before the operator ends those that are left. */
const noticeMs = 30_000;

/** The number of times for which the operator runs the command that makes a restored store known. */
const triesMax = 3;

/** The time for which restored instances run by themselves before they are ended: their clients are gone. */
const runOnMs = 30_000;

/**
 * An operator who makes a backup of the store while faults occur, and later restores it under running members. Members that
 * have not noticed after a while are ended, the store is made known as restored, and all are started again.
 */
export class Restore {
  readonly #parts: RestoreParts;
  #backup: { readonly rows: MemoryBackup; readonly at: Moment } | undefined;

  constructor(parts: RestoreParts, spanMs: number) {
    this.#parts = parts;
    const { scheduler, random, store, recorder } = parts;
    scheduler.after(random.within(0.2, 0.9) * spanMs, undefined, () => {
      this.#backup = { rows: store.backUp(), at: recorder.moment() };
    });
  }

  async run(): Promise<void> {
    const { scheduler, random, store, members, clients, recorder, supervisor } = this.#parts;
    await scheduler.sleep(random.within(0, 8000));
    if (this.#backup === undefined) return recorder.recordProblem("no backup was made");
    for (const member of members) member.isWanted = false;
    store.restore(this.#backup.rows);
    const record = recorder.recordRestore(this.#backup.at);
    await scheduler.sleep(noticeMs);
    for (const client of clients) client.close();
    for (const member of members) {
      member.isHeld = true;
      member.life?.crash("ended by the operator");
    }
    await this.#makeKnown();
    record.known = recorder.moment();
    this.#recordRemovals();
    for (const member of members) {
      member.isHeld = false;
      member.isWanted = true;
      void supervisor.begin(member);
    }
    await scheduler.sleep(runOnMs);
    await this.#endAll();
  }

  /** The operator repeats the command if a heartbeat landed that an ended process had sent. */
  async #makeKnown(): Promise<void> {
    const { store } = this.#parts;
    for (let tries = 1; ; tries++) {
      try {
        await markRestored(store, { clock: this.#clock, isDryRun: false });
        return;
      } catch (error) {
        if (!hasCode(error, "STORE_LOCKED") || tries === triesMax) throw error;
      }
    }
  }

  /** No process of before is a member any more, whether the backup contained it or not. */
  #recordRemovals(): void {
    const { recorder } = this.#parts;
    const joined = recorder.memberships.filter(({ what }) => what === "joined").map(({ member }) => member);
    for (const member of joined) recorder.recordMembership({ number: 0, machine: "the operator" }, "removed", member);
  }

  get #clock(): Parameters<typeof markRestored>[1]["clock"] {
    const { scheduler } = this.#parts;
    return {
      monotonic: () => scheduler.now,
      after: (delayMs, callback) => scheduler.after(delayMs, undefined, callback),
    };
  }

  async #endAll(): Promise<void> {
    const { scheduler, store, members } = this.#parts;
    for (;;) {
      const unfinished = await store.listInstances({ status: ["Ready", "Running", "Paused"], limit: 1000 });
      if (unfinished.length === 0) return;
      const [life] = members.flatMap((member): MemberLife[] => (member.isUp && member.life ? [member.life] : []));
      if (life !== undefined) {
        const ends = unfinished.map(({ id }) =>
          life.engine.inNamespace(namespaceOf(id)).terminateWorkflowInstance(localName(id), "restored"),
        );
        await Promise.race([Promise.allSettled(ends), scheduler.sleep(5000)]);
      }
      await scheduler.sleep(1000);
    }
  }
}
