/**
 * Polls until a condition holds or time is up. Each poll is a generation of its own, so that it may go on for years.
 * Elsewhere: "monitor" in Durable Functions and Dapr, "polling/periodic sequence" in Temporal's samples.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface Watch {
  readonly city: string;
  readonly everyMs: number;
  readonly expiresAt: number;
  /** How often it has looked. */
  readonly polls: number;
}

export const readWeather = defineJob("read-weather", ({ polls }: Watch) => (polls < 3 ? "rain" : "clear"));
export const sendAlert = defineJob("send-alert", (text: string) => `alert: ${text}`);

export const watchWeather = defineWorkflow("watch-weather", async (ctx, watch: Watch): Promise<string> => {
  const { city, everyMs, expiresAt, polls } = watch;
  const weather = await ctx.run(readWeather, watch, { retryCount: 5 });
  if (weather === "clear") return await ctx.run(sendAlert, `clear skies over ${city}`);
  if (ctx.now() + everyMs > expiresAt) return "expired";
  await ctx.sleep(everyMs);
  return await ctx.continueAsNew({ ...watch, polls: polls + 1 } satisfies Watch);
});
