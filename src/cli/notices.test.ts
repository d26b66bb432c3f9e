import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { noticesOf, noticeText } from "./notices.ts";

type Wait = Parameters<typeof noticesOf>[0]["waiting"][number];

const commandOf = (words: string): string => `heddle ${words}`;

function textsOf(waiting: readonly Wait[], waitingTotal = waiting.length): string[] {
  const view = { instanceId: "order-1", waiting, waitingTotal };
  return noticesOf(view, commandOf).map((notice) => noticeText(notice, 13_000));
}

function task(name: string, more: Partial<Extract<Wait, { kind: "task" }>>): Wait {
  const text = `task "${name}", which waits for a free slot in domain etl`;
  return { kind: "task", text, task: 0, taskName: name, attempt: 1, reason: "domain", ...more };
}

const event: Wait = { kind: "event", name: "approve", text: 'event "approve"', since: 1000 };

describe("notices", () => {
  test("say what is waited for, since when, and what to do", () => {
    assert.deepEqual(textsOf([event]), [
      'waiting for event "approve" (12 s so far); raise it with: heddle event order-1 approve',
    ]);
    const child: Wait = { kind: "child", text: "a child", task: 0, taskName: "ship", childInstanceId: "order-1/2" };
    assert.deepEqual(textsOf([child]), ["waiting for a child; look at it with: heddle show order-1/2"]);
    assert.deepEqual(textsOf([task("a", { since: 4000 })]), [
      'waiting for task "a", which waits for a free slot in domain etl (9.0 s so far)',
    ]);
    const noWorker = task("a", { reason: "no-worker", text: "job ocr" });
    assert.deepEqual(textsOf([noWorker]), ["waiting for job ocr; start a worker with: heddle worker <file>"]);
  });

  test("quote the name of an event for the shell", () => {
    const [text = ""] = textsOf([{ ...event, name: "it's ok" }]);
    assert.ok(text.endsWith("heddle event order-1 'it'\\''s ok'"), text);
  });

  test("are silent about waits while a task runs, but not about the instance as a whole", () => {
    const running = task("a", { reason: "running" });
    assert.deepEqual(textsOf([event, running]), []);
    const paused: Wait = { kind: "instance", reason: "paused", text: "a resume" };
    assert.deepEqual(textsOf([paused, event, running]), [
      "waiting for a resume; resume it with: heddle resume order-1",
    ]);
  });

  test("are three at most", () => {
    const tasks = ["a", "b", "c", "d"].map((name) => task(name, { text: name }));
    assert.deepEqual(textsOf(tasks, 900), [
      "waiting for a",
      "waiting for b",
      "waiting for c",
      "and for 897 more; list them with: heddle show order-1",
    ]);
  });
});
