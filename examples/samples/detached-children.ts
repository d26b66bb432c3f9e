/**
 * Starts children that outlive their parent, which ends at once and gives back their ids.
 * Elsewhere: "parent close policy: abandon" in Temporal, "fire and forget" in Durable Functions.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

export const sendNewsletter = defineJob("send-newsletter", (reader: string) => `newsletter to ${reader}`);

export const mailReader = defineWorkflow("mail-reader", async (ctx, reader: string) => {
  await ctx.sleep(1000);
  return await ctx.run(sendNewsletter, reader);
});

export const mailAll = defineWorkflow("mail-all", (ctx, readers: readonly string[]) =>
  Promise.resolve(
    readers.map((reader) =>
      ctx.startChild(mailReader, reader, { instanceId: `mail-${reader}`, whenParentEnds: "leave" }),
    ),
  ),
);
