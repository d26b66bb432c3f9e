/** A member of a cluster in a process of its own, whose job blocks the event loop for as long as the parent says. */
import { defineJob, Engine, TaskBuilder } from "../../src/index.ts";
import { storage } from "../../src/storage.ts";

export interface StalledMemberPlace {
  readonly storage: string;
  readonly stallMs: number;
}

/** What the member tells its parent: what happens to it, and when its job has ended. */
export type StalledMemberNews = { readonly event: string } | { readonly spun: true };

export const shardCount = 64;
export const stallTimings = { beatMs: 500, suspectMs: 2000, lostMs: 2000 };

const spin = defineJob("spin", ({ ms }: { ms: number }) => {
  for (const end = performance.now() + ms; performance.now() < end;);
});

async function main({ storage: address, stallMs }: StalledMemberPlace): Promise<void> {
  const tell = (news: StalledMemberNews): void => void process.send?.(news);
  const engine = new Engine({
    storage: await storage(address),
    jobs: [spin],
    cluster: { name: "stalled", shards: shardCount, timings: { ...stallTimings, stallMs } },
  });
  engine.onMemberEvent(({ type, member }) => {
    if (member.startsWith("stalled")) tell({ event: type });
  });
  process.on("message", ({ ms }: { ms: number }) => {
    const task = new TaskBuilder("spin").withJobFunction("spin", { ms }).build();
    const onEnd = (): void => tell({ spun: true });
    // A member that has lost its lease meanwhile takes no result.
    void engine.executor.submitTask(task).then(onEnd, onEnd);
  });
  process.on("SIGTERM", () => void engine.stop().then(() => process.disconnect()));
  await engine.start();
}

const [, , place] = process.argv;
if (import.meta.main && place !== undefined) await main(JSON.parse(place) as StalledMemberPlace);
