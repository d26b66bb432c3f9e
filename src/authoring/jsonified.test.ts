import assert from "node:assert/strict";
import { test } from "node:test";
import { defineWorkflow } from "./code-workflow.ts";
import { defineJob } from "./job.ts";
import type { Jsonified } from "./jsonified.ts";
import type { WorkflowContext } from "./workflow-context.ts";

/** `true` where either type stands for the other. Holding them against it is the compiler's part of these tests. */
type Same<A, B> = [A, B] extends [B, A] ? true : false;

class Account {
  readonly id: string = "a";
  readonly opened = new Date(0);
  close(): void {}
}

interface Tree {
  readonly at: Date;
  readonly children: readonly Tree[];
}
interface JsonTree {
  readonly at: string;
  readonly children: readonly JsonTree[];
}

test("types say what JSON makes of a value", () => {
  true satisfies Same<
    Jsonified<{ at: Date; n: number; ok: boolean | null }>,
    { at: string; n: number; ok: boolean | null }
  >;
  true satisfies Same<Jsonified<Date[]>, string[]>;
  true satisfies Same<Jsonified<readonly [Date, number | undefined]>, readonly [string, number | null]>;
  true satisfies Same<Jsonified<{ a?: Date; b: number | undefined }>, { a?: string; b?: number }>;
  true satisfies Same<Jsonified<Map<string, number>>, never>;
  true satisfies Same<Jsonified<{ seen: Set<number> | null }>, { seen: null }>;
  true satisfies Same<Jsonified<Account>, { readonly id: string; readonly opened: string }>;
  true satisfies Same<Jsonified<URL>, string>;
  true satisfies Same<Jsonified<Tree>, JsonTree>;
  true satisfies Same<Jsonified<Record<string, Date>>, Record<string, string>>;
  true satisfies Same<Jsonified<"a" | "b">, "a" | "b">;
  true satisfies Same<Jsonified<unknown>, unknown>;
  const anything: Jsonified<ReturnType<typeof JSON.parse>> = 5;
  assert.equal(anything, 5);
  const nothing: Jsonified<undefined> = undefined;
  assert.equal(nothing, undefined);
});

test("code receives what a job and a child give as JSON", () => {
  const look = defineJob("look", async () => ({ at: new Date(0), note: undefined as string | undefined }));
  const child = defineWorkflow("child", async () => new Date(0));
  const code = defineWorkflow("code", async (ctx: WorkflowContext) => {
    const seen = await ctx.run(look, undefined, {
      undo: ({ at }) => {
        true satisfies Same<typeof at, string>;
      },
    });
    true satisfies Same<typeof seen, { at: string; note?: string }>;
    const ended = await ctx.callChild(child);
    true satisfies Same<typeof ended, string>;
  });
  assert.equal(code.name, "code");
});
