import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import {
  Engine,
  type EngineError,
  type EngineOptions,
  type ErrorCode,
  type InstanceStatus,
  type InstanceView,
  type Task,
  TaskBuilder,
  type TaskView,
  type Workflow,
  WorkflowBuilder,
  type WorkflowController,
} from "../../src/index.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { sqlite } from "../../src/sqlite.ts";
import { TestClock } from "../../src/testing.ts";

/** Far above what anything here takes: a test that waits this long has failed. */
const patienceMs = 20_000;

/** An engine that has been started, and is stopped when the test ends. In memory unless told otherwise. */
export async function startEngine(t: TestContext, options: Partial<EngineOptions> = {}): Promise<Engine> {
  const engine = newEngine(options);
  await engine.start();
  const { clock } = options;
  // A clock that stands still would wait for ever for a job that ignores its signal.
  t.after(() => (clock instanceof TestClock ? clock.until(stopEngine(engine)) : stopEngine(engine)));
  return engine;
}

export function newEngine(options: Partial<EngineOptions> = {}): Engine {
  return new Engine({ storage: sqlite(":memory:"), logger: new LogBook(), stopGraceMs: 200, ...options });
}

/** Stops it unless the test has done so already. */
export async function stopEngine(engine: Engine): Promise<void> {
  if (engine.health.status !== "stopped" && engine.health.status !== "new") await engine.stop();
}

export function workflow(name: string, ...tasks: (Task | TaskBuilder)[]): Workflow {
  const builder = new WorkflowBuilder().withName(name);
  for (const task of tasks) builder.withTask(task);
  return builder.build();
}

/** A task of a job by its name; a retry, if any, comes soon. */
export function task(name: string, job: string, params?: unknown): TaskBuilder {
  return new TaskBuilder(name).withJobFunction(job, params).withRetryPolicy({ initialMs: 10 });
}

/** Waits until the instance is as the test wants it. */
export async function untilInstance(
  engine: Engine,
  instanceId: string,
  holds: (view: InstanceView) => boolean,
): Promise<InstanceView> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const view = await engine.getWorkflowInstanceStatus(instanceId);
    if (holds(view)) return view;
    assert.ok(Date.now() < deadline, `never came about: ${holds.toString()} in ${JSON.stringify(view)}`);
    await delay(2);
  }
}

export function untilStatus(engine: Engine, instanceId: string, status: InstanceStatus): Promise<InstanceView> {
  return untilInstance(engine, instanceId, (view) => view.status === status);
}

export function taskOf(view: InstanceView, name: string): TaskView {
  const found = view.tasks.find((each) => each.name === name);
  assert.ok(found, `task ${name} is in the instance`);
  return found;
}

export async function statuses(run: WorkflowController): Promise<Record<string, string>> {
  return statusesIn(await run.getStatus());
}

export function statusesIn(view: InstanceView): Record<string, string> {
  return Object.fromEntries(
    view.tasks.map(({ name, status, cause }) => [name, cause ? `${status} (${cause})` : status]),
  );
}

/**
 * Says what an error must be: its code, and what its message must tell. Every message is one sentence for a person, so
 * the rest of what is asked of it is checked here too.
 */
export function says(code: ErrorCode, ...parts: (string | RegExp)[]): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof Error, `an error, not ${String(error)}`);
    assert.equal((error as EngineError).code, code, error.stack);
    for (const part of parts) {
      if (typeof part === "string") assert.ok(error.message.includes(part), `${part} in: ${error.message}`);
      else assert.match(error.message, part);
    }
    readsWell(error.message);
    return true;
  };
}

/** Nothing in it that only a program would say. */
export function readsWell(message: string): void {
  assert.ok(message.length > 15, `too short: ${message}`);
  assert.ok(message.length < 1000, `too long: ${message.slice(0, 200)}`);
  assert.doesNotMatch(
    message,
    /(?<!got |threw |received )\b(?:undefined|NaN)\b|\[object|is not a function|Cannot read prop|\n/,
    message,
  );
}

/** After whatever went wrong, a new workflow still runs. */
export async function stillWorks(engine: Engine): Promise<void> {
  const name = `alive-${aliveCount++}`;
  engine.registerJobFunction(name, () => "alive");
  const run = await engine.submitWorkflow(workflow(name, task("t", name)));
  assert.deepEqual(await run.result(), { t: "alive" });
}

let aliveCount = 0;

/** Something to wait for, opened by the other side. */
export class Gate {
  readonly #resolvers = Promise.withResolvers<void>();

  get opened(): Promise<void> {
    return this.#resolvers.promise;
  }

  open(): void {
    this.#resolvers.resolve();
  }
}

/** Settles when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
