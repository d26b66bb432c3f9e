/**
 * A sign-up that waits for a click on a link in a mail, reminds a few times, and drops the account if nobody clicks.
 * Elsewhere: "signup workflow" in Restate's examples, "phone verification" in Durable Functions.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface SignUp {
  readonly email: string;
  readonly remindAfterMs: number;
  readonly mailsMax: number;
}

interface Link {
  readonly email: string;
  readonly secret: string;
}

export const createUser = defineJob("create-user", (email: string) => `user ${email}`);
export const sendLink = defineJob("send-link", ({ email }: Link) => `link to ${email}`);
export const deleteUser = defineJob("delete-user", (user: string) => `${user}: deleted`);

export const signUp = defineWorkflow("sign-up", async (ctx, { email, remindAfterMs, mailsMax }: SignUp) => {
  const secret = ctx.uuid();
  ctx.onQuery("secret", () => secret);
  const user = await ctx.run(createUser, email);
  for (let mails = 1; mails <= mailsMax; mails++) {
    await ctx.run(sendLink, { email, secret }, { retryCount: 3 });
    ctx.setCustomStatus({ mails });
    const clicked = await ctx.race([
      ctx.waitForEvent<string>("clicked"),
      ctx.sleep(remindAfterMs).then(() => undefined),
    ]);
    if (clicked === secret) return `${user}: verified`;
  }
  return await ctx.run(deleteUser, user);
});
