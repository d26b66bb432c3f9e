import { SettingCheck } from "../authoring/setting-check.ts";
import { checkRetryPolicy } from "../authoring/task-builder.ts";
import type { ActivityOptions, ChildOptions } from "../authoring/workflow-context.ts";
import { EngineError } from "../base/error.ts";
import { shown } from "../base/shown.ts";

// What the code of workflows, and clients without a compiler, may get wrong. All throw OPTION_INVALID.

export function checkActivity(activity: string, options: ActivityOptions<never>): void {
  const check = new SettingCheck("OPTION_INVALID", `activity ${shown(activity)}`);
  check.object("its options", options);
  const { name, timeoutSeconds, domain, undo } = options;
  if (name !== undefined) check.name("name", name);
  if (timeoutSeconds !== undefined) check.seconds("timeoutSeconds", timeoutSeconds);
  if (domain !== undefined) check.name("domain", domain);
  if (undo !== undefined) checkHandler("undo", undo);
  checkRetries(check, options);
}

export function checkChild(workflow: string, options: ChildOptions): void {
  const check = new SettingCheck("OPTION_INVALID", `child workflow ${shown(workflow)}`);
  check.object("its options", options);
  const { instanceId, whenParentEnds } = options;
  if (instanceId !== undefined) check.name("instanceId", instanceId);
  if (whenParentEnds !== undefined) check.oneOf("whenParentEnds", whenParentEnds, ["terminate", "cancel", "leave"]);
  checkRetries(check, options);
}

function checkRetries(check: SettingCheck, { retryCount, retryPolicy }: ChildOptions): void {
  if (retryCount !== undefined) check.wholeNumber("retryCount", retryCount, 0);
  if (retryPolicy !== undefined) checkRetryPolicy(check, retryPolicy);
}

export function checkName(what: string, name: unknown): void {
  if (typeof name === "string" && name !== "") return;
  throw new EngineError("OPTION_INVALID", `the name of ${what} must be text, not empty, got ${shown(name)}`);
}

export function checkHandler(what: string, handler: unknown): void {
  if (typeof handler === "function") return;
  throw new EngineError("OPTION_INVALID", `${what} takes a function to call, got ${shown(handler)}`);
}
