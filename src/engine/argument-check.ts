import { SettingCheck } from "../authoring/setting-check.ts";
import { preview } from "../base/preview.ts";
import { EngineError } from "../base/error.ts";
import { refuseMark } from "../base/namespace.ts";
import type { EndStatus, InstanceStatus, TaskStatus } from "../kernel/status.ts";
import type { InstanceFilter } from "../stores/store.ts";
import type { ItemFilter } from "../views/item-view.ts";
import { noOptions } from "./start-options.ts";
import type { PauseOptions, RaisedData, RunJobOptions, StartOptions, SubmitOptions } from "./start-options.ts";

const instanceIdLengthMax = 512;
const endStatuses: readonly EndStatus[] = ["Success", "Failed", "Terminated"];
const instanceStatuses: readonly InstanceStatus[] = ["Ready", "Running", "Paused", ...endStatuses];

const taskStatuses: readonly TaskStatus[] = [
  "Pending",
  "Running",
  "Success",
  "Failed",
  "TimeoutFailed",
  "Stopped",
  "Skipped",
  "Canceled",
];

/** Checks the arguments of the engine's methods, for callers without a compiler. All throw `OPTION_INVALID`. */
export function checkInstanceId(instanceId: unknown): void {
  if (typeof instanceId !== "string" || instanceId === "")
    throw invalid(`an instance id is text, not empty, got ${preview(instanceId)}`);
  refuseMark("an instance id", instanceId);
}

export function checkSubmitOptions(options: SubmitOptions): void {
  if (options === noOptions) return;
  const check = new SettingCheck("OPTION_INVALID", "submitWorkflow");
  check.options(options, submitNames);
  if (options.reuse !== undefined) check.flag("reuse", options.reuse);
  if (options.instanceId !== undefined) checkGivenId("submitWorkflow", options.instanceId);
  if (options.app !== undefined) check.name("app", options.app);
  if (options.maxConcurrentTasks !== undefined) check.wholeNumber("maxConcurrentTasks", options.maxConcurrentTasks, 1);
}

const submitNames = {
  instanceId: true,
  reuse: true,
  params: true,
  maxConcurrentTasks: true,
  traceparent: true,
  app: true,
} as const;

export function checkRunJobOptions(options: RunJobOptions): void {
  const check = new SettingCheck("OPTION_INVALID", "runJob");
  check.options(options, runJobNames);
  if (options.reuse !== undefined) check.flag("reuse", options.reuse);
  if (options.instanceId !== undefined) checkGivenId("runJob", options.instanceId);
  if (options.app !== undefined) check.name("app", options.app);
  if (options.context !== undefined) check.object("context", options.context);
}

const runJobNames = {
  instanceId: true,
  reuse: true,
  timeoutSeconds: true,
  heartbeatTimeoutSeconds: true,
  retryCount: true,
  retryPolicy: true,
  domain: true,
  workerTags: true,
  worker: true,
  context: true,
  traceparent: true,
  app: true,
} as const;

export function checkStartOptions(options: StartOptions): void {
  const check = new SettingCheck("OPTION_INVALID", "startWorkflow");
  check.options(options, { instanceId: true, reuse: true, whenActive: true, traceparent: true, app: true });
  const { reuse, whenActive, app } = options;
  if (app !== undefined) check.name("app", app);
  if (reuse !== undefined && typeof reuse !== "boolean") check.oneOf("reuse", reuse, ["unless-succeeded"]);
  if (whenActive !== undefined) check.oneOf("whenActive", whenActive, ["refuse", "use", "terminate"]);
}

export function checkSignal(options: {
  readonly instanceId: string;
  readonly input?: unknown;
  readonly event: RaisedData;
}): void {
  const check = new SettingCheck("OPTION_INVALID", "signalWithStart");
  check.options(options, { instanceId: true, input: true, event: true });
  check.options(options.event, { name: true, data: true }, "the parts of its event");
  check.name("event.name", options.event.name);
}

/** Checks the id of a new instance. Ids of nested instances are derived from it and may be longer. */
export function checkGivenId(method: string, instanceId: unknown): void {
  checkInstanceId(instanceId);
  const { length } = String(instanceId);
  if (length > instanceIdLengthMax) {
    throw invalid(`${method}: instanceId may have ${instanceIdLengthMax} characters, got ${length}`);
  }
}

export function checkFork(options: { readonly fromTask?: unknown; readonly instanceId?: unknown }): void {
  const check = new SettingCheck("OPTION_INVALID", "forkWorkflowInstance");
  check.options(options, { fromTask: true, instanceId: true });
  check.wholeNumber("fromTask", options.fromTask, 0);
  if (options.instanceId !== undefined) checkGivenId("forkWorkflowInstance", options.instanceId);
}

export function checkUpdateOptions(options: { readonly updateId?: unknown }): void {
  new SettingCheck("OPTION_INVALID", "updateWorkflowInstance").options(options, { updateId: true });
}

export function checkUpdateId(updateId: unknown): void {
  if (typeof updateId !== "string" || updateId === "")
    throw invalid(`an updateId is text, not empty, got ${preview(updateId)}`);
}

export function checkPatch(patch: unknown): void {
  new SettingCheck("OPTION_INVALID", "updateContext").object("the patch", patch);
}

export function checkReason(reason: unknown): void {
  if (typeof reason !== "string") throw invalid(`the reason must be text, got ${preview(reason)}`);
}

export function checkPauseOptions(options: PauseOptions): void {
  const check = new SettingCheck("OPTION_INVALID", "pauseWorkflowInstance");
  check.options(options, { by: true, reason: true });
  if (options.by !== undefined) check.name("by", options.by);
  if (options.reason !== undefined) checkReason(options.reason);
}

/** Checks a task given by its name or its number within the instance. */
export function checkTask(task: unknown): void {
  if (typeof task === "string" && task !== "") return;
  if (typeof task === "number" && Number.isSafeInteger(task) && task >= 0) return;
  throw invalid(`a task is given by its name or its number, got ${preview(task)}`);
}

export function checkStopOptions(options: { readonly reason?: string }): void {
  const check = new SettingCheck("OPTION_INVALID", "stopTask");
  check.options(options, { reason: true });
  if (options.reason !== undefined && typeof options.reason !== "string") {
    throw invalid(`the reason to stop a task must be text, got ${preview(options.reason)}`);
  }
}

export function checkListener(method: string, listener: unknown): void {
  if (typeof listener !== "function") throw invalid(`${method} takes a function to call, got ${preview(listener)}`);
}

const filterNames = {
  status: true,
  workflow: true,
  idPrefix: true,
  app: true,
  resumable: true,
  createdFrom: true,
  createdTo: true,
  before: true,
  limit: true,
} as const;

export function checkFilter(filter: Partial<InstanceFilter>): void {
  const check = new SettingCheck("OPTION_INVALID", "listWorkflowInstances");
  check.options(filter, filterNames, "the parts of the filter");
  const { status, limit, before, createdFrom, createdTo } = filter;
  if (status !== undefined) {
    check.texts("status", status);
    for (const each of status) check.oneOf("status", each, instanceStatuses);
  }
  for (const [name, text] of Object.entries({
    workflow: filter.workflow,
    idPrefix: filter.idPrefix,
    app: filter.app,
  })) {
    if (text !== undefined && typeof text !== "string") check.refuse(`${name} must be text, got ${preview(text)}`);
  }
  if (filter.resumable !== undefined) check.flag("resumable", filter.resumable);
  if (limit !== undefined) check.wholeNumber("limit", limit, 1);
  if (before !== undefined) checkPlace(check, before);
  for (const [name, number] of Object.entries({ createdFrom, createdTo })) {
    if (number !== undefined) check.numberWithin(name, number, { min: 0, max: Number.MAX_VALUE });
  }
}

export function checkQueueFilter(filter: { readonly state?: unknown; readonly limit?: unknown }): void {
  const check = new SettingCheck("OPTION_INVALID", "listQueuedTasks");
  check.options(filter, { state: true, limit: true }, "the parts of the filter");
  if (filter.state !== undefined) check.oneOf("state", filter.state, ["waiting", "running"]);
  if (filter.limit !== undefined) check.wholeNumber("limit", filter.limit, 1);
}

/** A cursor: the last item of the page before. */
function checkPlace(check: SettingCheck, place: unknown): void {
  check.object("before", place);
  const { createdAt, key } = place as { createdAt?: unknown; key?: unknown };
  check.numberWithin("before.createdAt", createdAt, { min: 0, max: Number.MAX_VALUE });
  check.wholeNumber("before.key", key, 0);
}

export function checkPage(page: { readonly afterTurn?: unknown; readonly limit?: unknown }): void {
  const check = new SettingCheck("OPTION_INVALID", "getWorkflowInstanceHistory");
  check.options(page, { afterTurn: true, limit: true }, "the parts of the page");
  if (page.afterTurn !== undefined) check.wholeNumber("afterTurn", page.afterTurn, -1);
  if (page.limit !== undefined) check.wholeNumber("limit", page.limit, 1);
}

export function checkItemPage(page: Partial<ItemFilter>): void {
  const check = new SettingCheck("OPTION_INVALID", "listMapItems");
  check.options(page, { status: true, from: true, limit: true }, "the parts of the page");
  const statuses: readonly unknown[] = page.status === undefined ? [] : [page.status].flat();
  for (const status of statuses) check.oneOf("status", status, taskStatuses);
  if (page.from !== undefined) check.wholeNumber("from", page.from, 0);
  if (page.limit !== undefined) check.numberWithin("limit", page.limit, { min: 1, max: 1000 });
}

export function checkPurge(which: object): void {
  const check = new SettingCheck("OPTION_INVALID", "purgeWorkflowInstances");
  check.object("what to purge", which);
  const given: Readonly<Record<string, unknown>> = { ...which };
  if ("status" in given) {
    check.options(given, { status: true, endedBefore: true });
    check.oneOf("status", given["status"], endStatuses);
    return check.numberWithin("endedBefore", given["endedBefore"], { min: 0, max: Number.MAX_VALUE });
  }
  check.options(given, { instanceId: true, recursive: true, onPurged: true });
  checkInstanceId(given["instanceId"]);
  if (given["recursive"] !== undefined) check.flag("recursive", given["recursive"]);
  if (given["onPurged"] !== undefined) checkListener("onPurged of purgeWorkflowInstances", given["onPurged"]);
}

export function checkRerun(options: { readonly params?: unknown }): void {
  new SettingCheck("OPTION_INVALID", "rerunWorkflowInstance").options(options, { params: true });
}

export function checkSubscription(
  listener: unknown,
  options: { readonly instanceId?: unknown; readonly scope?: unknown },
): void {
  checkListener("subscribe", listener);
  new SettingCheck("OPTION_INVALID", "subscribe").options(options, { instanceId: true, scope: true });
  const { scope } = options;
  if (scope !== undefined && scope !== "cluster" && scope !== "process") {
    throw invalid(`scope of subscribe must be "cluster" or "process", not ${preview(scope)}`);
  }
  if (options.instanceId !== undefined) checkInstanceId(options.instanceId);
}

function invalid(message: string): EngineError {
  return new EngineError("OPTION_INVALID", message);
}
