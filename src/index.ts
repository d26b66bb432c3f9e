/**
 * The engine, the builders of DAGs, code workflows and jobs, and the types of what they take and return.
 *
 * ```ts
 * import { defineJob, Engine, TaskBuilder, WorkflowBuilder } from "heddle";
 * import { sqlite } from "heddle/sqlite";
 *
 * const greet = defineJob("greet", async ({ name }: { name: string }) => `hello ${name}`);
 * const engine = new Engine({ storage: sqlite("./heddle.db"), jobs: [greet] });
 * await engine.start();
 * const hello = new WorkflowBuilder()
 *   .withName("hello")
 *   .withTask(new TaskBuilder("greet").withJobFunction(greet, { name: "Ada" }))
 *   .build();
 * console.log(await (await engine.submitWorkflow(hello)).result());
 * ```
 */

// Authoring
export { defineWorkflow } from "./authoring/code-workflow.ts";
export type {
  CodeMaxInstances,
  CodeWorkflow,
  WorkflowFunction,
  WorkflowOptions,
  WorkflowOptionsWithInput,
} from "./authoring/code-workflow.ts";
export { defineJob } from "./authoring/job.ts";
export type {
  Isolation,
  Job,
  CompleteLaterOptions,
  JobContext,
  MapResult,
  ProgressReport,
  JobFunction,
  JobOptions,
  JobOptionsWithInput,
  JobSource,
} from "./authoring/job.ts";
export type { StandardSchema } from "./authoring/standard-schema.ts";
export { Task } from "./authoring/task.ts";
export { type BroadcastOptions, type MapOptions, type OneJob, TaskBuilder } from "./authoring/task-builder.ts";
export { Workflow } from "./authoring/workflow.ts";
export { WorkflowBuilder } from "./authoring/workflow-builder.ts";
export type { Jsonified } from "./authoring/jsonified.ts";
export type {
  ActivityOptions,
  ChildOptions,
  CodeMapOptions,
  EventOptions,
  UpdateHandler,
  UpdateOptions,
  WorkflowContext,
} from "./authoring/workflow-context.ts";

// Base
export type { Clock, Timer } from "./base/clock.ts";
export { EngineError, hasCode } from "./base/error.ts";
export type { ErrorCode } from "./base/error.ts";
export type { ContextLog, LogLevel, LogMethod } from "./base/context-log.ts";
export type { Logger } from "./base/logger.ts";
export type { Random } from "./base/random.ts";

// Kernel
export type { DagSpec, EdgeSpec, FailurePolicy, MaxInstances, OverflowPolicy } from "./kernel/dag/dag-spec.ts";
export type { NodeSpec } from "./kernel/node-spec.ts";
export type { Event } from "./kernel/event.ts";
export type { Failure } from "./kernel/failure.ts";
export type { RetryPolicy } from "./kernel/retry.ts";
export type { CancelCause, EndStatus, InstanceStatus, TaskStatus } from "./kernel/status.ts";

// Stores
export type { InstanceFilter, InstanceSummary, Store } from "./stores/store.ts";

// Cluster
export type { Bus, BusConnection, BusListener } from "./cluster/bus.ts";
export type { MemberEvent } from "./cluster/member-event.ts";
export type { WorkerEvent } from "./dispatch/worker-event.ts";
export type { ClusterTimings } from "./cluster/timings.ts";

// Code
export { StepFailed, WorkflowCanceled } from "./code/step-failed.ts";

// Dispatch
export type { DomainOverview } from "./dispatch/dispatcher.ts";
export type { Link, LinkListener } from "./dispatch/link.ts";
export type { OnTaskLog, TaskLogLine } from "./dispatch/task-log.ts";
export type { TaskProgress } from "./dispatch/task-progress.ts";

// Schedules
export { type DeclaredSchedule, defineSchedule } from "./schedules/declared-schedule.ts";
export type {
  CronTiming,
  DailyTiming,
  DelayTiming,
  RateTiming,
  ScheduledJob,
  ScheduledWorkflow,
  ScheduleSettings,
  ScheduleSpec,
  Timing,
} from "./schedules/schedule-spec.ts";
export type { BackfillRange } from "./schedules/schedule-check.ts";
export type { ScheduleView } from "./schedules/schedule-workflow.ts";

// Engine
export type { DomainSlots, RequiredWorker, TaskWait, WaitReason } from "./dispatch/wait-reason.ts";
export type { Breakpoint } from "./views/breakpoint.ts";
export type { MemberView } from "./cluster/member-view.ts";
export type { ClusterOptions } from "./member/cluster-options.ts";
export { Engine } from "./engine/engine.ts";
export type { PauseOptions, RunJobOptions, StartOptions, SubmitOptions } from "./engine/start-options.ts";
export type { CompletedTask, OutsideFailure } from "./engine/completions.ts";
export type { EngineNamespace } from "./engine/engine-namespace.ts";
export type { Health } from "./engine/health.ts";
export type { HistoryEntry } from "./engine/instance-calls.ts";
export { Executor } from "./engine/executor.ts";
export type { InstanceChange } from "./engine/instance-change.ts";
export type { TaskAttempt } from "./views/attempt-view.ts";
export type { ItemCounts } from "./kernel/dag/item-states.ts";
export type { MapHookRun, MapItem, MapItemPage, ItemFilter } from "./views/item-view.ts";
export type { FailedTask, InstanceView, TaskDetails, TaskView } from "./views/instance-view.ts";
export type {
  ChildWait,
  CodeLine,
  EventWait,
  InstanceWait,
  RunningOrWaitingTask,
  TaskWaitView,
  TimerWait,
  UntakenEvents,
  UpdateWait,
  Wait,
} from "./views/wait.ts";
export { inProcessBus } from "./engine/in-process-bus.ts";
export type { JobTaskOptions } from "./engine/job-workflow.ts";
export { LiveTask, LiveWorkflow } from "./engine/live-workflow.ts";
export type { EngineOptions } from "./engine/options.ts";
export type { WatchdogOptions } from "./engine/watchdog.ts";
export type { Answered, ClusterOverview, ClusterQueue, ClusterQueueFilter } from "./engine/cluster-overview.ts";
export type { QueueCounts, Tally } from "./engine/queue.ts";
export type { QueuePlace } from "./runtime/queue-place.ts";
export type { HostedWorkflow } from "./dispatch/code-host.ts";
export type { JobView, QueuedTask, QueueFilter, StuckInstance, WorkerView, WorkflowView } from "./engine/overview.ts";
export { Schedules } from "./engine/schedules.ts";
export type { ListedSchedule } from "./engine/schedules.ts";
export type { SubscribeOptions, Subscription } from "./engine/subscriptions.ts";
export { WorkflowController } from "./engine/workflow-controller.ts";
export { UpdateFailed } from "./engine/update-failed.ts";
export { WorkflowFailed, WorkflowTerminated } from "./engine/workflow-ended.ts";
export { WorkflowHandle } from "./engine/workflow-handle.ts";

// Worker
export type { AroundJob, JobRun } from "./worker/job-call.ts";
