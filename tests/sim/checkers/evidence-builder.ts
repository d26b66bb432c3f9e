import type { CodeWorkflow } from "../../../src/authoring/code-workflow.ts";
import { TaskBuilder } from "../../../src/authoring/task-builder.ts";
import type { Workflow } from "../../../src/authoring/workflow.ts";
import { WorkflowBuilder } from "../../../src/authoring/workflow-builder.ts";
import { defaultTimings } from "../../../src/cluster/timings.ts";
import type { DagSpec } from "../../../src/kernel/dag/dag-spec.ts";
import { viewInstance } from "../../../src/views/instance-view.ts";
import { noLiveWaits } from "../../../src/views/waiting.rig.ts";
import type { Event, InstanceCreated } from "../../../src/kernel/event.ts";
import type { Machine } from "../../../src/kernel/machine.ts";
import { hasEnded } from "../../../src/kernel/status.ts";
import type { CodeSpec } from "../../../src/runtime/definitions.ts";
import { finishedRow, instanceRow } from "../../../src/runtime/turn-rows.ts";
import { type Changes, noChanges } from "../../../src/stores/store.ts";
import { attemptName } from "../../recovery/side-effects.ts";
import { epochMs } from "../clock.ts";
import {
  type ClientCall,
  definitionKey,
  type Evidence,
  type FinalInstance,
  type JobRun,
  type LifeRecord,
  type Moment,
  type Operation,
  type Setting,
} from "../evidence.ts";
import { machineOf } from "./replay.ts";

type Lists = {
  -readonly [Part in keyof Omit<Evidence, "setting" | "finalState">]: Evidence[Part][number][];
};

/** Builds evidence by hand, as a run would leave it: each method adds one event, in sequence. */
export class EvidenceBuilder {
  /** Virtual time of the next event. */
  now = 1000;
  readonly lists: Lists = {
    scenarios: [],
    calls: [],
    runs: [],
    lives: [],
    clockSettings: [],
    storeOutages: [],
    restores: [],
    commits: [],
    claims: [],
    memberships: [],
    renewalRequests: [],
    logLines: [],
    watches: [],
    problems: [],
  };
  readonly instances = new Map<number, FinalInstance>();
  readonly leftovers: Evidence["finalState"]["leftovers"][number][] = [];
  readonly busyWorkers: Evidence["finalState"]["busyWorkers"][number][] = [];
  readonly orphanedKeys: number[] = [];
  readonly #setting: Setting;
  readonly #definitions = new Map<string, DagSpec | CodeSpec>();
  readonly #machines = new Map<number, Machine>();
  #order = 0;
  #batch = 0;

  /** Ids of instances by key, for those that are not "a", "b" and so on by their keys. */
  readonly ids = new Map<number, string>();

  constructor(setting: Partial<Setting> = {}) {
    this.#setting = {
      isCluster: false,
      timings: defaultTimings,
      poolSize: 4,
      workerSlots: 2,
      domains: { red: 1 },
      maxInterruptions: 3,
      stopGraceMs: 1000,
      maxConcurrentActivities: 0,
      calmAt: 0,
      ...setting,
    };
  }

  /** The evidence so far, for a checker. */
  get evidence(): Evidence {
    const { instances, leftovers, busyWorkers, orphanedKeys } = this;
    const definitions = this.#definitions;
    const finalState = { instances: [...instances.values()], definitions, leftovers, busyWorkers, orphanedKeys };
    return { ...this.lists, setting: this.#setting, finalState };
  }

  moment(): Moment {
    return { at: this.now, order: this.#order++ };
  }

  life(machine = "m1", role: LifeRecord["role"] = "member"): LifeRecord {
    const life: LifeRecord = {
      number: this.lists.lives.length + 1,
      machine,
      role,
      rate: 1,
      born: this.moment(),
      up: this.moment(),
      stopping: undefined,
      end: undefined,
      freezes: [],
      renewals: [],
      workerRenewals: [],
    };
    this.lists.lives.push(life);
    return life;
  }

  /** Answers a worker's heartbeat at once; `withheld` lists attempts whose lease counts from earlier, or is not renewed. */
  renew(worker: LifeRecord, withheld: Readonly<Record<string, number>> = {}, member = 1): void {
    const { now } = this;
    worker.workerRenewals.push({ member, sentAt: now, knownAt: now, withheld: new Map(Object.entries(withheld)) });
  }

  claim(life: LifeRecord, parts: { owner?: string; epoch?: number; released?: boolean } = {}): void {
    const { owner = `owner ${life.number}`, epoch = this.lists.claims.length + 1, released = true } = parts;
    const claim = { epoch, incarnation: 0, lastBatch: this.#batch, lastKey: 0, released, previousOwner: "" };
    this.lists.claims.push({ ...this.moment(), life: life.number, shard: 0, owner, claim });
  }

  /** Commits under the newest epoch and with the next number, unless others are given. */
  commit(
    life: LifeRecord,
    changes: Partial<Changes>,
    parts: { epoch?: number; number?: number; sent?: Moment } = {},
  ): void {
    const { epoch = this.lists.claims.length, number = ++this.#batch } = parts;
    const fences = [{ shard: 0, epoch, number, lastKey: 0, released: false }];
    const batch = { fences, changes: { ...noChanges(), ...changes } };
    const sent = parts.sent ?? this.moment();
    this.lists.commits.push({ ...this.moment(), life: life.number, sent, batch });
  }

  define(workflow: Workflow): { workflow: string; version: string } {
    this.#definitions.set(definitionKey(workflow.name, workflow.version), workflow.toJSON());
    return { workflow: workflow.name, version: workflow.version };
  }

  defineCode({ name, version }: CodeWorkflow): void {
    this.#definitions.set(definitionKey(name, version), { code: true });
  }

  /** Adds a turn of an instance with its rows; `at` is the time that it records. */
  turn(life: LifeRecord, key: number, events: readonly Event[], at = epochMs + this.now): void {
    const machine = this.#machine(key, events);
    for (const event of events) machine.apply(event, at);
    const before = this.instances.get(key)?.turns ?? [];
    const last = before.at(-1);
    const firstEvent = last === undefined ? 0 : last.firstEvent + last.events.length;
    const row = {
      instance: key,
      turn: last === undefined ? 0 : last.turn + 1,
      firstEvent,
      at,
      events: JSON.stringify(events),
    };
    const isOver = hasEnded(machine.status);
    const changes = isOver
      ? { finished: [finishedRow(machine, null)] }
      : { instances: [instanceRow({ machine, isActive: machine.state.inFlight > 0 }, at, null)] };
    this.commit(life, { history: [row], ...changes });
    const { state, address } = machine;
    this.instances.set(key, {
      key,
      id: address.id,
      workflow: state.workflow,
      version: state.version,
      status: state.status,
      generation: state.generation,
      createdAt: state.createdAt,
      endedAt: state.endedAt ?? null,
      reason: state.reason ?? null,
      quarantined: null,
      app: state.app ?? null,
      // The history before `continueAsNew` is not kept.
      turns: [...(events[0]?.type === "InstanceContinued" ? [] : before), { ...row, events }],
      missingPayloads: [],
    });
  }

  run(life: LifeRecord, attemptId: string, params: JobRun["params"] = {}): JobRun {
    const name = attemptName(attemptId);
    const names = { taskName: `task ${name.task}`, workflow: "solo", job: "step" };
    const start = this.moment();
    const run: JobRun = {
      attemptId,
      name,
      ...names,
      params,
      life: life.number,
      start,
      found: undefined,
      heartbeats: [],
      abort: undefined,
      end: undefined,
      acknowledged: undefined,
    };
    this.lists.runs.push(run);
    return run;
  }

  ended(run: JobRun, how: "done" | "failed" | "aborted" = "done"): void {
    run.end = { ...this.moment(), how };
  }

  ask(life: LifeRecord, operation: Operation, about: Partial<ClientCall> = {}): ClientCall {
    const call: ClientCall = {
      number: this.lists.calls.length + 1,
      operation,
      instanceId: "a",
      namespace: "default",
      life: life.number,
      marker: undefined,
      given: {},
      invoked: this.moment(),
      answered: undefined,
      outcome: "pending",
      code: undefined,
      value: undefined,
      ...about,
    };
    this.lists.calls.push(call);
    return call;
  }

  answer(call: ClientCall, answer: Partial<Pick<ClientCall, "outcome" | "code" | "value">> = {}): void {
    Object.assign(call, { outcome: "ok", ...answer, answered: this.moment() });
  }

  /** The present answer to a status query. */
  view(key: number): ReturnType<typeof viewInstance> {
    const machine = this.#machines.get(key);
    if (machine === undefined) throw new Error(`nothing happened to instance ${key} yet`);
    return viewInstance(machine, noLiveWaits);
  }

  #machine(key: number, events: readonly Event[]): Machine {
    const known = this.#machines.get(key);
    if (known !== undefined) return known;
    const created = events.find((event) => event.type === "InstanceCreated" || event.type === "InstanceContinued");
    const spec = this.#definitions.get(definitionKey(created?.workflow ?? "", created?.version ?? ""));
    if (spec === undefined) throw new Error("the workflow is to be defined first");
    const id = this.ids.get(key) ?? String.fromCharCode(96 + key);
    const machine = machineOf(spec, id, key);
    this.#machines.set(key, machine);
    return machine;
  }
}

/** A DAG of one task. */
export const solo: Workflow = new WorkflowBuilder()
  .withName("solo")
  .withTask(new TaskBuilder("t").withJobFunction("step", {}).withRetryCount(1))
  .build();

/** A DAG of one task that runs a nested workflow. */
export const nest: Workflow = new WorkflowBuilder()
  .withName("nest")
  .withTask(new TaskBuilder("n").withNestedWorkflow(solo))
  .build();

export function created(builder: EvidenceBuilder, workflow: Workflow, more: Partial<InstanceCreated> = {}): Event[] {
  const { workflow: name, version } = builder.define(workflow);
  const context = { marker: '"s1-0"' };
  return [
    {
      type: "InstanceCreated",
      workflow: name,
      version,
      generation: 1,
      context,
      maxConcurrentTasks: 1,
      trigger: "api",
      ...more,
    },
    { type: "InstanceStarted" },
    { type: "TasksScheduled", tasks: [0] },
  ];
}

/** The first events of a code instance. */
export function createdCode(
  builder: EvidenceBuilder,
  workflow: CodeWorkflow,
  input: unknown,
  ...steps: readonly Event[]
): Event[] {
  builder.defineCode(workflow);
  return [
    {
      type: "InstanceCreated",
      workflow: workflow.name,
      version: workflow.version,
      generation: 1,
      context: {},
      maxConcurrentTasks: 0,
      trigger: "api",
      input: JSON.stringify(input),
    },
    { type: "InstanceStarted" },
    ...steps,
  ];
}

export const succeeded: readonly Event[] = [
  { type: "TaskSucceeded", task: 0, attempt: 1, worker: "m1", startedAt: epochMs + 1000 },
  { type: "InstanceEnded", status: "Success" },
];

/** A complete run without violations: an instance `a` of one task is submitted, runs and ends. */
export function goodRun(setting: Partial<Setting> = {}): { builder: EvidenceBuilder; life: LifeRecord; run: JobRun } {
  const builder = new EvidenceBuilder(setting);
  const life = builder.life();
  builder.claim(life);
  const submit = builder.ask(life, "submit", { marker: "s1-0" });
  builder.turn(life, 1, created(builder, solo));
  builder.answer(submit, { value: "a" });
  const run = builder.run(life, "a:1:0:1");
  builder.now += 100;
  builder.ended(run);
  builder.turn(life, 1, succeeded);
  return { builder, life, run };
}
