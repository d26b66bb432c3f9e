import assert from "node:assert/strict";
import { setImmediate as settled } from "node:timers/promises";
import { test } from "node:test";
import { defineJob } from "../authoring/job.ts";
import type { ReactionSlot } from "../dispatch/reaction-slots.ts";
import { CodeShard, startInput } from "./code-shard.rig.ts";
import type { AttemptHosting } from "./delegated-attempts.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import type { InstanceTable } from "./instance-table.ts";
import type { ReactionCaution } from "./reaction-caution.ts";
import { ShardInstances } from "./shard-instances.ts";
import type { ShardState } from "./shard-state.ts";
import type { WorkflowGates } from "./workflow-gate.ts";

const step = defineJob("step", () => 1);

/** An instance of code whose reactions are recorded, after a crash; it waits for a task, and reactions for `slots`. */
async function rigAfterCrash() {
  const shard = await CodeShard.having(async (ctx) => await ctx.run(step, undefined));
  await shard.turn(startInput);
  const slots: ((slot: ReactionSlot) => void)[] = [];
  const caution: Pick<ReactionCaution, "isNeeded" | "enter" | "noteCameThrough"> = {
    isNeeded: () => true,
    enter: (_losses, start) => void slots.push(start),
    noteCameThrough: () => false,
  };
  Object.assign(shard, { caution });
  const actor = shard.revive();
  const instances = new ShardInstances({
    table: {
      get: () => ({ actor }) as unknown as InstanceEntry,
    } satisfies Partial<InstanceTable> as unknown as InstanceTable,
    state: { isClosed: false } satisfies Partial<ShardState> as unknown as ShardState,
    gates: {} as WorkflowGates,
    hosting: {} as AttemptHosting,
  });
  return { shard, slots, instances };
}

test("a flush waits for a result that waits for the code, and a query of the durable state does not", async () => {
  const { shard, slots, instances } = await rigAfterCrash();
  const known: string[] = [];
  const input = shard.done(0);
  shard.life.tell({ input });
  void instances.flush("i").then(() => known.push("flushed"));
  void instances.has("i").then(() => known.push("exists"));
  await shard.prepare();
  shard.write(shard.life.openTurn());
  await settled();
  assert.deepEqual(known, ["exists"], "the result is not durable yet");

  const recorded = shard.prepare();
  slots[0]?.({ leave: () => undefined });
  await recorded;
  shard.write(shard.life.openTurn());
  assert.equal(shard.types.at(-1), "ReactionStarted");
  await shard.prepare();
  shard.write(shard.life.openTurn());
  await settled();
  assert.deepEqual(known, ["exists", "flushed"]);
  assert(shard.types.includes("TaskSucceeded"));
});
