/** Spec §13.2: spans of instances, attempts, timers and children. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { context, SpanStatusCode, trace } from "@opentelemetry/api";
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-node";
import { type JobRun, traceJob } from "../../src/telemetry/job-run.ts";
import { Tracing } from "../../src/telemetry/tracing.ts";
import { change, created, ended, failed, noon, started, succeeded, taskView } from "./rig.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const traceparent = `00-${traceId}-${spanId}-01`;

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });

const run: JobRun = {
  namespace: "default",
  instanceId: "order-1",
  workflowName: "orders",
  taskName: "pay",
  attempt: 1,
  attemptId: "order-1:1:0:1",
  traceparent: undefined,
};

function spanOf(name: string): ReadableSpan {
  const found = exporter.getFinishedSpans().filter((span) => span.name === name);
  assert.equal(found.length, 1, `${found.length} spans are called ${name}`);
  return found[0] as ReadableSpan;
}

function names(): string[] {
  return exporter.getFinishedSpans().map(({ name }) => name);
}

/** Epoch milliseconds. */
function at([seconds, nanoseconds]: ReadableSpan["startTime"]): number {
  return seconds * 1000 + nanoseconds / 1e6;
}

/** The trace ids that `onTrace` tells, by instance. */
function heardTraces(): { traceIds: Map<string, string>; onTrace: (instanceId: string, traceId: string) => void } {
  const traceIds = new Map<string, string>();
  return { traceIds, onTrace: (instanceId, id) => void traceIds.set(instanceId, id) };
}

test("nobody traces: nothing is kept, and jobs run as they are", () => {
  const { traceIds, onTrace } = heardTraces();
  const tracing = new Tracing({ onTrace });
  tracing.observe(change({ events: [created, started] }));
  assert.equal(traceIds.size, 0);
  assert.equal(
    tracing.aroundJob(run, () => 7),
    7,
  );
});

describe("with an SDK", () => {
  beforeEach(() => exporter.reset());
  before(() => provider.register());
  after(async () => {
    await provider.shutdown();
    trace.disable();
    context.disable();
  });

  test("an instance has a span, and each attempt of a task one below it", () => {
    const tracing = new Tracing();
    const tasks = [taskView("pay")];
    tracing.observe(change({ tasks, events: [created, started], traceparent }));
    tracing.observe(change({ tasks, events: [failed(0, { retryAt: noon + 50 })], at: noon + 30 }));
    tracing.observe(change({ tasks, events: [succeeded(0, { attempt: 2, startedAt: noon + 60 })], at: noon + 80 }));
    tracing.observe(change({ tasks, events: [ended("Success")], at: noon + 90, status: "Success" }));
    assert.deepEqual(names(), ["pay", "pay", "orders"]);
    const [first, second, instance] = exporter.getFinishedSpans() as [ReadableSpan, ReadableSpan, ReadableSpan];
    assert.equal(instance.spanContext().traceId, traceId);
    assert.equal(instance.parentSpanContext?.spanId, spanId);
    assert.equal(at(instance.startTime), noon);
    assert.equal(at(instance.endTime), noon + 90);
    assert.equal(instance.attributes["heddle.status"], "Success");
    assert.equal(instance.attributes["heddle.resumed"], undefined);
    for (const span of [first, second]) assert.equal(span.parentSpanContext?.spanId, instance.spanContext().spanId);
    assert.equal(first.status.code, SpanStatusCode.ERROR);
    assert.equal(first.status.message, "Error: no");
    assert.deepEqual([at(first.startTime), at(first.endTime)], [noon, noon + 30]);
    assert.equal(second.status.code, SpanStatusCode.UNSET);
    assert.equal(second.attributes["heddle.task.attempt"], 2);
  });

  test("a job runs in the span of its attempt, and what it calls is below that", async () => {
    let now = noon;
    const tracing = new Tracing({ now: () => now });
    const tasks = [taskView("pay")];
    tracing.observe(change({ tasks, events: [created, started] }));
    await tracing.aroundJob(run, async () => {
      await Promise.resolve();
      trace.getTracer("user").startSpan("its own call").end();
    });
    now = noon + 40;
    // The start is told late, the end later still; they are of the attempt that was seen.
    tracing.observe(
      change({ events: [{ type: "TaskStarted", task: 0, attempt: 1, worker: "here", startedAt: noon }] }),
    );
    tracing.observe(change({ tasks, events: [succeeded(0), ended("Success")], at: noon + 100 }));
    assert.deepEqual(names(), ["its own call", "pay", "orders"]);
    assert.equal(spanOf("its own call").parentSpanContext?.spanId, spanOf("pay").spanContext().spanId);
    assert.equal(spanOf("pay").parentSpanContext?.spanId, spanOf("orders").spanContext().spanId);
    assert.equal(at(spanOf("pay").endTime), noon, "it ended when the job did, not when that was on record");
  });

  test("a child's span is below the task that waits for it", () => {
    const { traceIds, onTrace } = heardTraces();
    const tracing = new Tracing({ onTrace });
    const tasks = [taskView("ship")];
    tracing.observe(change({ tasks, events: [created, started] }));
    tracing.observe(
      change({ tasks, events: [{ type: "ChildStarted", task: 0, attempt: 1, childId: "order-1/ship" }], at: noon + 5 }),
    );
    const child = { instanceId: "order-1/ship", workflowName: "shipping", parentInstanceId: "order-1" };
    tracing.observe(change({ ...child, events: [created, started] }));
    assert.match(traceIds.get("order-1") ?? "", /^[0-9a-f]{32}$/);
    assert.equal(traceIds.get("order-1/ship"), traceIds.get("order-1"));
    tracing.observe(change({ ...child, events: [ended("Success")] }));
    tracing.observe(change({ tasks, events: [{ type: "TaskSucceeded", task: 0, attempt: 1 }, ended("Success")] }));
    assert.equal(spanOf("shipping").parentSpanContext?.spanId, spanOf("ship").spanContext().spanId);
    assert.equal(spanOf("ship").attributes["heddle.child.id"], "order-1/ship");
    assert.equal(spanOf("ship").parentSpanContext?.spanId, spanOf("orders").spanContext().spanId);
  });

  test("timers have spans; what is open when an instance ends, ends with it", () => {
    const tracing = new Tracing();
    const timers = [0, 1].map((timer) => ({ type: "TimerSet", timer, dueAt: noon + 60_000 }) as const);
    tracing.observe(change({ kind: "code", events: [created, started, ...timers] }));
    tracing.observe(change({ events: [{ type: "TimerFired", timer: 0 }], at: noon + 60_000 }));
    tracing.observe(change({ events: [ended("Failed")], at: noon + 70_000, reason: "it was too late" }));
    assert.deepEqual(names(), ["timer", "timer", "orders"]);
    const [fired, open] = exporter.getFinishedSpans() as [ReadableSpan, ReadableSpan];
    assert.equal(at(fired.endTime), noon + 60_000);
    assert.equal(at(open.endTime), noon + 70_000);
    assert.deepEqual(spanOf("orders").status, { code: SpanStatusCode.ERROR, message: "it was too late" });
  });

  test("after a restart the span is made anew, in the same trace, and says so", () => {
    const tracing = new Tracing();
    tracing.observe(
      change({ tasks: [taskView("pay")], events: [succeeded(0), ended("Success")], at: noon + 9000, traceparent }),
    );
    const instance = spanOf("orders");
    assert.equal(instance.attributes["heddle.resumed"], true);
    assert.equal(at(instance.startTime), noon);
    assert.equal(instance.spanContext().traceId, traceId);
  });

  test("a job that runs before anything new is on record makes it anew too", () => {
    const tracing = new Tracing({ now: () => noon });
    tracing.aroundJob({ ...run, traceparent }, () => undefined);
    tracing.observe(change({ tasks: [taskView("pay")], events: [succeeded(0), ended("Success")] }));
    assert.deepEqual(names(), ["pay", "orders"]);
    assert.equal(spanOf("orders").attributes["heddle.resumed"], true);
    assert.equal(spanOf("orders").parentSpanContext?.spanId, spanId);
  });

  test("an attempt that was lost, or stopped, ends with that; the same attempt begins again", () => {
    const tracing = new Tracing({ now: () => noon });
    const tasks = [taskView("pay")];
    tracing.observe(change({ tasks, events: [created, started] }));
    tracing.aroundJob(run, () => undefined);
    tracing.observe(change({ tasks, events: [{ type: "TaskInterrupted", task: 0, attempt: 1 }] }));
    tracing.aroundJob(run, () => undefined);
    tracing.observe(change({ tasks, events: [{ type: "TasksStopped", tasks: [0] }] }));
    assert.deepEqual(
      exporter.getFinishedSpans().map(({ status }) => status.message),
      ["lost with its process or worker", "stopped"],
    );
  });

  test("what is kept is bounded: the oldest is ended, and begins anew if it goes on", () => {
    const tracing = new Tracing({ now: () => noon + 1 });
    for (let i = 0; i <= 10_000; i++) tracing.observe(change({ instanceId: `order-${i}`, events: [created] }));
    assert.equal(spanOf("orders").attributes["heddle.instance.id"], "order-0");
    assert.equal(spanOf("orders").attributes["heddle.unfinished"], true);
    tracing.stop();
    assert.equal(names().length, 10_001);
  });

  test("a worker process adds the span of the call to the instance's trace", async () => {
    const failure = { type: "Error", message: "no money" };
    await traceJob({ ...run, traceparent }, () => Promise.resolve({ kind: "failure", failure }));
    const span = spanOf("run pay");
    assert.equal(span.spanContext().traceId, traceId);
    assert.deepEqual(span.status, { code: SpanStatusCode.ERROR, message: "Error: no money" });
  });

  test("a traceparent that is none begins a trace of its own", () => {
    const { traceIds, onTrace } = heardTraces();
    const tracing = new Tracing({ onTrace });
    for (const [place, broken] of ["", "no", `ff-${traceId}-${spanId}-01`, `00-${traceId}-${spanId}`].entries()) {
      tracing.observe(change({ instanceId: `broken-${place}`, events: [created], traceparent: broken }));
      assert.notEqual(traceIds.get(`broken-${place}`) ?? traceId, traceId);
    }
  });
});
