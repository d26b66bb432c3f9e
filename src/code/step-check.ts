import { SettingCheck } from "../authoring/setting-check.ts";
import { checkRetryPolicy } from "../authoring/task-builder.ts";
import type { ActivityOptions, ChildOptions, EventOptions, UpdateOptions } from "../authoring/workflow-context.ts";
import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { refuseMark } from "../base/namespace.ts";

// Checks what the code of workflows, and clients without a compiler, may get wrong. All throw OPTION_INVALID.

const activityNames = {
  name: true,
  timeoutSeconds: true,
  heartbeatTimeoutSeconds: true,
  retryCount: true,
  retryPolicy: true,
  domain: true,
  workerTags: true,
  worker: true,
  undo: true,
} as const;

const childNames = { whenParentEnds: true, instanceId: true, retryCount: true, retryPolicy: true } as const;

export function checkActivity(activity: string, options: ActivityOptions<never>): void {
  const check = new SettingCheck("OPTION_INVALID", `activity ${preview(activity)}`);
  check.options(options, activityNames);
  const { name, timeoutSeconds, heartbeatTimeoutSeconds, domain, workerTags, worker, undo } = options;
  if (name !== undefined) check.name("name", name);
  if (timeoutSeconds !== undefined) check.seconds("timeoutSeconds", timeoutSeconds);
  if (heartbeatTimeoutSeconds !== undefined) check.seconds("heartbeatTimeoutSeconds", heartbeatTimeoutSeconds);
  if (domain !== undefined) check.name("domain", domain);
  if (workerTags !== undefined) check.names("workerTags", workerTags);
  if (worker !== undefined) check.name("worker", worker);
  if (undo !== undefined) checkHandler("undo", undo);
  checkRetries(check, options);
}

export function checkMap(activity: string, items: unknown, concurrency: unknown): void {
  const check = new SettingCheck("OPTION_INVALID", `the map of activity ${preview(activity)}`);
  if (!Array.isArray(items)) check.refuse(`items must be a list, got ${preview(items)}`);
  check.wholeNumber("concurrency", concurrency, 1);
}

export function checkChild(workflow: string, options: ChildOptions): void {
  const check = new SettingCheck("OPTION_INVALID", `child workflow ${preview(workflow)}`);
  check.options(options, childNames);
  const { instanceId, whenParentEnds } = options;
  if (instanceId !== undefined) check.name("instanceId", instanceId);
  refuseMark("an instance id", instanceId);
  if (whenParentEnds !== undefined) check.oneOf("whenParentEnds", whenParentEnds, ["terminate", "cancel", "leave"]);
  checkRetries(check, options);
}

export function checkEventWait(event: string, options: EventOptions<never>): void {
  const check = new SettingCheck("OPTION_INVALID", `the wait for event ${preview(event)}`);
  check.options(options, { timeoutMs: true, schema: true });
}

export function checkContinue(options: { readonly keepEvents?: boolean }): void {
  const check = new SettingCheck("OPTION_INVALID", "continueAsNew");
  check.options(options, { keepEvents: true });
  if (options.keepEvents !== undefined) check.flag("keepEvents", options.keepEvents);
}

export function checkUpdateHandler(name: string, handler: unknown): void {
  if (typeof handler !== "object" || handler === null) return checkHandler("onUpdate", handler);
  const options = handler as UpdateOptions<never, never>;
  const check = new SettingCheck("OPTION_INVALID", `update ${preview(name)}`);
  check.options(options, { input: true, validate: true, handler: true });
  checkHandler("onUpdate", options.handler);
}

function checkRetries(check: SettingCheck, { retryCount, retryPolicy }: ChildOptions): void {
  if (retryCount !== undefined) check.wholeNumber("retryCount", retryCount, 0);
  if (retryPolicy !== undefined) checkRetryPolicy(check, retryPolicy);
}

export function checkName(what: string, name: unknown): void {
  if (typeof name === "string" && name !== "") return;
  throw new EngineError("OPTION_INVALID", `the name of ${what} must be text, not empty, got ${preview(name)}`);
}

export function checkHandler(what: string, handler: unknown): void {
  if (typeof handler === "function") return;
  throw new EngineError("OPTION_INVALID", `${what} takes a function to call, got ${preview(handler)}`);
}
