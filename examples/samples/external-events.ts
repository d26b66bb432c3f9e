/**
 * Waits for events from several people, in whichever order they come, and gives up when one of them has not answered in time.
 * Elsewhere: "external events" in Durable Functions and Dapr.
 */
import { defineJob, defineWorkflow, StepFailed } from "../../src/index.ts";

interface Review {
  readonly document: string;
  readonly reviewers: readonly string[];
  readonly timeoutMs: number;
}

interface Request {
  readonly document: string;
  readonly reviewer: string;
}

export const askReviewer = defineJob(
  "ask-reviewer",
  ({ document, reviewer }: Request) => `${reviewer} is asked about ${document}`,
);
export const publishDocument = defineJob("publish-document", (document: string) => `${document}: published`);
export const withdrawDocument = defineJob("withdraw-document", (document: string) => `${document}: withdrawn`);

export const reviewDocument = defineWorkflow("review-document", async (ctx, review: Review) => {
  const { document, reviewers, timeoutMs } = review;
  await ctx.all(reviewers.map((reviewer) => ctx.run(askReviewer, { document, reviewer })));
  try {
    const waits = reviewers.map((reviewer) => ctx.waitForEvent<boolean>(`review by ${reviewer}`, { timeoutMs }));
    const verdicts = await ctx.all(waits);
    return await ctx.run(verdicts.every(Boolean) ? publishDocument : withdrawDocument, document);
  } catch (error) {
    if (!(error instanceof StepFailed) || error.failure.type !== "TASK_TIMEOUT") throw error;
    return await ctx.run(withdrawDocument, document);
  }
});
