/** Spec §12.4: the console in a real browser. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { until } from "../support/until.ts";
import { ServerRig } from "../server/rig.ts";
import { twoNodes } from "../server/sample-app.ts";
import { buildConsole, ConsolePage, startBrowser } from "./browser.rig.ts";

let browser: Browser;

before(async () => {
  buildConsole();
  browser = await startBrowser();
});

after(async () => {
  await browser.close();
});

/** A saved workflow with a schedule, an instance that succeeded, one that failed, one of code that waits. */
async function fill(rig: ServerRig, token?: string): Promise<{ done: string; failed: string; waiting: string }> {
  const sent = token === undefined ? {} : { token };
  await rig.ok("createWorkflow", {
    ...sent,
    body: { name: "saved", dagSpec: twoNodes, cronExpr: "0 2 * * *", enableSchedule: true },
  });
  const start = async (workflow: string): Promise<string> => {
    const { instanceId } = await rig.ok("triggerWorkflow", { ...sent, params: { id: workflow }, body: {} });
    return instanceId;
  };
  const done = await start("saved");
  const failed = await start("fails");
  const waiting = await start("talk");
  await rig.end(done, sent);
  await rig.end(failed, sent);
  return { done, failed, waiting };
}

const screens = [
  "/",
  "/workflows",
  "/workflows/saved",
  "/workflows/saved/runs",
  "/workflows/saved/grid",
  "/workflows/saved/schedule",
  "/workflows/saved/versions",
  "/instances",
  "/schedules",
  "/schedules/saved",
  "/jobs",
  "/domains",
  "/workers",
  "/cluster",
  "/audit",
  "/tokens",
  "/settings",
];

describe("the console in a browser", () => {
  test("12.4 shows every screen without an error, and axe finds nothing serious, in both themes", async (t) => {
    const rig = await ServerRig.start(t);
    const { done, failed, waiting } = await fill(rig);
    const ofInstance = ["graph", "timeline", "tasks", "history", "logs", "data"].map(
      (tab) => `/instances/${failed}/${tab}`,
    );
    const all = [...screens, ...ofInstance, `/instances/${done}`, `/instances/${waiting}`];
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go("/");
    for (const screen of all) {
      await shown.follow(screen);
      await shown.page.locator("main h1").first().waitFor();
      await until(async () => (await shown.page.locator("main .loading").count()) === 0);
      for (const theme of ["light", "dark"]) {
        assert.deepEqual(await shown.seriousProblems(), [], `${screen} in ${theme}`);
        await shown.press(/^Theme/);
      }
    }
    await shown.endWell();
  });

  test("12.4 an instance is followed live, and its operations say what they will do", async (t) => {
    const rig = await ServerRig.start(t);
    const { waiting } = await fill(rig);
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go(`/instances/${waiting}`);
    await shown.sees("Waits for the event “go”");
    await shown.press("Raise it");
    await shown.sees("The event is kept until the code waits for one of this name.");
    await shown.page.getByRole("dialog").getByRole("button", { name: "Raise an event" }).click();
    await shown.sees("It succeeded");
    const held = await rig.ok("triggerWorkflow", { params: { id: "holds" }, body: {} });
    await shown.go(`/instances/${held.instanceId}`);
    await shown.sees(/runs/);
    await shown.press("Terminate");
    await shown.sees("no compensation runs");
    await shown.page.getByLabel("Why? (kept with the operation)").fill("wrong day");
    await shown.page.getByRole("dialog").getByRole("button", { name: "Terminate" }).click();
    await shown.sees(/Terminated: .*wrong day/);
    await shown.endWell();
  });

  test("12.4 a failed instance is retried from the list, many at a time", async (t) => {
    const rig = await ServerRig.start(t);
    const { failed } = await fill(rig);
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go("/instances?status=Failed");
    await shown.page.getByLabel(`Select ${failed}`).check();
    await shown.press("Retry 1");
    await shown.sees("Retry 1 instance.");
    await shown.page.getByRole("dialog").getByRole("button", { name: "Retry 1" }).click();
    await shown.sees("1 of 1");
    await shown.press("Close");
    const view = await rig.ok("getInstance", { params: { id: failed } });
    assert.equal(view.generation, 2);
    await shown.endWell();
  });

  test("12.4 an operation on all that match says how many it concerns, and runs on the server", async (t) => {
    const rig = await ServerRig.start(t);
    const { failed, waiting } = await fill(rig);
    const { instanceId: second } = await rig.ok("triggerWorkflow", { params: { id: "fails" }, body: {} });
    await rig.end(second);
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go("/instances?workflow=fails");
    await shown.press("All that match …");
    await shown.page.getByRole("menuitem", { name: "Retry" }).click();
    await shown.sees(/Retry 2 instances: all that match the filters now/);
    await shown.page.getByRole("dialog").getByRole("button", { name: "Retry 2" }).click();
    await shown.sees("2 of 2");
    await shown.press("Close");
    for (const id of [failed, second]) {
      assert.equal((await rig.ok("getInstance", { params: { id } })).generation, 2);
      await rig.end(id);
    }
    await shown.press("All that match …");
    await shown.page.getByRole("menuitem", { name: "Delete" }).click();
    await shown.page.getByLabel("Type 2 to confirm").fill("2");
    await shown.page.getByRole("dialog").getByRole("button", { name: "Delete 2" }).click();
    await shown.sees("2 of 2");
    await shown.press("Close");
    await shown.sees("No instance matches the filters");
    assert.equal((await rig.ok("getInstance", { params: { id: waiting } })).status, "Running");
    await shown.endWell();
  });

  test("12.4 the logs of an instance are searched", async (t) => {
    const rig = await ServerRig.start(t);
    const { done } = await fill(rig);
    const { items } = await rig.ok("getLogs", { params: { id: done } });
    const [first] = items;
    assert.ok(first !== undefined);
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go(`/instances/${done}/logs`);
    const rows = shown.page.locator(".log-row");
    await rows.first().waitFor();
    const asked = shown.page.waitForResponse((answer) => answer.url().includes("search="));
    await shown.page.getByLabel("Find in the logs").fill(first.message.toUpperCase());
    assert.equal((await asked).status(), 200);
    await rows.filter({ hasText: first.message }).first().waitFor();
    await shown.page.getByLabel("Find in the logs").fill("nowhere to be found");
    await rows.first().waitFor({ state: "detached" });
    await shown.endWell();
  });

  test("12.4 a slider shows an instance as it was at any turn", async (t) => {
    const rig = await ServerRig.start(t);
    const { done } = await fill(rig);
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go(`/instances/${done}/tasks`);
    await shown.sees("It succeeded");
    const slider = shown.page.getByLabel("Moment of the history that is shown");
    await slider.focus();
    await slider.press("Home");
    await shown.sees(/As of .*turn/);
    assert.equal(await shown.page.locator(".instance-tab .status", { hasText: "Success" }).count(), 0);
    assert.match(shown.page.url(), /[?&]at=\d+/);
    await shown.press("Back to live");
    await shown.page.locator(".instance-tab .status", { hasText: "Success" }).first().waitFor();
    await shown.endWell();
  });

  test("12.4 goes on after the server was restarted, and misses nothing", async (t) => {
    const rig = await ServerRig.start(t);
    const port = Number(new URL(rig.server.url).port);
    await rig.restart({ port });
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go("/instances");
    await shown.sees("Live");
    await rig.stop();
    await shown.sees(/Reconnecting/);
    await rig.begin({ port });
    const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "talk" }, body: {} });
    await shown.sees("Live");
    await shown.page.locator(`[title="${instanceId}"]`).waitFor();
    // A browser reports connections that failed while nobody listened.
    await shown.close();
  });

  test("12.4 speaks Chinese, fits a phone, and is used with the keyboard", async (t) => {
    const rig = await ServerRig.start(t);
    await fill(rig);
    const shown = await ConsolePage.open(browser, rig.server.url, { language: "zh", width: 360 });
    await shown.go("/");
    for (const word of ["等待队列", "执行队列", "已完成", "失败"]) await shown.sees(word);
    const overflow = await shown.page.evaluate<number>("document.documentElement.scrollWidth - window.innerWidth");
    assert.ok(overflow <= 0, `${overflow} pixels too wide`);
    await shown.page.keyboard.press("g");
    await shown.page.keyboard.press("i");
    await shown.page.waitForURL(/\/instances$/);
    await shown.page.keyboard.press("?");
    await shown.sees("键盘快捷键");
    await shown.page.keyboard.press("Escape");
    await shown.page.getByRole("dialog").waitFor({ state: "hidden" });
    await shown.page.keyboard.press("/");
    await shown.page.getByRole("textbox", { name: "搜索" }).fill("saved");
    await shown.page.getByRole("option", { name: /saved/ }).first().waitFor();
    await shown.page.keyboard.press("Enter");
    await shown.page.waitForURL(/\/workflows\/saved/);
    await shown.endWell();
  });

  test("12.4 12.6 signs in with a token that scripts cannot read, and shows a viewer no button that would be refused", async (t) => {
    const rig = await ServerRig.start(t);
    const { token } = await rig.ok("createToken", { body: { name: "root", role: "admin" } });
    const { token: viewer } = await rig.ok("createToken", { token, body: { name: "eve", role: "viewer" } });
    const { failed } = await fill(rig, token);
    const shown = await ConsolePage.open(browser, rig.server.url);
    await shown.go("/tokens");
    await shown.page.getByLabel("Token").fill(viewer);
    await shown.press("Sign in");
    await shown.sees("eve");
    await shown.go(`/instances/${failed}`);
    await shown.sees("Why it failed");
    for (const name of ["Retry", "Terminate", "More operations"]) {
      assert.equal(await shown.page.getByRole("button", { name, exact: true }).count(), 0, name);
    }
    assert.equal(await shown.page.getByRole("link", { name: "Tokens" }).count(), 0);
    const seen = await shown.page.evaluate<string>(
      "document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })",
    );
    assert.ok(!seen.includes("hdl_"));
    await shown.press("eve");
    await shown.page.getByRole("menuitem", { name: "Sign out" }).click();
    await shown.sees("This server asks for a token");
    // The page of an admin was opened without a session: the one refusal is its own.
    await shown.close();
  });
});
