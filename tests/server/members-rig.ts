import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { paths, type RouteName } from "../../src/api/paths.ts";
import { HeddleClient } from "../../src/client.ts";
import { begin, root, type Running } from "../cli/program.ts";
import { newDatabase } from "../databases/databases.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { Watcher } from "./push-rig.ts";
import { twoNodes } from "./sample-app.ts";
import { type Subjects, validRequests } from "./valid-requests.ts";

/** A server in a process of its own. */
export interface Member {
  readonly url: string;
  readonly running: Running;
  readonly client: HeddleClient;
  /** Hears of everything that happens. */
  readonly wide: Watcher;
}

const jobs = `
import { defineJob, TaskBuilder, WorkflowBuilder } from ${JSON.stringify(join(root, "src/index.ts"))};
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const nap = defineJob("nap", () => pause(40));
const builder = new WorkflowBuilder().withName("steps");
for (let step = 0; step < 30; step++) {
  const task = new TaskBuilder("t" + step).withJobFunction("nap");
  builder.withTask(step === 0 ? task : task.withDependency("t" + (step - 1)));
}
export const steps = builder.build();
const wide = new WorkflowBuilder().withName("wide").withMaxConcurrentTasks(1);
for (let at = 0; at < 4; at++) wide.withTask(new TaskBuilder("w" + at).withJobFunction("hold"));
export const hold = defineJob("hold", (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("stopped"))));
export const held = wide.build();
export const talk = defineJob("talk", async (_, ctx) => {
  for (let page = 1; page <= 5; page++) {
    ctx.log.info({ page }, "page " + page + " of " + ctx.taskName);
    ctx.progress({ done: page, total: 5 });
    await pause(400);
  }
});
const talks = new WorkflowBuilder().withName("talks");
for (let at = 0; at < 3; at++) talks.withTask(new TaskBuilder("talk" + at).withJobFunction("talk"));
export const talking = talks.build();
`;

const timings = { beatMs: 300, suspectMs: 1500, lostMs: 2500 };

/** Three members on one PostgreSQL. Four slots each, of which one is held, so that tasks run on slots of other members. */
export async function threeMembers(t: TestContext, bus: string): Promise<[Member, Member, Member]> {
  const storage = await newDatabase("postgres", t);
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "app.ts"), jobs);
  const env = {
    HEDDLE_APP: "app.ts",
    HEDDLE_STORAGE: storage,
    HEDDLE_CLUSTER_ENABLED: "true",
    HEDDLE_CLUSTER_BUS: bus,
    HEDDLE_CLUSTER_SHARDS: "24",
    HEDDLE_CLUSTER_TIMINGS: JSON.stringify(timings),
    HEDDLE_DRAIN_SECONDS: "1",
    HEDDLE_POOL_SIZE: "4",
  };
  const start = async (): Promise<Member> => {
    const running = begin(t, ["server", "--port", "0"], { cwd: folder, env });
    const [, url = ""] = await running.says(/"url":"([^"]+)".*the server is ready/);
    const wide = await Watcher.open({ url });
    return { url, running, client: new HeddleClient({ url }), wide };
  };
  const members = await Promise.all([start(), start(), start()]);
  for (const { client } of members) {
    await within(20_000, async () => (await client.call("getCluster")).workerCount === 3);
  }
  for (const { wide } of members) await wide.subscribe({ all: true });
  return members;
}

export async function within<Value>(ms: number, look: () => Promise<Value | undefined | false>): Promise<Value> {
  for (const end = performance.now() + ms; ; await sleep(50)) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    assert.ok(performance.now() < end, `it did not come to be within ${ms} ms`);
  }
}

/** Saves the workflow and the schedule that requests are about. */
export async function saveSubjects(client: HeddleClient, instance: string): Promise<Subjects> {
  const subjects = { instance, workflow: "saved", schedule: "yearly", token: "none" };
  await client.call("createWorkflow", { body: { name: subjects.workflow, dagSpec: twoNodes } });
  const every = { cron: "0 0 1 1 *" };
  await client.call("createSchedule", { body: { scheduleId: subjects.schedule, workflow: "steps", every } });
  return subjects;
}

/** What is of the member that answers. */
const ofOneMember: ReadonlySet<RouteName> = new Set(["countOwnTasks", "getExecutor"]);

/** True for a field that differs by who answers, or when. */
function isOwn(route: RouteName, field: string): boolean {
  // The period of which the counts are.
  if (route === "getStats" && (field === "from" || field === "to")) return true;
  return ["selfAddress", "duration", "durationMs", "spentMs"].includes(field);
}

/** The answers to every request that changes nothing, as text, without what differs by who answers and when. */
async function answersOf({ url }: Member, subjects: Subjects): Promise<Record<string, string>> {
  const requests = validRequests(subjects);
  const answers = await Promise.all(
    Object.entries(paths).map(async ([name, methodAndPath]) => {
      const [method, path = ""] = methodAndPath.split(" ");
      const route = name as RouteName;
      if (method !== "GET" || ofOneMember.has(route)) return [];
      const { params, query } = requests[route];
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(params?.[key] ?? ""));
      const asked = new URLSearchParams(
        Object.entries(query ?? {}).map(([key, value]): [string, string] => [key, String(value)]),
      );
      const answer = await fetch(`${url}${filled}?${asked.toString()}`);
      const text = JSON.stringify(JSON.parse(await answer.text()), (key, value: unknown) =>
        isOwn(route, key) ? undefined : value,
      );
      return [[name, `${answer.status} ${answer.headers.get("link") ?? ""} ${text}`] as const];
    }),
  );
  return Object.fromEntries(answers.flat());
}

/** Every route answers the same at all of them, before long. Returns the number of the routes. */
export async function assertAlike(members: readonly Member[], subjects: Subjects): Promise<number> {
  let different = "";
  await within(20_000, async () => {
    const [first = {}, ...others] = await Promise.all(members.map((member) => answersOf(member, subjects)));
    const names = Object.keys(first).filter((name) => others.some((other) => other[name] !== first[name]));
    const now = names.map((name) => [first, ...others].map((all) => `${name}: ${all[name]}`).join("\n")).join("\n");
    different = now;
    return different === "";
  }).catch((error: unknown) => {
    throw new Error(`members answer differently:\n${different}`, { cause: error });
  });
  return Object.keys(await answersOf(members[0] as Member, subjects)).length;
}
