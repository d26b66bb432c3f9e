/**
 * A cluster whose nodes are assigned by updates that take steps. A queue of promises lets one handler run at a time, and the
 * workflow ends only when all are answered. Elsewhere: "safe-message-handlers" in Temporal's samples.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface Assignment {
  readonly task: string;
  readonly nodes: number;
}

interface NodeChange {
  readonly node: number;
  readonly task: string;
}

export const assignNode = defineJob("assign-node", ({ node, task }: NodeChange) => `node ${node} works on ${task}`);
export const releaseNode = defineJob("release-node", ({ node, task }: NodeChange) => `node ${node} leaves ${task}`);

export const manageCluster = defineWorkflow("manage-cluster", async (ctx, size: number) => {
  const taskOf = new Map<number, string>();
  let last: Promise<unknown> = Promise.resolve();
  /** Two handlers that took turns at their steps would give the same node away twice. */
  const inTurn = <T>(handle: () => Promise<T>): Promise<T> => {
    const mine = last.then(handle);
    last = mine.catch(() => undefined);
    return mine;
  };

  ctx.onUpdate("assign", ({ task, nodes }: Assignment) =>
    inTurn(async () => {
      const free = Array.from({ length: size }, (_, node) => node).filter((node) => !taskOf.has(node));
      if (free.length < nodes) throw new Error(`only ${free.length} nodes are free`);
      const mine = free.slice(0, nodes);
      await ctx.all(mine.map((node) => ctx.run(assignNode, { node, task })));
      for (const node of mine) taskOf.set(node, task);
      return mine;
    }),
  );
  ctx.onUpdate("release", (task: string) =>
    inTurn(async () => {
      const mine = [...taskOf.keys()].filter((node) => taskOf.get(node) === task);
      await ctx.all(mine.map((node) => ctx.run(releaseNode, { node, task })));
      for (const node of mine) taskOf.delete(node);
      return mine;
    }),
  );
  ctx.onQuery("tasks", () => Object.fromEntries(taskOf));

  await ctx.waitForEvent("shut down");
  for (let seen; seen !== last;) await (seen = last);
  return Object.fromEntries(taskOf);
});
