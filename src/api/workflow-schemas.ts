import { z } from "zod";
import { app, epochMs, json, name, newId } from "./common-schemas.ts";

/** A definition with PowerJob's field names; unknown fields are kept. */
export const dagSpec = z
  .looseObject({
    nodes: z.array(z.looseObject({ nodeId: z.union([z.number(), z.string()]) })),
    edges: z
      .array(
        z.looseObject({
          from: z.union([z.number(), z.string()]),
          to: z.union([z.number(), z.string()]),
          property: z.string().optional(),
          enable: z.boolean().optional(),
        }),
      )
      .optional(),
  })
  .meta({ description: "Points and lines, as PowerJob writes them." });

const cronExpr = z.string().max(200).meta({ description: "Five fields as in Unix, or six or seven as in Quartz." });
const timeZone = z.string().max(100).meta({ description: "An IANA name; default the server's own." });

const policies = {
  overlap: z
    .enum(["skip", "queue", "allow", "cancel-previous"])
    .nullable()
    .optional()
    .meta({ description: "While a run has not ended, what becomes of the next; null or nothing for skip." }),
  misfire: z.enum(["once", "all", "none"]).nullable().optional().meta({
    description: "Which of the due times that passed while no server ran are made up for; null or nothing for once.",
  }),
};

export const newWorkflow = z.object({
  name,
  dagSpec,
  cronExpr: cronExpr.optional(),
  timeZone: timeZone.optional(),
  ...policies,
  enableSchedule: z.boolean().default(false),
});

export const changedWorkflow = z.object({
  dagSpec: dagSpec.optional(),
  cronExpr: cronExpr.nullable().optional(),
  timeZone: timeZone.optional(),
  ...policies,
  enableSchedule: z.boolean().optional(),
  ifVersion: z
    .string()
    .optional()
    .meta({ description: "Refused with VERSION_CHANGED if the saved version is another one." }),
});

export const workflowToCheck = z.object({ name, dagSpec });

export const checkedWorkflow = z.object({
  problems: z.array(
    z.object({
      code: z.string(),
      message: z.string(),
      task: z.string().optional().meta({ description: "The name of the task; missing for the workflow as a whole." }),
      mayStillCome: z.boolean().meta({
        description: "True for a job, domain or workflow that is not known yet: it can be saved, but not started.",
      }),
    }),
  ),
});

export const workflowSchedule = z.object({
  cronExpr: cronExpr.optional(),
  timeZone: timeZone.optional(),
  ...policies,
  enable: z.boolean(),
});

export const workflowSummary = z.object({
  id: z.string(),
  name: z.string(),
  kind: z.enum(["dag", "code"]),
  version: z.string(),
  origin: z
    .enum(["catalogue", "code", "worker"])
    .meta({ description: "Saved here, part of the server's program, or code that only workers have." }),
  cronExpr: z.string().nullable(),
  enableSchedule: z.boolean(),
  nodes: z.number().int().nullable(),
  updatedAt: epochMs.nullable(),
  updatedBy: z.string().nullable(),
});

export const workflowDetail = workflowSummary.extend({
  dagSpec: dagSpec.nullable(),
  inputSchema: z
    .record(z.string(), json)
    .nullable()
    .meta({ description: "The JSON Schema of its input; null for DAGs, and for code that declares none." }),
  timeZone: z.string().nullable(),
  overlap: z.string().nullable(),
  misfire: z.string().nullable(),
  createdAt: epochMs.nullable(),
  nextFireTimes: z.array(epochMs),
  warning: z
    .string()
    .nullable()
    .meta({ description: "What is wrong with it by now: it is not in force as it was saved, or its file is broken." }),
});

export const savedWorkflow = z.object({
  id: z.string(),
  name: z.string(),
  version: z.string(),
  warning: z.string().nullable(),
});

export const workflowVersion = z.object({
  version: z.string(),
  at: epochMs,
  by: z.string().nullable(),
  operation: z.string(),
  isCurrent: z.boolean(),
});

export const workflowDiff = z.object({
  from: z.string(),
  to: z.string(),
  changes: z.array(
    z.object({
      op: z.enum(["added", "removed", "changed"]),
      path: z.string(),
      before: json.optional(),
      after: json.optional(),
    }),
  ),
});

export const startQuery = z.object({
  instanceId: newId.optional(),
  app: app.optional(),
  maxConcurrentTasks: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .meta({ description: "Tasks of a DAG instance that run at a time." }),
});

export const startRequest = json;
export const started = z.object({ instanceId: z.string() });
