/**
 * Splits a task into as many parts as there are, runs them side by side, a few at a time, and puts the results together.
 * Elsewhere: "parallelize work" in Restate's examples.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

export const splitText = defineJob("split-text", (text: string) => text.split("."));
export const countWords = defineJob("count-words", (sentence: string) => sentence.trim().split(" ").length);
export const addCounts = defineJob("add-counts", (counts: readonly number[]) => counts.reduce((sum, n) => sum + n, 0));

export const countAllWords = defineWorkflow(
  "count-all-words",
  { maxConcurrentActivities: 3 },
  async (ctx, text: string) => {
    const sentences = await ctx.run(splitText, text);
    const counts = await ctx.all(sentences.map((sentence) => ctx.run(countWords, sentence)));
    return await ctx.run(addCounts, counts);
  },
);
