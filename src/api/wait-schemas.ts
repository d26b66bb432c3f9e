import { z } from "zod";
import { epochMs } from "./common-schemas.ts";

const waitReason = z.enum([
  "workflow-limit",
  "instance-limit",
  "outside",
  "paused",
  "retry",
  "no-worker",
  "domain",
  "slot",
  "isolation",
  "engine",
]);

const text = z.string().meta({ description: 'Completes the phrase "waits for".' });

const slots = z
  .object({ domain: z.string(), size: z.number(), running: z.number().int(), waiting: z.number().int() })
  .meta({ description: "The domain whose slots are taken; in a cluster, what runs and waits is that of one member." });

const max = z.number().meta({ description: "The maximum that is reached: tasks of the instance, or instances." });

const requires = z
  .object({ tags: z.array(z.string()), worker: z.string().optional() })
  .meta({ description: "What the worker must have beside the job: tags, all of them, or a name." });

const ofWaitingTask = {
  slots: slots.optional(),
  max: max.optional(),
  dueAt: epochMs.optional().meta({ description: "When a completion from outside is waited for no longer." }),
  requires: requires.optional(),
};

/** The wait of one task. */
export const taskWait = z.object({ reason: waitReason, text, ...ofWaitingTask });

const any = {
  text,
  since: epochMs.optional().meta({ description: "When the wait began, in epoch milliseconds, where that is known." }),
};

const ofCode = {
  ...any,
  line: z
    .object({ file: z.string(), line: z.number().int() })
    .optional()
    .meta({ description: "The line of the workflow's code that waits, while the code is in memory." }),
};

const ofTask = { task: z.number().int(), taskName: z.string() };

/** One thing that an instance waits for. */
export const wait = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("instance"),
    reason: z.enum(["workflow-limit", "paused", "code", "isolation"]),
    ...any,
    max: max.optional(),
    by: z.string().optional().meta({ description: "Who has paused it." }),
    note: z.string().optional().meta({ description: "Why it was paused." }),
  }),
  z.object({ kind: z.literal("event"), ...ofCode, name: z.string(), dueAt: epochMs.optional() }),
  z.object({ kind: z.literal("timer"), ...ofCode, dueAt: epochMs }),
  z.object({ kind: z.literal("update"), ...any, name: z.string(), update: z.string() }),
  z.object({
    kind: z.literal("child"),
    ...ofCode,
    ...ofTask,
    workflowName: z.string().optional(),
    childInstanceId: z.string().optional(),
  }),
  z.object({
    kind: z.literal("task"),
    ...ofCode,
    ...ofTask,
    job: z.string().optional(),
    attempt: z.number().int(),
    reason: z.enum([...waitReason.options, "running"]),
    worker: z.string().optional(),
    retryAt: epochMs.optional(),
    ...ofWaitingTask,
  }),
]);

/** Waits of an instance, as part of its state. */
export const waitingFields = {
  waiting: z.array(wait).meta({ description: "What it waits for, at most 100; empty after its end." }),
  waitingTotal: z.number().int().meta({ description: "How many waits there are, listed or not." }),
  untakenEvents: z
    .array(z.object({ name: z.string(), count: z.number().int(), since: epochMs }))
    .meta({ description: "Events that came and that the code has not waited for." }),
};
