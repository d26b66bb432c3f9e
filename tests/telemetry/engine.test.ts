import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { context, trace } from "@opentelemetry/api";
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-node";
import { silentLogger } from "../../src/base/logger.ts";
import { systemClock } from "../../src/engine/system-clock.ts";
import { defineWorkflow, type Engine, type EngineOptions, TaskBuilder } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { InstanceLog } from "../../src/telemetry/instance-log.ts";
import { Metrics } from "../../src/telemetry/metrics.ts";
import { observedStore } from "../../src/telemetry/observed-store.ts";
import { TaskLogs } from "../../src/telemetry/task-logs.ts";
import { TraceIds } from "../../src/telemetry/trace-ids.ts";
import { Tracing } from "../../src/telemetry/tracing.ts";
import { newEngine, startEngine, stopEngine, task, untilStatus, workflow } from "../engine/rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { temporaryFile } from "../support/temporary-folder.ts";

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const traceId = "0af7651916cd43dd8448eb211c80319c";
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

/** An engine with all that looks at it, as a server has it. */
async function watched(t: TestContext, options: Partial<EngineOptions> = {}) {
  const { storage: bare = sqlite(":memory:"), ...rest } = options;
  const metrics = new Metrics();
  const storage = observedStore(bare, metrics.store);
  const traceIds = new TraceIds();
  const tracing = new Tracing({ onTrace: (instanceId, id) => traceIds.remember(instanceId, id) });
  const traceIdOf = (instanceId: string): string => traceIds.of(instanceId);
  const logs = new TaskLogs({ store: storage, clock: systemClock, logger: silentLogger, traceIdOf, keepMs: 1000 });
  const lines = new LogBook();
  const log = new InstanceLog({ logger: traceIds.addTo(lines), failuresOnly: false });
  const engine = newEngine({ ...rest, storage, onTaskLog: logs.add, aroundJob: tracing.aroundJob });
  metrics.watch(engine);
  engine.subscribe((change) => {
    tracing.observe(change);
    log.observe(change);
  });
  await engine.start();
  t.after(async () => {
    await logs.stop();
    await stopEngine(engine);
  });
  return { engine, metrics, tracing, logs, lines };
}

function spans(name: string): ReadableSpan[] {
  return exporter.getFinishedSpans().filter((span) => span.name === name);
}

function only(name: string): ReadableSpan {
  assert.equal(spans(name).length, 1, `${spans(name).length} spans are called ${name}`);
  return spans(name)[0] as ReadableSpan;
}

function isBelow(span: ReadableSpan, above: ReadableSpan): boolean {
  return span.parentSpanContext?.spanId === above.spanContext().spanId;
}

function registerJobs(engine: Engine): void {
  let fails = 1;
  engine.registerJobFunction("quick", (_params, ctx) => ctx.log.info({ rows: 3 }, "it was quick"));
  engine.registerJobFunction("slow", async (_params, ctx) => {
    await delay(150);
    trace.getTracer("user").startSpan("its own call").end();
    ctx.log.warn({}, "it took its time");
  });
  engine.registerJobFunction("flaky", () => {
    if (fails-- > 0) throw new Error("not yet");
  });
}

describe("a real engine", () => {
  before(() => provider.register());
  after(async () => {
    await provider.shutdown();
    trace.disable();
    context.disable();
  });

  test("is counted, traced and logged, a DAG with all that can happen in it", async (t) => {
    exporter.reset();
    const { engine, metrics, logs, lines } = await watched(t);
    registerJobs(engine);
    const child = workflow("child", task("inner", "quick"));
    const parent = workflow(
      "parent",
      task("first", "quick"),
      task("second", "slow").withDependency("first"),
      task("third", "flaky").withRetryCount(1),
      new TaskBuilder("nested").withNestedWorkflow(child),
    );
    const run = await engine.submitWorkflow(parent, { traceparent });
    await run.result();

    const text = await metrics.text();
    for (const line of [
      'dag_workflow_submitted_total{namespace="default",workflow="parent"} 1',
      'dag_workflow_submitted_total{namespace="default",workflow="child"} 1',
      'dag_workflow_completed_total{namespace="default",workflow="parent",status="Success"} 1',
      'dag_workflow_failed_total{namespace="default",workflow="parent"} 0',
      'dag_workflow_duration_seconds_count{namespace="default",workflow="parent",status="Success"} 1',
      'dag_task_failed_total{namespace="default",workflow="parent",task="third"} 1',
      'dag_task_duration_seconds_count{namespace="default",workflow="parent",task="second",status="Success"} 1',
      'dag_task_duration_seconds_count{namespace="default",workflow="parent",task="third",status="Failed"} 1',
      'dag_task_duration_seconds_count{namespace="default",workflow="parent",task="third",status="Success"} 1',
      'dag_task_duration_seconds_count{namespace="default",workflow="child",task="inner",status="Success"} 1',
      "dag_queue_running_size 0",
      "dag_cluster_members_up 1",
      "dag_cluster_workers 1",
      'db_query_duration_seconds_count{operation="open"} 1',
    ])
      assert.ok(text.includes(`${line}\n`), line);
    for (const name of ["first", "second", "third", "nested"]) {
      assert.match(
        text,
        new RegExp(`dag_task_executed_total{namespace="default",workflow="parent",task="${name}",status="Success",`),
        name,
      );
    }

    const instance = only("parent");
    assert.equal(instance.spanContext().traceId, traceId);
    for (const name of ["first", "second", "nested"]) assert.ok(isBelow(only(name), instance), name);
    assert.equal(spans("third").length, 2);
    assert.ok(isBelow(only("its own call"), only("second")));
    assert.ok(isBelow(only("child"), only("nested")));
    assert.ok(isBelow(only("inner"), only("child")));

    const said = await logs.read(run.instanceId, { limit: 10 });
    assert.deepEqual(
      said.map(({ taskName, level, message, traceId: id }) => [taskName, level, message, id]),
      [
        ["first", "info", "it was quick", traceId],
        ["second", "warn", "it took its time", traceId],
      ],
    );
    assert.deepEqual(said[0]?.fields, { rows: 3 });

    const ofParent = lines.lines.filter(({ fields }) => fields["instanceId"] === run.instanceId);
    const counts = Map.groupBy(ofParent, ({ message }) => message);
    const counted = Object.fromEntries([...counts].map(([message, found]) => [message, found.length]));
    assert.deepEqual(counted, {
      "workflow started": 1,
      "node executing": 5,
      "node completed": 4,
      "task failed": 1,
      "workflow completed": 1,
    });
    for (const { fields } of ofParent) assert.equal(fields["traceId"], traceId);
  });

  test("names the tasks of code workflows, and their timers", async (t) => {
    exporter.reset();
    const wait = defineWorkflow("waiting", { version: "1" }, async (ctx) => {
      await ctx.run("quick");
      await ctx.sleep(20);
      await ctx.run("slow");
    });
    const { engine, metrics, lines } = await watched(t, { workflows: [wait] });
    registerJobs(engine);
    const handle = await engine.startWorkflow(wait, undefined);
    await handle.result();
    const text = await metrics.text();
    for (const name of ["quick", "slow"]) {
      assert.match(
        text,
        new RegExp(`dag_task_executed_total{namespace="default",workflow="waiting",task="${name}",status="Success",`),
      );
      assert.ok(isBelow(only(name), only("waiting")));
    }
    assert.ok(isBelow(only("timer"), only("waiting")));
    assert.equal(lines.lines.filter(({ message }) => message === "node completed").length, 2);
  });

  test("goes on in the same trace after a restart", async (t) => {
    exporter.reset();
    const file = temporaryFile(t);
    const flow = workflow("restarted", task("second", "slow"));
    const first = await startEngine(t, { storage: sqlite(file) });
    first.registerJobFunction(
      "slow",
      (_params, { signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)),
    );
    const { instanceId } = await first.submitWorkflow(flow, { traceparent });
    await delay(20);
    await first.stop();
    const { engine } = await watched(t, { storage: sqlite(file) });
    registerJobs(engine);
    await untilStatus(engine, instanceId, "Success");
    assert.equal(only("restarted").attributes["heddle.resumed"], true);
    assert.equal(only("restarted").spanContext().traceId, traceId);
    assert.ok(isBelow(only("second"), only("restarted")));
  });
});
