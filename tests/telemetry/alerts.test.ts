import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { EngineError } from "../../src/base/error.ts";
import type { InstanceChange } from "../../src/engine/instance-change.ts";
import type { EngineNamespace } from "../../src/engine/engine-namespace.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import type { AlertRule } from "../../src/telemetry/alert-rule.ts";
import type { InstanceView } from "../../src/views/instance-view.ts";
import { Alerts, type AlertsParts } from "../../src/telemetry/alerts.ts";
import { TestClock } from "../../src/testing.ts";
import { type Collector, startCollector } from "./collector.ts";
import { change, ended, noon, taskView } from "./rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

const failure = { type: "Error", message: "no money", retryable: true };

function end(status: "Success" | "Failed", told: Partial<InstanceChange> = {}): InstanceChange {
  const tasks = [taskView("pay", status === "Failed" ? { status: "Failed", failure } : {})];
  const reason = status === "Failed" ? "task pay failed" : undefined;
  return change({ events: [ended(status)], status, tasks, reason, at: noon + 5000, ...told });
}

const view = {
  ...change(),
  attention: undefined,
  customStatus: undefined,
  withSkippedFailures: false,
  generation: 1,
  updatedAt: noon,
  historyLength: 1,
  waiting: [],
  waitingTotal: 0,
  untakenEvents: [],
};
/** The engine in a namespace, where every instance looks like this. */
function spaceOf(view: Omit<InstanceView, "instanceId">): EngineNamespace {
  const getWorkflowInstanceStatus = (instanceId: string): Promise<InstanceView> =>
    Promise.resolve({ ...view, instanceId });
  return { getWorkflowInstanceStatus } as unknown as EngineNamespace;
}

interface Rig {
  readonly alerts: Alerts;
  readonly clock: TestClock;
  readonly lines: LogBook;
  readonly store: MemoryStore;
  readonly stuck: string[];
}

async function rig(t: TestContext, rules: readonly AlertRule[], told: Partial<AlertsParts> = {}): Promise<Rig> {
  const clock = new TestClock({ now: noon });
  const lines = new LogBook();
  const store = new MemoryStore();
  const stuck: string[] = [];
  await store.open();
  const engine = {
    get health() {
      return { stuckInstances: stuck } as unknown as AlertsParts["engine"]["health"];
    },
    inNamespace: () => spaceOf(view),
  };
  const alerts = new Alerts({ rules, engine, store, clock, logger: lines, ...told });
  alerts.start();
  t.after(() => alerts.stop());
  return { alerts, clock, lines, store, stuck };
}

/** Waits until so many have come in, and gives them. */
async function received({ received: found }: Collector, count: number): Promise<Record<string, unknown>[]> {
  for (const giveUpAt = Date.now() + 10_000; found.length < count && Date.now() < giveUpAt;) await delay(2);
  assert.equal(found.length, count);
  return found.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
}

describe("alerts", () => {
  test("tell of a failure, once for each instance", async (t) => {
    const collector = await startCollector(t);
    const { alerts } = await rig(t, [{ url: collector.url, on: ["failure"] }]);
    alerts.observe(end("Failed"));
    alerts.observe(end("Failed"));
    alerts.observe(end("Success", { instanceId: "order-2" }));
    alerts.observe(end("Failed", { instanceId: "order-1/ship", parentInstanceId: "order-1" }));
    await alerts.stop();
    const [body] = await received(collector, 1);
    assert.deepEqual(body, {
      title: "Workflow orders failed",
      kind: "failure",
      namespace: "default",
      instanceId: "order-1",
      workflow: "orders",
      status: "Failed",
      at: noon + 5000,
      startedAt: noon,
      reason: "task pay failed",
      failedTasks: [{ name: "pay", message: "no money" }],
    });
  });

  test("go only where a rule wants them, children only where it names them", async (t) => {
    const [all, some] = [await startCollector(t), await startCollector(t)];
    const { alerts } = await rig(t, [
      { url: all.url, on: ["failure"] },
      { url: some.url, on: ["failure"], workflows: ["shipping"] },
    ]);
    alerts.observe(end("Failed"));
    alerts.observe(
      end("Failed", { instanceId: "order-1/ship", workflowName: "shipping", parentInstanceId: "order-1" }),
    );
    await alerts.stop();
    assert.deepEqual(
      (await received(all, 1)).map(({ workflow }) => workflow),
      ["orders"],
    );
    assert.deepEqual(
      (await received(some, 1)).map(({ workflow }) => workflow),
      ["shipping"],
    );
  });

  test("tell of a recovery, and of no success that follows a success", async (t) => {
    const collector = await startCollector(t);
    const { alerts, clock } = await rig(t, [{ url: collector.url, on: ["recovery"] }]);
    await clock.settle();
    alerts.observe(end("Success"));
    alerts.observe(end("Failed", { instanceId: "order-2" }));
    alerts.observe(end("Success", { instanceId: "order-3" }));
    alerts.observe(end("Success", { instanceId: "order-4" }));
    await alerts.stop();
    assert.deepEqual(
      (await received(collector, 1)).map(({ title, instanceId }) => [title, instanceId]),
      [["Workflow orders succeeds again", "order-3"]],
    );
  });

  test("know after a restart, and on another member, that a workflow failed last time; one of them tells", async (t) => {
    const collector = await startCollector(t);
    const rules: AlertRule[] = [{ url: collector.url, on: ["recovery"] }];
    const first = await rig(t, rules);
    first.alerts.observe(end("Failed"));
    await first.alerts.stop();
    const { store } = first;
    const members = [await rig(t, rules, { store }), await rig(t, rules, { store })];
    for (const { clock } of members) await clock.settle();
    for (const [place, { alerts }] of members.entries())
      alerts.observe(end("Success", { instanceId: `order-${place}` }));
    for (const { alerts } of members) await alerts.stop();
    assert.equal((await received(collector, 1)).length, 1);
  });

  test("tell of a long run, by its limit, while it runs", async (t) => {
    const collector = await startCollector(t);
    const rule = { url: collector.url, on: ["long-run"], longRunSeconds: 60 } as const;
    const { alerts, clock } = await rig(t, [rule]);
    alerts.observe(change());
    alerts.observe(change({ instanceId: "order-2" }));
    alerts.observe(end("Success", { instanceId: "order-2" }));
    await clock.advance(55_000);
    assert.equal(collector.received.length, 0);
    await clock.advance(300_000);
    alerts.observe(change({ status: "Paused" }));
    alerts.observe(change());
    await clock.advance(300_000);
    const [body] = await received(collector, 1);
    assert.equal(body?.["kind"], "long-run");
    assert.equal(body?.["instanceId"], "order-1");
  });

  test("tell of what ran long before the process started", async (t) => {
    const collector = await startCollector(t);
    const rules: AlertRule[] = [{ url: collector.url, on: ["long-run"], longRunSeconds: 60 }];
    const summary = {
      key: 1,
      id: "order-7",
      workflow: "orders",
      version: "1",
      status: "Running",
      generation: 1,
    } as const;
    const times = { createdAt: noon - 3_600_000, endedAt: null, reason: null, quarantined: null, app: null };
    const engine = {
      health: { stuckInstances: [] } as unknown as AlertsParts["engine"]["health"],
      inNamespace: () => spaceOf(view),
    };
    const store = new MemoryStore();
    await store.open();
    store.listInstances = () => Promise.resolve([{ ...summary, ...times }]);
    const { clock } = await rig(t, rules, { engine, store });
    await clock.advance(10_000);
    assert.equal((await received(collector, 1))[0]?.["instanceId"], "order-7");
  });

  test("tell of what is stuck, also if the store was away when it was found", async (t) => {
    const collector = await startCollector(t);
    const { clock, stuck, store, lines } = await rig(t, [{ url: collector.url, on: ["stuck"] }]);
    const save = store.saveDocument.bind(store);
    store.saveDocument = () => Promise.reject(new EngineError("STORE_UNAVAILABLE", "gone"));
    stuck.push("order-1");
    await clock.advance(5000);
    assert.ok(lines.find("warn", /alerts could not be processed/));
    store.saveDocument = save;
    await clock.advance(60_000);
    assert.equal((await received(collector, 1))[0]?.["title"], "Workflow orders makes no progress");
  });

  test("are tried again, with longer and longer waits", async (t) => {
    const collector = await startCollector(t, (response, count) => {
      response.statusCode = count <= 2 ? 503 : 200;
      response.end();
    });
    const { alerts, clock, lines } = await rig(t, [{ url: collector.url, on: ["failure"] }]);
    alerts.observe(end("Failed"));
    await received(collector, 1);
    while (lines.lines.length < 1) await delay(2);
    await clock.advance(1000);
    await received(collector, 2);
    while (lines.lines.length < 2) await delay(2);
    await clock.advance(1999);
    assert.equal(collector.received.length, 2);
    await clock.advance(1);
    await received(collector, 3);
    assert.match(String(lines.lines[0]?.fields["problem"]), /503/);
    assert.equal(lines.find("error", /./), undefined);
  });

  test("are given up when the receiver says no, or nobody is there any more", async (t) => {
    const refusing = await startCollector(t, (response) => response.writeHead(404).end());
    const { alerts, lines } = await rig(t, [
      { url: `${refusing.url}/secret-part`, on: ["failure"] },
      { url: "http://127.0.0.1:9/secret-part", on: ["failure"] },
    ]);
    alerts.observe(end("Failed"));
    await received(refusing, 1);
    await alerts.stop();
    const given = lines.lines.filter(({ level, message }) => level === "error" && /dropped/.test(message));
    assert.equal(given.length, 2);
    assert.ok(!JSON.stringify(lines.lines).includes("secret-part"), "a webhook's address is a secret");
  });

  test("of a receiver that hangs are cut off when the process stops", async (t) => {
    const hanging = await startCollector(t, () => undefined);
    const { alerts, clock } = await rig(t, [{ url: hanging.url, on: ["failure"] }]);
    alerts.observe(end("Failed"));
    await received(hanging, 1);
    await clock.until(alerts.stop(), { maxMs: 5000 });
  });

  test("that nobody takes do not pile up", async (t) => {
    const slow = await startCollector(t, () => undefined);
    const { alerts, clock } = await rig(t, [{ url: slow.url, on: ["failure"] }]);
    for (let i = 0; i < 3000; i++) alerts.observe(end("Failed", { instanceId: `order-${i}` }));
    await received(slow, 1);
    await clock.until(alerts.stop(), { maxMs: 5000 });
  });
});

describe("the body of an alert fits", () => {
  async function posted(
    t: TestContext,
    rule: Partial<AlertRule>,
    answer = "{}",
  ): Promise<Collector["received"][number]> {
    const collector = await startCollector(t, (response) => response.end(answer));
    const { alerts } = await rig(t, [{ url: `${collector.url}/hook?access_token=x`, on: ["failure"], ...rule }]);
    alerts.observe(end("Failed"));
    await received(collector, 1);
    await alerts.stop();
    return collector.received[0] as Collector["received"][number];
  }

  test("Slack", async (t) => {
    const { body } = await posted(t, { template: "slack" });
    const { text } = JSON.parse(body) as { text: string };
    assert.match(text, /^Workflow orders failed\ninstance: order-1\n/);
    assert.match(text, /task pay: no money$/);
  });

  test("DingTalk, with its own signature in the address", async (t) => {
    const { body, path } = await posted(t, { template: "dingtalk", secret: "SEC1" });
    const { msgtype, markdown } = JSON.parse(body) as { msgtype: string; markdown: { title: string; text: string } };
    assert.equal(msgtype, "markdown");
    assert.equal(markdown.title, "Workflow orders failed");
    assert.match(markdown.text, /^### Workflow orders failed\n- instance: order-1\n/);
    const query = new URL(path, "http://x").searchParams;
    assert.equal(query.get("access_token"), "x");
    assert.equal(query.get("timestamp"), String(noon));
    assert.equal(query.get("sign"), createHmac("sha256", "SEC1").update(`${noon}\nSEC1`).digest("base64"));
  });

  test("Feishu, with its own signature in the body", async (t) => {
    const { body } = await posted(t, { template: "feishu", secret: "SEC2" }, '{"code":0}');
    const seconds = String(noon / 1000);
    const sign = createHmac("sha256", `${seconds}\nSEC2`).update("").digest("base64");
    const { content, ...rest } = JSON.parse(body) as { content: { text: string } };
    assert.deepEqual(rest, { msg_type: "text", timestamp: seconds, sign });
    assert.match(content.text, /^Workflow orders failed\ninstance: order-1\n/);
  });

  test("whoever has the secret: a header signs time and body", async (t) => {
    const { body, headers } = await posted(t, { secret: "mine" });
    assert.equal(headers["x-heddle-timestamp"], String(noon));
    const signature = createHmac("sha256", "mine").update(`${noon}.${body}`).digest("hex");
    assert.equal(headers["x-heddle-signature"], `sha256=${signature}`);
  });

  test("and an answer that is polite but negative counts as a failure", async (t) => {
    const collector = await startCollector(t, (response) =>
      response.end('{"errcode":310000,"errmsg":"sign not match"}'),
    );
    const { alerts, lines } = await rig(t, [{ url: collector.url, on: ["failure"], template: "dingtalk" }]);
    alerts.observe(end("Failed"));
    await received(collector, 1);
    await alerts.stop();
    assert.match(JSON.stringify(lines.lines), /sign not match/);
  });
});

test("a rule that makes no sense is refused, with its place", () => {
  const make = (rule: object) => () =>
    new Alerts({ rules: [{ url: "http://x", on: ["failure"] }, rule as AlertRule] } as unknown as AlertsParts);
  const refused: readonly [object, RegExp][] = [
    [{ url: "ftp://x", on: ["failure"] }, /^alerts\[1\]\.url must be/],
    [{ url: "http://x", on: [] }, /^alerts\[1\]\.on must name/],
    [{ url: "http://x", on: ["fire"] }, /^alerts\[1\]\.on must hold .*got "fire"/],
    [{ url: "http://x", on: ["failure"], template: "fax" }, /^alerts\[1\]\.template must be/],
    [{ url: "http://x", on: ["long-run"] }, /^alerts\[1\]\.longRunSeconds must be/],
  ];
  for (const [rule, message] of refused) assert.throws(make(rule), { code: "OPTION_INVALID", message });
});
