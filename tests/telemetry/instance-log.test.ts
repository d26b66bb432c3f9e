/** Spec §13.3: log lines about instances and their nodes. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { InstanceLog } from "../../src/telemetry/instance-log.ts";
import { TraceIds } from "../../src/telemetry/trace-ids.ts";
import { change, created, ended, failed, noon, started, succeeded, taskView } from "./rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const about = { instanceId: "order-1", workflowId: "orders", traceId };
const traced = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };

function rig(failuresOnly = false): { lines: LogBook; log: InstanceLog; told: () => string[] } {
  const lines = new LogBook();
  const traceIds = new TraceIds();
  traceIds.remember("order-1", traceId);
  const log = new InstanceLog({ logger: traceIds.addTo(lines), failuresOnly });
  return { lines, log, told: () => lines.lines.map(({ level, message }) => `${level} ${message}`) };
}

describe("the log tells", () => {
  test("what an instance does, each line with whom it concerns", () => {
    const { lines, log, told } = rig();
    const tasks = [taskView("pay", { nodeId: 7 })];
    log.observe(change({ ...traced, tasks, events: [created, started] }));
    log.observe(change({ ...traced, tasks, events: [succeeded(0), ended("Success")], at: noon + 40 }));
    assert.deepEqual(told(), [
      "info workflow started",
      "info node executing",
      "info node completed",
      "info workflow completed",
    ]);
    const [begun, executing, completed, over] = lines.lines.map(({ fields }) => fields);
    const node = { ...about, nodeId: 7, taskName: "pay", attempt: 1 };
    assert.deepEqual(begun, { ...about, trigger: "api", workflowVersion: "1" });
    assert.deepEqual(executing, { ...node, worker: "here", startedAt: noon });
    assert.deepEqual(completed, { ...node, durationMs: 40 });
    assert.deepEqual(over, { ...about, status: "Success", nodeCount: 1, durationMs: 40 });
  });

  test("that a node executes once for each attempt, however its start is heard of", () => {
    const { log, told } = rig();
    const tasks = [taskView("pay")];
    log.observe(
      change({ tasks, events: [{ type: "TaskStarted", task: 0, attempt: 1, worker: "w", startedAt: noon }] }),
    );
    log.observe(change({ tasks, events: [{ type: "TaskInterrupted", task: 0, attempt: 1 }] }));
    log.observe(
      change({ tasks, events: [{ type: "TaskStarted", task: 0, attempt: 1, worker: "w", startedAt: noon }] }),
    );
    log.observe(change({ tasks, events: [failed(0, { retryAt: noon + 10 })] }));
    log.observe(change({ tasks, events: [succeeded(0, { attempt: 2 })] }));
    assert.deepEqual(told(), [
      "info node executing",
      "info node executing",
      "warn task failed",
      "info node executing",
      "info node completed",
    ]);
  });

  test("failures with what went wrong and when it is tried again, also where nodes are not told of", () => {
    const { lines, log, told } = rig(true);
    const tasks = [taskView("pay")];
    log.observe(change({ tasks, events: [failed(0, { retryAt: noon + 10 })] }));
    log.observe(change({ tasks, events: [succeeded(0, { attempt: 2 })] }));
    log.observe(change({ tasks, events: [{ ...ended("Failed"), reason: "pay failed" } as ReturnType<typeof ended>] }));
    assert.deepEqual(told(), ["warn task failed", "warn workflow completed"]);
    assert.deepEqual(lines.lines[0]?.fields["error"], { type: "Error", message: "no" });
    assert.equal(lines.lines[0]?.fields["retryAt"], noon + 10);
    assert.equal(lines.lines[1]?.fields["reason"], "pay failed");
  });

  test("decisions and children", () => {
    const { lines, log, told } = rig();
    const tasks = [taskView("is-large"), taskView("ship")];
    log.observe(
      change({
        tasks,
        events: [
          { type: "DecisionMade", task: 0, result: "true", edgesOff: [] },
          { type: "ChildStarted", task: 1, attempt: 1, childId: "order-1/ship" },
        ],
      }),
    );
    log.observe(
      change({ tasks: [taskView("ship", { number: 1 })], events: [{ type: "TaskSucceeded", task: 1, attempt: 1 }] }),
    );
    assert.deepEqual(told(), ["info node completed", "info node executing", "info node completed"]);
    assert.equal(lines.lines[1]?.fields["childInstanceId"], "order-1/ship");
  });
});
