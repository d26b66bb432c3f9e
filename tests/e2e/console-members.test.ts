/** Spec §12.4, §12.2: the console at one address in front of two members of a cluster. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import type { Browser } from "playwright-core";
import { HeddleClient } from "../../src/client.ts";
import { begin, root, type Running } from "../cli/program.ts";
import { newDatabase } from "../databases/databases.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { Balancer } from "./balancer.rig.ts";
import { buildConsole, ConsolePage, startBrowser } from "./browser.rig.ts";

let browser: Browser;

before(async () => {
  buildConsole();
  browser = await startBrowser();
});

after(async () => {
  await browser.close();
});

const app = `
import { defineWorkflow } from ${JSON.stringify(join(root, "src/index.ts"))};
export const talk = defineWorkflow("talk", async (ctx) => await ctx.waitForEvent("go"));
`;

interface Member {
  readonly url: string;
  readonly running: Running;
}

async function twoMembers(t: TestContext): Promise<{ members: readonly Member[]; token: string }> {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "app.ts"), app);
  const env = {
    HEDDLE_APP: "app.ts",
    HEDDLE_STORAGE: await newDatabase("postgres", t),
    HEDDLE_CLUSTER_ENABLED: "true",
    HEDDLE_CLUSTER_BUS: "notify",
    HEDDLE_CLUSTER_SHARDS: "16",
    HEDDLE_CLUSTER_TIMINGS: JSON.stringify({ beatMs: 300, suspectMs: 1500, lostMs: 2500 }),
    HEDDLE_DRAIN_SECONDS: "1",
  };
  const start = async (): Promise<Member> => {
    const running = begin(t, ["server", "--port", "0"], { cwd: folder, env });
    const [, url = ""] = await running.says(/"url":"([^"]+)".*the server is ready/);
    return { url, running };
  };
  const members = [await start(), await start()];
  const [first] = members;
  assert.ok(first !== undefined);
  const { token } = await new HeddleClient({ url: first.url }).call("createToken", {
    body: { name: "ann", role: "admin" },
  });
  const client = new HeddleClient({ url: first.url, token });
  await until(async () => (await client.call("getCluster")).upMembers === 2, { everyMs: 100 });
  return { members, token };
}

describe("the console in front of two members", () => {
  test("12.4 12.2 one sign-in, one list and one live view, and nothing is missed when a member dies", async (t) => {
    const { members, token } = await twoMembers(t);
    const clients = members.map(({ url }) => new HeddleClient({ url, token }));
    const balancer = await Balancer.before(members.map(({ url }) => url));
    t.after(() => balancer.close());
    const ids: string[] = [];
    for (const client of [...clients, ...clients, ...clients]) {
      ids.push((await client.call("triggerWorkflow", { params: { id: "talk" }, body: {} })).instanceId);
    }
    const shown = await ConsolePage.open(browser, balancer.url);
    await shown.go("/");
    await shown.page.getByLabel("Token").fill(token);
    await shown.press("Sign in");
    await shown.sees("ann");
    await shown.follow("/instances");
    await shown.sees("Live");
    for (const id of ids) await shown.page.locator(`[title="${id}"]`).first().waitFor();
    const waits = shown.page.getByText("Waits for the event “go”").filter({ visible: true });
    await until(async () => (await waits.count()) === ids.length, { everyMs: 100 });
    for (const { url } of members) assert.ok((balancer.counts.get(url) ?? 0) > 0, `${url} served nothing`);
    await shown.follow("/cluster");
    await shown.page.locator("main tbody tr").nth(1).waitFor();

    const [watched = "", other = ""] = ids;
    for (const [place, client] of clients.entries()) {
      const id = ids[place + 2] ?? "";
      await shown.follow(`/instances/${id}`);
      await shown.sees("Waits for the event “go”");
      await raise(client, id);
      await shown.sees("It succeeded");
    }

    await shown.follow(`/instances/${watched}`);
    await shown.sees("Waits for the event “go”");
    const dead = members.find(({ url }) => url === balancer.socketTarget);
    const alive = members.find((each) => each !== dead);
    assert.ok(dead !== undefined && alive !== undefined, "the page's socket is with one of the members");
    const survivor = new HeddleClient({ url: alive.url, token });
    dead.running.child.kill("SIGKILL");
    await dead.running.ended;
    balancer.remove(dead.url);
    // Both happen while the page has no connection, or a new one: neither may be missed.
    for (const id of [watched, other]) await until(() => tries(() => raise(survivor, id)), { everyMs: 100 });
    await shown.sees("It succeeded");
    await shown.sees("Live");
    await shown.follow("/instances");
    const row = shown.page.getByRole("row").filter({ has: shown.page.locator(`[title="${other}"]`) });
    await row.getByText("Success").waitFor();
    // A browser reports connections that broke.
    await shown.close();
  });
});

async function raise(client: HeddleClient, id: string): Promise<unknown> {
  return await client.call("raiseEvent", { params: { id, name: "go" }, body: 1 });
}

/** The survivor answers for a dead member's instances once it has taken them over. */
async function tries(act: () => Promise<unknown>): Promise<boolean> {
  return await act().then(
    () => true,
    () => false,
  );
}
