import { type Command, Option } from "commander";
import { type ConfigKey, configKeys, flagOf, keyNames, variableOf } from "../server/config/config-key.ts";
import type { ServerConfig } from "../server/config/server-config.ts";

const descriptions: Readonly<Record<ConfigKey, string>> = {
  host: "listen address",
  port: "listen port; 0 picks a free one",
  grpcPort: "port of the Durable Task protocol, usually 4001; default: it is not spoken",
  data: "data folder",
  storage: "sqlite:<file>, postgresql://… or mysql://…",
  app: "modules that export jobs and workflows",
  "readyMade.jobs": "ready-made jobs: http, sql, wait-for, file-cleanup, shell, script",
  "readyMade.allowShell": "allow shell and script: whoever may save a workflow can then run commands",
  "readyMade.allowedHosts": "hosts that ready-made jobs may connect to; default: all",
  "readyMade.cleanupFolders": "folders in which file-cleanup may delete",
  "readyMade.secretVariables": "variables that ready-made jobs may use as secrets; default: HEDDLE_SECRET_*",
  "readyMade.secretFolders": "folders of files that ready-made jobs may use as secrets; default: /run/secrets",
  namespaces: "namespaces, besides default, in which the jobs and workflows of the modules are registered too",
  workflows: "folder of definition files",
  git: "commit each saved definition to git",
  "tls.key": "TLS private key file",
  "tls.cert": "TLS certificate file",
  tokens: "API tokens, as JSON",
  corsOrigins: "allowed CORS origins",
  rateLimitPerSecond: "rate limit: requests per second and token",
  bodyLimitBytes: "maximum request body size",
  requestTimeoutSeconds: "timeout for receiving and for answering a request",
  logLevel: "debug, info, warn, error or silent",
  otlpUrl: "OTLP endpoint for traces",
  alerts: "alert webhooks, as JSON",
  poolSize: "maximum number of tasks at a time in this process",
  workerTags: "tags of this process's pool, which tasks may require",
  domains: "domains of the pool, as JSON",
  maxConcurrentActivities: "concurrent activities of one code instance; 0 for no limit",
  defaultTimeoutSeconds: "timeout of attempts whose task sets none",
  maxSubTasks: "maximum number of sub-tasks of one task",
  maxSteps: "maximum steps of a code workflow before it must continue as new",
  maxInterruptions: "process losses that an attempt survives before it fails",
  idleSeconds: "seconds after which idle instances are evicted from memory",
  idleMax: "maximum number of idle instances in memory",
  stuckSeconds: "seconds without progress after which an instance is reported as stuck",
  watchdogSeconds: "seconds of a blocked event loop after which heddle server ends its process; 0 for never",
  maxConcurrentTasks: "concurrent tasks of one DAG instance",
  "retentionDays.Success": "retention of succeeded instances; 0 keeps them for ever",
  "retentionDays.Failed": "retention of failed instances",
  "retentionDays.Terminated": "retention of terminated instances",
  auditRetentionDays: "retention of the audit log; 0 keeps it for ever",
  "cluster.enabled": "run as one of several members on the same store",
  "cluster.name": "name of this member",
  "cluster.shards": "number of shards; fixed by the first member on a store",
  "cluster.remoteWorkers": "accept remote workers",
  "cluster.bus": "messages between members: notify, poll, or nats://host:4222",
  "cluster.nats.prefix": "first part of NATS subjects; each cluster on a NATS server has its own",
  "cluster.nats.credentials": "credentials file of a NATS user (.creds)",
  "cluster.nats.nkeySeed": "file with the seed of a NATS nkey",
  "cluster.nats.tls.ca": "certificate authority file for NATS",
  "cluster.nats.tls.cert": "client certificate file for NATS",
  "cluster.nats.tls.key": "client private key file for NATS",
  "cluster.timings": "heartbeat, lease and polling intervals, as JSON",
  roles: "server, worker, or both",
  drainSeconds: "grace period for running tasks on shutdown",
};

/** Adds a flag for every setting. */
export function withConfigFlags(command: Command): Command {
  command.option("--config <file>", "configuration file; default: heddle.config.json, if it exists");
  for (const key of keyNames) command.addOption(optionOf(key));
  return command;
}

/** Collects the settings given on the command line. */
export function flagsGiven(
  options: Readonly<Record<string, unknown>>,
  keys: readonly ConfigKey[] = keyNames,
): Partial<Record<ConfigKey, string>> {
  const given: Partial<Record<ConfigKey, string>> = {};
  for (const key of keys) {
    const value = options[optionOf(key).attributeName()];
    // A switch without a value means true.
    if (value !== undefined) given[key] = value === true ? "true" : (value as string);
  }
  return given;
}

function optionOf(key: ConfigKey): Option {
  const value = configKeys[key] === "switch" ? "[true|false]" : "<value>";
  return new Option(`${flagOf(key)} ${value}`, `${descriptions[key]} (${variableOf(key)})`);
}

const readyMadeKeys = keyNames.filter((key) => key.startsWith("readyMade."));

/** Adds the flags of ready-made jobs to a command that has no configuration file. */
export function withReadyMadeFlags(command: Command): Command {
  for (const key of readyMadeKeys) command.addOption(optionOf(key));
  return command;
}

/** The settings of ready-made jobs, from flags and variables. `OPTION_INVALID`. */
export async function readyMadeGiven(options: Readonly<Record<string, unknown>>): Promise<ServerConfig["readyMade"]> {
  const { loadConfig } = await import("../server/config/load-config.ts");
  const variables = readyMadeKeys.map(variableOf);
  const environment = Object.fromEntries(variables.map((name) => [name, process.env[name]]));
  const { readyMade } = loadConfig({ flags: flagsGiven(options, readyMadeKeys), environment, file: null });
  return readyMade;
}
