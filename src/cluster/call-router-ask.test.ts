import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { busTextLengthMax } from "./bus.ts";
import { TestCluster, watch } from "./call-router.rig.ts";

function fresh(t: TestContext, options?: ConstructorParameters<typeof TestCluster>[0]): TestCluster {
  const cluster = new TestCluster(options);
  t.after(() => cluster.stop());
  return cluster;
}

describe("a question to one member", () => {
  test("goes to that member, whatever it owns, and its answer comes back", async (t) => {
    const cluster = fresh(t);
    const a = cluster.member("a", 1);
    const b = cluster.member("b");
    cluster.member("c", 2);
    const asked = watch(a.router.ask("b", "how many?", { timeoutMs: 3000 }));
    await cluster.clock.advance(10);
    assert.deepEqual(asked, { state: "resolved", value: "b says how many?" });
    assert.deepEqual(b.questions, ["how many?"]);
    assert.deepEqual(cluster.mailboxes.posted, []);
  });

  test("goes through the member's mailbox without a bus", async (t) => {
    const cluster = fresh(t, { bus: "none" });
    const a = cluster.member("a");
    cluster.member("b");
    const asked = watch(a.router.ask("b", "?", { timeoutMs: 3000 }));
    await cluster.clock.advance(2000);
    assert.deepEqual(asked, { state: "resolved", value: "b says ?" });
    assert.deepEqual(cluster.mailboxes.names, [], "nothing is left in a mailbox");
  });

  test("whose answer is too long for the bus is answered through the store", async (t) => {
    const cluster = fresh(t);
    const a = cluster.member("a");
    cluster.member("b");
    const long = "x".repeat(busTextLengthMax);
    const asked = watch(a.router.ask("b", long, { timeoutMs: 3000 }));
    await cluster.clock.advance(2500);
    assert.deepEqual(asked, { state: "resolved", value: `b says ${long}` });
  });

  test("to a member that is gone is given up in time", async (t) => {
    const cluster = fresh(t);
    const asked = watch(cluster.member("a").router.ask("nobody", "?", { timeoutMs: 3000 }));
    await cluster.clock.advance(3000);
    assert.equal(asked.state, "rejected");
    assert.match(String(asked.value), /nobody answered a call to member nobody within 3000 ms/);
  });
});
