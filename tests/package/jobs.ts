import { defineJob } from "heddle";
import { z } from "zod";

export const extract = defineJob("extract", { input: z.object({ table: z.string() }) }, async ({ table }, ctx) => {
  ctx.log.info({ table }, "extracting");
  return { rows: table.length };
});

export const join = defineJob("join", (_params: unknown, ctx) => {
  const orders = ctx.outputs["orders"] as { rows: number };
  return { joined: orders.rows * 2 };
});

/** In a thread of its own, which must find the engine's thread file inside the installed package. */
export const index = defineJob(
  "index",
  { isolation: "thread", source: { module: import.meta.url, export: "index" } },
  (params: { words: string[] }) => ({ indexed: params.words.toSorted() }),
);
