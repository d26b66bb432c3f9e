/** Parser for the text of a variable or flag. */
export type KeyKind = "text" | "path" | "number" | "switch" | "list" | "paths" | "json";

/** Every configuration key, as written in a file. */
export const configKeys = {
  host: "text",
  port: "number",
  grpcPort: "number",
  data: "path",
  storage: "text",
  app: "paths",
  "readyMade.jobs": "list",
  "readyMade.allowShell": "switch",
  "readyMade.allowedHosts": "list",
  "readyMade.cleanupFolders": "paths",
  "readyMade.secretVariables": "list",
  "readyMade.secretFolders": "paths",
  namespaces: "list",
  workflows: "path",
  git: "switch",
  "tls.key": "path",
  "tls.cert": "path",
  tokens: "json",
  corsOrigins: "list",
  rateLimitPerSecond: "number",
  bodyLimitBytes: "number",
  requestTimeoutSeconds: "number",
  logLevel: "text",
  otlpUrl: "text",
  alerts: "json",
  poolSize: "number",
  workerTags: "list",
  domains: "json",
  maxConcurrentTasks: "number",
  maxConcurrentActivities: "number",
  defaultTimeoutSeconds: "number",
  maxSubTasks: "number",
  maxSteps: "number",
  maxInterruptions: "number",
  idleSeconds: "number",
  idleMax: "number",
  stuckSeconds: "number",
  watchdogSeconds: "number",
  "retentionDays.Success": "number",
  "retentionDays.Failed": "number",
  "retentionDays.Terminated": "number",
  auditRetentionDays: "number",
  "cluster.enabled": "switch",
  "cluster.name": "text",
  "cluster.shards": "number",
  "cluster.remoteWorkers": "switch",
  "cluster.bus": "text",
  "cluster.nats.prefix": "text",
  "cluster.nats.credentials": "path",
  "cluster.nats.nkeySeed": "path",
  "cluster.nats.tls.ca": "path",
  "cluster.nats.tls.cert": "path",
  "cluster.nats.tls.key": "path",
  "cluster.timings": "json",
  roles: "list",
  drainSeconds: "number",
} as const satisfies Record<string, KeyKind>;

export type ConfigKey = keyof typeof configKeys;

export const keyNames = Object.keys(configKeys) as ConfigKey[];

/** `cluster.remoteWorkers` → `HEDDLE_CLUSTER_REMOTE_WORKERS`. */
export function variableOf(key: ConfigKey): string {
  return `HEDDLE_${inWords(key, "_").toUpperCase()}`;
}

/** `cluster.remoteWorkers` → `--cluster-remote-workers`. */
export function flagOf(key: ConfigKey): string {
  return `--${inWords(key, "-")}`;
}

function inWords(key: ConfigKey, between: string): string {
  return key
    .replaceAll(/[a-z][A-Z]/g, ([before, after]) => `${before ?? ""}.${after ?? ""}`)
    .replaceAll(".", between)
    .toLowerCase();
}
