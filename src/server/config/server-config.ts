import { z } from "zod";
import { durationSecondsMax } from "../../base/time-limits.ts";
import { isNamespace } from "../../base/namespace.ts";
import { subTasksCeiling } from "../../kernel/machine.ts";

const text = z.string().min(1);
const url = z.url({ protocol: /^https?$/ });
const days = z.number().min(0);
const count = z.number().int().min(0);
const ms = z.number().positive();

/** SHA-256 of an empty text. */
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const tls = z.strictObject({ key: text, cert: text });

const namespace = z
  .string()
  .refine(isNamespace, "must be 1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end");

const token = z.strictObject({
  name: text.max(200),
  role: z.enum(["viewer", "operator", "worker", "admin"]),
  /** Binds the token to a namespace. */
  namespace: namespace.optional(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits in lower case")
    .refine((hash) => hash !== emptyHash, "is the hash of an empty text: the secret was not set when it was made"),
});

const alert = z.strictObject({
  url,
  on: z.array(z.enum(["failure", "recovery", "long-run", "stuck"])).min(1),
  workflows: z.array(text).optional(),
  template: z.enum(["generic", "slack", "dingtalk", "feishu"]).optional(),
  longRunSeconds: z.number().positive().optional(),
  secret: text.optional(),
});

const domain = z.strictObject({ size: z.number().int().min(1), priority: z.number().optional() });

const timings = z.strictObject({
  beatMs: ms.optional(),
  suspectMs: ms.optional(),
  lostMs: ms.optional(),
  stallMs: ms.optional(),
  pollMs: ms.optional(),
  pollWithoutBusMs: ms.optional(),
  callMs: ms.optional(),
  workerBeatMs: ms.optional(),
  workerLostMs: ms.optional(),
  rebalanceMs: ms.optional(),
});

const natsTls = z.strictObject({ ca: text.optional(), cert: text.optional(), key: text.optional() });

/** The options of `nats` of `heddle/nats`. */
const nats = z.strictObject({
  prefix: text.optional(),
  /** Names of files. */
  credentials: text.optional(),
  nkeySeed: text.optional(),
  tls: natsTls.optional(),
});

const storage = z.union(
  [
    text,
    z.strictObject({ databaseType: z.literal("sqlite"), url: text }),
    z.strictObject({
      databaseType: z.literal("postgresql"),
      url: z.string().regex(/^postgres(ql)?:/, "must be a postgresql:// address, as databaseType says"),
    }),
    z.strictObject({
      databaseType: z.literal("mysql"),
      url: z.string().regex(/^(mysql|mariadb):/, "must be a mysql:// address, as databaseType says"),
    }),
  ],
  {
    error:
      "must be an address, or { databaseType, url }: sqlite and a file, postgresql or mysql and an address of that kind",
  },
);

/** The settings of a server; docs/configuration.md describes them. */
export const serverConfigSchema = z.strictObject({
  host: text.default("127.0.0.1"),
  /** 0 picks a free port. */
  port: z.number().int().min(0).max(65_535).default(7411),
  /** Port of the Durable Task protocol; 0 picks a free port. Default: it is not spoken. */
  grpcPort: z.number().int().min(0).max(65_535).optional(),
  data: text.default("./.heddle"),
  /** Store address, as for `heddle/storage`. Default: a file in the data folder. */
  storage: storage.optional(),
  /** Modules that export jobs and workflows. */
  app: z.array(text).default([]),
  /** Ready-made jobs, and what they may do; as `readyMadeJobs` of `heddle/jobs`, except that without `jobs` there are none. */
  readyMade: z
    .strictObject({
      jobs: z.array(z.enum(["http", "sql", "wait-for", "file-cleanup", "shell", "script"])).default([]),
      allowShell: z.boolean().default(false),
      allowedHosts: z.array(text).optional(),
      cleanupFolders: z.array(text).optional(),
      secretVariables: z.array(text).optional(),
      secretFolders: z.array(text).optional(),
    })
    .prefault({}),
  /** Namespaces, besides `default`, in which the jobs and workflows of the modules are registered too. */
  namespaces: z.array(namespace).default([]),
  /** Folder of definition files. */
  workflows: text.optional(),
  git: z.boolean().default(false),
  /** Names of files. */
  tls: tls.optional(),
  tokens: z.array(token).default([]),
  corsOrigins: z.array(text).default([]),
  rateLimitPerSecond: z.number().positive().default(20_000),
  bodyLimitBytes: z.number().int().min(1024).default(10_551_296),
  requestTimeoutSeconds: z.number().min(1).max(3600).default(30),
  logLevel: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
  otlpUrl: url.optional(),
  alerts: z.array(alert).default([]),
  poolSize: z.number().int().min(1).max(10_000).default(10),
  /** Tags of the server's own pool, which tasks may require. */
  workerTags: z
    .array(text.max(100).regex(/^[^\s,]+$/, "must have no spaces and commas"))
    .max(100)
    .default([]),
  domains: z.record(text, domain).default({}),
  maxConcurrentTasks: z.number().int().min(1).default(5),
  /** 0 for no limit. */
  maxConcurrentActivities: z.number().int().min(0).default(0),
  /** Timeout of tasks that set none; default: 30 for tasks of builders, 3600 for nodes of files and activities. */
  defaultTimeoutSeconds: z.number().positive().max(durationSecondsMax).optional(),
  maxSubTasks: count.max(subTasksCeiling).default(1000),
  maxSteps: count.default(250_000),
  maxInterruptions: count.default(3),
  idleSeconds: z.number().positive().default(1800),
  idleMax: count.default(10_000),
  stuckSeconds: z.number().positive().default(3600),
  /** Applies to `heddle server` only; 0 for never. */
  watchdogSeconds: z
    .number()
    .refine((seconds) => seconds === 0 || seconds >= 1, "must be at least 1, or 0 for never")
    .default(300),
  /** 0 keeps them for ever. */
  retentionDays: z
    .strictObject({ Success: days.default(7), Failed: days.default(7), Terminated: days.default(7) })
    .prefault({}),
  /** 0 keeps them for ever. */
  auditRetentionDays: days.default(90),
  cluster: z
    .strictObject({
      enabled: z.boolean().default(false),
      name: text.optional(),
      shards: z.number().int().min(1).max(8192).default(128),
      remoteWorkers: z.boolean().default(true),
      /** Default: notify on PostgreSQL, otherwise poll. */
      bus: z
        .string()
        .regex(/^(notify|poll|(nats|tls):\/\/.+)$/, "must be notify, poll, or the address of a NATS server, nats://…")
        .optional(),
      nats: nats.optional(),
      /** Defaults are in `cluster/timings.ts`. */
      timings: timings.optional(),
    })
    .prefault({}),
  /** Without `worker`, no task runs in this process. */
  roles: z
    .array(z.enum(["server", "worker"]))
    .min(1)
    .default(["server", "worker"]),
  drainSeconds: z.number().min(0).default(10),
});

/** The complete configuration of a server. */
export type ServerConfig = Readonly<Omit<z.output<typeof serverConfigSchema>, "storage">> & {
  /** Store address. */
  readonly storage: string;
};

/** A configuration without defaults. */
export type GivenConfig = z.input<typeof serverConfigSchema>;
