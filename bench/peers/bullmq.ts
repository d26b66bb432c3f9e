import { randomUUID } from "node:crypto";
import { type FlowJob, FlowProducer, Worker } from "bullmq";
import { Bulk } from "./bulk.ts";
import type { Peer } from "./peer.ts";

const workflows = "workflows";
const steps = "steps";
const concurrency = 100;

/** A workflow is a flow: a job for the whole, and under it one for each step. */
export async function startBullmq(url: string): Promise<Peer> {
  const connection = { url };
  const producer = new FlowProducer({ connection });
  const ends = new Map<string, () => void>();
  for (const queue of [workflows, steps]) {
    const removeOnComplete = { count: 0 };
    const worker = new Worker(queue, async () => undefined, { connection, concurrency, removeOnComplete });
    await worker.waitUntilReady();
    if (queue === workflows) worker.on("completed", ({ id = "" }) => ends.get(id)?.());
  }
  const bulk = new Bulk((flows: FlowJob[]) => producer.addBulk(flows));
  const runFlow = async (child: FlowJob): Promise<void> => {
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.set(id, resolve);
    await bulk.add({ name: "workflow", queueName: workflows, opts: { jobId: id }, children: [child] });
    await promise;
    ends.delete(id);
  };
  return {
    setup: `flows of a parent and its steps, added in bulk; ${concurrency} slots per queue; ended jobs are removed`,
    run: async () => await runFlow({ name: "only", queueName: steps }),
    runSteps: async (count) => await runFlow(chain(count)),
  };
}

/** Each job waits for the one under it. */
function chain(count: number): FlowJob {
  const job = { name: `step ${count}`, queueName: steps };
  return count === 1 ? job : { ...job, children: [chain(count - 1)] };
}
