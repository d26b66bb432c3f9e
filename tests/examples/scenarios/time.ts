/** Samples that wait. */
import { watchWeather } from "../../../examples/samples/monitor.ts";
import { collectPayment } from "../../../examples/samples/payment-reminders.ts";
import { awaitService } from "../../../examples/samples/polling-infrequent.ts";
import { mailEveryFewDays } from "../../../examples/samples/sleep-for-days.ts";
import { orderWithReminder } from "../../../examples/samples/timer-reminder.ts";
import { remindAt } from "../../../examples/samples/updatable-timer.ts";
import { TestClock } from "../../../src/testing.ts";
import type { Scenario } from "../sample-rig.ts";

const hourMs = 3_600_000;
/** The clock of the rig begins at the same time in every run. */
const startMs = new TestClock().now();
const hourAfterStart = startMs + hourMs;
const dayAfterStart = startMs + 24 * hourMs;

export const timeScenarios: Readonly<Record<string, Scenario>> = {
  "monitor: polls until the weather is clear": {
    sample: "monitor",
    play: async (client) => {
      await client.start(
        watchWeather,
        { city: "Ulm", everyMs: 600_000, expiresAt: Number.MAX_SAFE_INTEGER, polls: 0 },
        "watch",
      );
      return await client.result("watch");
    },
    result: "alert: clear skies over Ulm",
    effects: ["rain", "rain", "rain", "clear", "alert: clear skies over Ulm"],
  },
  "monitor: expires": {
    sample: "monitor",
    play: async (client) => {
      await client.start(watchWeather, { city: "Ulm", everyMs: 600_000, expiresAt: 0, polls: 0 }, "watch");
      return await client.result("watch");
    },
    result: "expired",
    effects: ["rain"],
  },
  "timer that updates move": {
    sample: "updatable-timer",
    play: async (client) => {
      await client.start(remindAt, { text: "tea", at: dayAfterStart }, "reminder");
      await client.update("reminder", "move", dayAfterStart + hourMs);
      await client.update("reminder", "move", hourAfterStart);
      return await client.result("reminder");
    },
    result: { reminded: "reminder: tea", due: hourAfterStart },
    effects: ["reminder: tea"],
  },
  "sleep for days": {
    sample: "sleep-for-days",
    play: async (client) => {
      await client.start(mailEveryFewDays, 0.05, "mails");
      await client.untilStatus("mails", { mails: 3 });
      await client.raise("mails", "complete");
      return await client.result("mails");
    },
    result: 3,
    effects: ["mail 1", "mail 2", "mail 3"],
  },
  "reminder: an order takes long": {
    sample: "timer-reminder",
    play: async (client) => {
      await client.start(orderWithReminder, { takesMs: hourMs, notifyAfterMs: 60_000 }, "slow");
      return await client.result("slow");
    },
    result: "packed in 3600000 ms",
    effects: ["the order takes longer", "packed in 3600000 ms"],
  },
  "reminder: an order is quick": {
    sample: "timer-reminder",
    play: async (client) => {
      await client.start(orderWithReminder, { takesMs: 1000, notifyAfterMs: 60_000 }, "quick");
      return await client.result("quick");
    },
    result: "packed in 1000 ms",
    effects: ["packed in 1000 ms"],
  },
  "payment reminders: paid after the first": {
    sample: "payment-reminders",
    play: async (client) => {
      await client.start(collectPayment, { number: "7", remindAfterMs: [hourMs, 2 * hourMs] }, "invoice");
      await client.untilStatus("invoice", { reminders: 1 });
      await client.raise("invoice", "paid", { amount: 50 });
      return await client.result("invoice");
    },
    result: "paid 50 after 1 reminders",
    effects: ["invoice 7", "reminder 1 of 7"],
  },
  "payment reminders: never paid": {
    sample: "payment-reminders",
    play: async (client) => {
      await client.start(collectPayment, { number: "7", remindAfterMs: [60_000, hourMs] }, "invoice");
      return await client.result("invoice");
    },
    result: "invoice 7: handed over",
    effects: ["invoice 7", "reminder 1 of 7", "reminder 2 of 7", "invoice 7: handed over"],
  },
  "polling through retries": {
    sample: "polling-infrequent",
    play: async (client) => {
      await client.start(awaitService, { everyMs: 60_000, attemptsMax: 100 }, "poll");
      return await client.result("poll");
    },
    result: "ready at attempt 4",
    effects: ["not ready", "not ready", "not ready", "ready at attempt 4"],
  },
};
