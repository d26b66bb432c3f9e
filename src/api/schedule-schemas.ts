import { z } from "zod";
import { durationMsMax } from "../base/time-limits.ts";
import { epochMs, json, name, newName } from "./common-schemas.ts";

const durationMs = z.number().int().min(1).max(durationMsMax);
const timeZone = z.string().max(100).exactOptional();

const timing = z.union([
  z.strictObject({
    cron: z.string().max(200),
    timeZone,
    inGap: z.enum(["shift", "skip"]).exactOptional(),
    whenTwice: z.enum(["first", "last", "both"]).exactOptional(),
  }),
  z.strictObject({ rateMs: durationMs }),
  z.strictObject({ delayMs: durationMs }),
  z.strictObject({
    daily: z.strictObject({
      from: z.string().max(8),
      to: z.string().max(8),
      everyMs: durationMs,
      weekdays: z.array(z.number().int().min(0).max(6)).exactOptional(),
    }),
    timeZone,
  }),
]);

export const scheduleSpec = z.strictObject({
  workflow: name.exactOptional().meta({ description: "What is started: give this, with an input, or a job." }),
  input: json.optional(),
  job: name.exactOptional().meta({ description: "A job that each run starts by itself, with these params." }),
  params: json.optional(),
  every: timing,
  whenBusy: z.enum(["skip", "queue", "allow", "cancel-previous"]).exactOptional(),
  whenMissed: z.enum(["once", "all", "none"]).exactOptional(),
  jitterMs: z.number().int().min(0).max(durationMsMax).exactOptional(),
  startAt: epochMs.exactOptional(),
  endAt: epochMs.exactOptional(),
  retryCount: z.number().int().min(0).exactOptional(),
  retryPolicy: z.looseObject({}).exactOptional(),
});

export const newSchedule = scheduleSpec.extend({ scheduleId: newName });

export const scheduleView = z.object({
  scheduleId: z.string(),
  spec: scheduleSpec,
  isEnabled: z.boolean(),
  nextAt: epochMs.nullable(),
  running: z.array(z.string()).meta({ description: "Instance ids of the runs that have not ended." }),
  waiting: z.number().int().meta({ description: "Runs that are queued." }),
  runs: z.number().int(),
  skipped: z.number().int(),
  lastRunId: z.string().nullable(),
  lastError: z.string().nullable(),
});

export const scheduleDetail = scheduleView.extend({ nextFireTimes: z.array(epochMs) });

export const previewRequest = z.object({
  every: timing,
  startAt: epochMs.exactOptional(),
  endAt: epochMs.exactOptional(),
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
