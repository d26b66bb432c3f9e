import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { Bulk } from "./bulk.ts";
import type { Peer } from "./peer.ts";

/** The settings of its own page on performance. */
const batched = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

/** A queue only: a job counts as done when it ran; that it did is written a moment later. */
export async function startGraphileWorker(url: string): Promise<Peer> {
  const ends = new Map<number, () => void>();
  const only = (payload: unknown): void => {
    const { number } = payload as { number: number };
    ends.get(number)?.();
    ends.delete(number);
  };
  const logger = new Logger(() => () => undefined);
  await run({ preset: { worker: { ...batched, connectionString: url, logger } }, taskList: { only } });
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  const bulk = new Bulk((numbers: number[]) => {
    return utils.addJobs(numbers.map((number) => ({ identifier: "only", payload: { number } })));
  });
  let submitted = 0;
  return {
    setup: "a queue without workflows; jobs added, fetched and completed in batches",
    run: async () => {
      const number = ++submitted;
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(number, resolve);
      await bulk.add(number);
      await promise;
    },
  };
}
