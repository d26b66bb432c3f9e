import { defineJob } from "../../src/index.ts";

/** The jobs that the imported workflows of PowerJob run: their ids are PowerJob's. */
export const extract = defineJob("extract", { jobId: 11 }, (_params: undefined, ctx) => {
  ctx.patchContext({ rows: 7 });
  return "extracted";
});
export const load = defineJob("load", { jobId: 12 }, () => "loaded");
