import { z } from "zod";
import { app, epochMs, name, newId, newName } from "./common-schemas.ts";

export const member = z.object({
  address: z.string(),
  status: z.string(),
  roles: z.array(z.string()),
  version: z.string().meta({ description: "The version of Heddle that it runs; empty until it has told it." }),
  isLeader: z.boolean(),
});

export const clusterStatus = z.object({
  selfAddress: z.string(),
  leader: z.string().nullable().meta({ description: "The oldest member; it has no special duties." }),
  totalMembers: z.number().int(),
  upMembers: z.number().int(),
  workerCount: z.number().int(),
  members: z.array(member),
});

export const worker = z.object({
  address: z.string(),
  status: z
    .string()
    .meta({ description: "`up`, `draining`, or `unreachable`: it has missed a beat or its link is closed." }),
  isLeader: z.boolean(),
  member: z.string().meta({ description: "The member that it is connected to; the pool of a member has its address." }),
  runningTasks: z.number().int(),
  slots: z.number().int().meta({ description: "How many tasks it runs at once." }),
  lastHeardAt: epochMs.nullable().meta({ description: "Its last sign of life; null for the server's own pool." }),
  jobs: z.array(z.string()).meta({ description: "Ids of the jobs that it has." }),
  tags: z.array(z.string()).meta({ description: "Its tags, which tasks may require." }),
  workflows: z
    .array(z.object({ name: z.string(), version: z.string() }))
    .meta({ description: "The workflows whose code a remote worker has; none for the server's own pool." }),
});

export const clusterTopology = z.object({
  leader: z.string().nullable(),
  nodes: z.array(
    z.object({
      id: z.string(),
      status: z.string(),
      kind: z.enum(["server", "worker"]),
      runningTasks: z.number().int(),
    }),
  ),
  links: z.array(z.object({ from: z.string(), to: z.string() })),
});

export const drainRequest = z.object({ worker: name.optional() }).default({});
export const taskCount = z.object({ count: z.number().int() });

export const job = z.object({
  id: z.string(),
  name: z.string(),
  signature: z.string(),
  parameters: z.unknown(),
  codePath: z.string().optional().meta({ description: "The module and export that hold it, where they are known." }),
  sourceHash: z.string().meta({ description: "Of its source text: another hash means that the code has changed." }),
  description: z.string().optional(),
  origin: z
    .enum(["server", "worker"])
    .meta({ description: "`worker`: no server has its function; workers have announced it." }),
  isHere: z.boolean(),
  missing: z.boolean(),
  createdAt: epochMs,
  updatedAt: epochMs,
});

export const jobRunQuery = z.object({ instanceId: newId.optional(), app: app.optional() });

export const domain = z.object({
  domain: z.string(),
  size: z.number().int(),
  priority: z.number(),
  running: z.number().int(),
  waiting: z.number().int(),
});
export const domainSize = z.object({
  size: z.number().int().min(1).max(10_000),
  priority: z.number().int().min(-1_000_000).max(1_000_000).optional(),
});
export const poolSize = z.object({ poolSize: z.number().int().min(1).max(10_000) });
export const executor = z.object({
  poolSize: z.number().int().meta({ description: "With the slots of the workers that are connected." }),
  workerSlots: z.number().int().meta({ description: "The slots of the workers that are connected." }),
  runningTasks: z.number().int(),
  waitingTasks: z.number().int(),
});
export const ofName = z.object({ name });
export const ofNewName = z.object({ name: newName });
