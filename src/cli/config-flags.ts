import { type Command, Option } from "commander";
import { type ConfigKey, configKeys, flagOf, keyNames, variableOf } from "../server/config/config-key.ts";

const said: Readonly<Record<ConfigKey, string>> = {
  host: "the address to listen on",
  port: "the port to listen on; 0 takes any",
  data: "the folder for what the server keeps",
  storage: "sqlite:<file>, postgresql://… or mysql://…",
  app: "modules that export jobs and workflows",
  workflows: "the folder of definitions as files",
  git: "each save a git commit",
  "tls.key": "the file of the private key",
  "tls.cert": "the file of the certificate",
  tokens: "tokens that are let in, as JSON",
  corsOrigins: "web pages of these origins may call",
  rateLimitPerSecond: "requests of one token in a second",
  bodyLimitBytes: "the largest request",
  requestTimeoutSeconds: "how long a request may take to arrive, and to be answered",
  logLevel: "debug, info, warn, error or silent",
  otlpUrl: "where traces go",
  alerts: "webhooks that are called, as JSON",
  poolSize: "tasks that run at once in this process",
  domains: "parts of the pool, as JSON",
  maxConcurrentActivities: "activities of one code instance that run at a time; 0 for no limit",
  defaultTimeoutSeconds: "of an attempt whose task does not say",
  maxSubTasks: "sub-tasks that one task may generate",
  maxSteps: "steps of code before it has to continue as new",
  maxInterruptions: "losses of an attempt before it fails",
  idleSeconds: "idle instances leave memory after this long",
  idleMax: "how many idle instances stay in memory",
  stuckSeconds: "instances without progress for this long are reported",
  watchdogSeconds: "heddle server ends its process when the event loop is blocked for this long; 0 for never",
  maxConcurrentTasks: "tasks of one DAG instance that run at a time",
  "retentionDays.Success": "how long instances are kept; 0 for ever",
  "retentionDays.Failed": "the same for failed ones",
  "retentionDays.Terminated": "the same for terminated ones",
  auditRetentionDays: "how long lines of the audit log are kept; 0 for ever",
  "cluster.enabled": "one of several servers on the same store",
  "cluster.name": "how this one is called",
  "cluster.shards": "parts of the work; fixed with the store's first member",
  "cluster.remoteWorkers": "heddle worker may connect",
  "cluster.timings": "how patient members are with each other, as JSON",
  roles: "server, worker, or both",
  drainSeconds: "how long running tasks may take to end on a stop",
};

/** Every setting as a flag. */
export function withConfigFlags(command: Command): Command {
  command.option("--config <file>", "default: heddle.config.json, if it is there");
  for (const key of keyNames) command.addOption(optionOf(key));
  return command;
}

/** What was said on the command line. */
export function flagsGiven(options: Readonly<Record<string, unknown>>): Partial<Record<ConfigKey, string>> {
  const given: Partial<Record<ConfigKey, string>> = {};
  for (const key of keyNames) {
    const value = options[optionOf(key).attributeName()];
    // A switch needs no value.
    if (value !== undefined) given[key] = value === true ? "true" : (value as string);
  }
  return given;
}

function optionOf(key: ConfigKey): Option {
  const value = configKeys[key] === "switch" ? "[true|false]" : "<value>";
  return new Option(`${flagOf(key)} ${value}`, `${said[key]} (${variableOf(key)})`);
}
