import { z } from "zod";
import { durationMsMax } from "../base/time-limits.ts";
import { epochMs, json, name, newName } from "./common-schemas.ts";

const durationMs = z.number().int().min(1).max(durationMsMax);
const timeZone = z.string().max(100).optional();

const timing = z.union([
  z.strictObject({
    cron: z.string().max(200),
    timeZone,
    inGap: z.enum(["shift", "skip"]).optional(),
    whenTwice: z.enum(["first", "last", "both"]).optional(),
  }),
  z.strictObject({ rateMs: durationMs }),
  z.strictObject({ delayMs: durationMs }),
  z.strictObject({
    daily: z.strictObject({
      from: z.string().max(8),
      to: z.string().max(8),
      everyMs: durationMs,
      weekdays: z.array(z.number().int().min(0).max(6)).optional(),
    }),
    timeZone,
  }),
]);

export const scheduleSpec = z.strictObject({
  workflow: name.optional().meta({ description: "What is started: give this, with an input, or a job." }),
  input: json.optional(),
  job: name.optional().meta({ description: "A job that each run starts by itself, with these params." }),
  params: json.optional(),
  every: timing,
  whenBusy: z.enum(["skip", "queue", "allow", "cancel-previous"]).optional(),
  whenMissed: z.enum(["once", "all", "none"]).optional(),
  jitterMs: z.number().int().min(0).max(durationMsMax).optional(),
  startAt: epochMs.optional(),
  endAt: epochMs.optional(),
  retryCount: z.number().int().min(0).optional(),
  retryPolicy: z.looseObject({}).optional(),
});

export const newSchedule = scheduleSpec.extend({ scheduleId: newName });

export const scheduleView = z.looseObject({ scheduleId: z.string() });

export const previewRequest = z.object({
  every: timing,
  startAt: epochMs.optional(),
  endAt: epochMs.optional(),
  from: epochMs.optional(),
  count: z.number().int().min(1).max(1000).default(10),
});
export const fireTimes = z.object({ times: z.array(z.number().int()) });

export const backfillRequest = z.object({
  from: epochMs,
  to: epochMs,
  parallelism: z.number().int().min(1).max(1000).default(1),
});
export const backfilled = z.object({ runs: z.number().int() });
