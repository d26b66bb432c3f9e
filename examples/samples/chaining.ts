/**
 * Activities one after the other, each with the output of the one before.
 * Elsewhere: "function chaining" in Durable Functions, "task chaining" in Dapr.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

export const fetchArticle = defineJob("fetch-article", (id: number) => `article ${id}`);
export const translateArticle = defineJob("translate-article", (text: string) => `${text} in Latin`);
export const printArticle = defineJob("print-article", (text: string) => `${text}, printed`);

export const publishArticle = defineWorkflow("publish-article", async (ctx, id: number) => {
  const text = await ctx.run(fetchArticle, id);
  const translated = await ctx.run(translateArticle, text);
  return await ctx.run(printArticle, translated);
});
