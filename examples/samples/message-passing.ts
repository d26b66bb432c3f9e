/**
 * Events, queries and updates side by side: a greeter whose language is asked for, changed, and approved by an event at the end.
 * Elsewhere: "message-passing/introduction" in Temporal's samples.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

const greetings: Readonly<Record<string, string>> = { English: "Hello", German: "Hallo" };

export const lookUpGreeting = defineJob("look-up-greeting", (language: string) => {
  if (language !== "French") throw new Error(`nobody knows ${language}`);
  return "Bonjour";
});

export const greeter = defineWorkflow("greeter", async (ctx, first: string) => {
  const known = { ...greetings };
  let language = first;
  ctx.onQuery("languages", () => Object.keys(known));
  ctx.onUpdate("set language", {
    validate: (to: string) => {
      if (to === "") throw new Error("a language has a name");
    },
    handler: async (to: string) => {
      const before = language;
      known[to] ??= await ctx.run(lookUpGreeting, to);
      language = to;
      return before;
    },
  });
  const approval = await ctx.waitForEvent<{ by: string }>("approve");
  return `${known[language]}, approved by ${approval.by}`;
});
