/**
 * A parent that runs one child per name, side by side, and joins their results.
 * Elsewhere: "child-workflows" in Temporal's samples, "sub-orchestrations" in Durable Functions.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

export const composeGreeting = defineJob("compose-greeting", (name: string) => `Hello, ${name}!`);

export const greetOne = defineWorkflow("greet-one", (ctx, name: string) => ctx.run(composeGreeting, name));

export const greetAll = defineWorkflow("greet-all", async (ctx, names: readonly string[]) => {
  const greetings = await ctx.all(names.map((name) => ctx.callChild(greetOne, name)));
  return greetings.join(" ");
});
