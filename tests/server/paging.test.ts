/** Spec §12.1: lists come in pages, and going on to the end shows everything once. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { RouteName } from "../../src/api/paths.ts";
import { type Sent, ServerRig } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";

interface Page {
  readonly items: readonly unknown[];
  readonly next: string | null;
}

async function all(rig: ServerRig, name: RouteName, sent: Sent, cursorName = "cursor"): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let next: string | null | undefined; next !== null;) {
    const query = { ...sent.query, ...(next !== undefined && { [cursorName]: next }) };
    const page = (await rig.ok(name, { ...sent, query })) as Page;
    found.push(...page.items);
    next = page.next;
  }
  return found;
}

describe("paging", () => {
  test("12.1 goes over 120 instances, newest first, each once, whatever comes meanwhile", async (t) => {
    const rig = await ServerRig.start(t);
    const started: string[] = [];
    for (let at = 0; at < 120; at++) {
      started.push((await rig.ok("triggerWorkflow", { params: { id: "hello" } })).instanceId);
    }
    const first = await rig.ok("listInstances", { query: { limit: 50 } });
    await rig.ok("triggerWorkflow", { params: { id: "hello" } });
    const rest = await all(rig, "listInstances", { query: { limit: 7, cursor: first.next ?? "" } });
    const ids = [...first.items, ...(rest as typeof first.items)].map(({ instanceId }) => instanceId);
    assert.deepEqual(ids.length, 120);
    assert.deepEqual(ids.toSorted(), started.toSorted());
    const none = await rig.ok("listInstances", { query: { idPrefix: "nobody" } });
    assert.deepEqual(none, { items: [], next: null });
  });

  test("12.1 goes over workflows, versions, history, logs and the audit log", async (t) => {
    const rig = await ServerRig.start(t);
    for (const name of ["b", "d", "z"]) await rig.ok("createWorkflow", { body: { name, dagSpec: twoNodes } });
    const workflows = (await all(rig, "listWorkflows", { query: { limit: 2 } })) as { name: string }[];
    assert.deepEqual(
      workflows.map(({ name }) => name),
      ["b", "d", "fails", "hello", "holds", "order", "pauses", "talk", "z"],
    );
    for (let at = 0; at < 4; at++) {
      const dagSpec = { ...twoNodes, timeoutSeconds: at + 10 };
      await rig.ok("updateWorkflow", { params: { id: "b" }, body: { dagSpec } });
    }
    const versions = (await all(rig, "listWorkflowVersions", { params: { id: "b" }, query: { limit: 2 } })) as {
      isCurrent: boolean;
    }[];
    assert.deepEqual(
      versions.map(({ isCurrent }) => isCurrent),
      [true, false, false, false, false],
    );
    const { instanceId: id } = await rig.ok("triggerWorkflow", { params: { id: "b" } });
    await rig.end(id);
    const turns = (await all(rig, "getHistory", { params: { id }, query: { limit: 1 } }, "afterTurn")) as {
      turn: number;
    }[];
    assert.deepEqual(
      turns.map(({ turn }) => turn),
      turns.map((_, at) => at),
    );
    assert.ok(turns.length >= 2);
    const lines = (await all(rig, "getLogs", { params: { id }, query: { limit: 1 } }, "after")) as {
      taskName: string;
    }[];
    assert.deepEqual(
      lines.map(({ taskName }) => taskName),
      ["a", "b"],
    );
    const ofB = await all(rig, "getLogs", { params: { id }, query: { limit: 1, task: "b" } }, "after");
    assert.equal(ofB.length, 1);
    const audit = (await all(rig, "listAudit", { query: { limit: 3 } })) as { what: string }[];
    assert.deepEqual(
      audit.map(({ what }) => what),
      ["triggerWorkflow", ...Array<string>(4).fill("updateWorkflow"), ...Array<string>(3).fill("createWorkflow")],
    );
  });
});
