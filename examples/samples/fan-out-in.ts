/**
 * Lists files, copies all of them side by side with retries, and adds up their sizes. One that cannot be copied does not stop the others.
 * Elsewhere: "fan-out/fan-in" in Durable Functions and Dapr.
 */
import { defineJob, defineWorkflow, StepFailed } from "../../src/index.ts";

export const listFiles = defineJob("list-files", (folder: string) =>
  ["a.txt", "b.txt", "c.txt", "broken.txt"].map((name) => `${folder}/${name}`),
);
export const copyFile = defineJob("copy-file", (path: string) => {
  if (path.includes("broken")) throw new Error(`cannot read ${path}`);
  return path.length;
});

export const backUpFolder = defineWorkflow("back-up-folder", async (ctx, folder: string) => {
  const files = await ctx.run(listFiles, folder);
  const copies = files.map((file) => ctx.run(copyFile, file, { retryCount: 1 }).catch(asFailed));
  const sizes = await ctx.all(copies);
  const copied = sizes.filter((size) => size !== "failed");
  return { copied: copied.length, failed: sizes.length - copied.length, bytes: copied.reduce((a, b) => a + b, 0) };
});

/** A cancel of the whole workflow is no failed copy. */
function asFailed(error: unknown): "failed" {
  if (!(error instanceof StepFailed)) throw error;
  return "failed";
}
