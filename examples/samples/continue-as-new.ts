/**
 * A loop without end, or with one far away: each generation does a part and begins anew, so that no history grows large.
 * Elsewhere: "continue-as-new" in Temporal's samples, "eternal orchestrations" in Durable Functions.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface CleanUp {
  readonly page: number;
  readonly pages: number;
  readonly pauseMs: number;
}

export const cleanPage = defineJob("clean-page", (page: number) => `page ${page} cleaned`);

export const cleanUp = defineWorkflow("clean-up", async (ctx, task: CleanUp): Promise<string> => {
  await ctx.run(cleanPage, task.page);
  if (task.page === task.pages) return `${task.pages} pages in ${ctx.generation} generations`;
  await ctx.sleep(task.pauseMs);
  return await ctx.continueAsNew({ ...task, page: task.page + 1 } satisfies CleanUp);
});
