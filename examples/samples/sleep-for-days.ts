/**
 * Sends a mail every so often for as long as it takes, and ends at once when it is told to. Nothing stays in memory while it sleeps.
 * Elsewhere: "sleep-for-days" in Temporal's samples.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

const dayMs = 24 * 3_600_000;

export const sendMail = defineJob("send-mail", (number: number) => `mail ${number}`);

export const mailEveryFewDays = defineWorkflow("mail-every-few-days", async (ctx, days: number) => {
  for (let mails = 1; ; mails++) {
    await ctx.run(sendMail, mails);
    ctx.setCustomStatus({ mails });
    const woken = await ctx.race([
      ctx.sleep(days * dayMs).then(() => "slept" as const),
      ctx.waitForEvent("complete").then(() => "complete" as const),
    ]);
    if (woken === "complete") return mails;
  }
});
