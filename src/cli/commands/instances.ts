import type { Command } from "commander";
import type { DataOf } from "../../api/routes.ts";
import type { HeddleClient } from "../../client/client.ts";
import { type ClientOptions, clientCommand, sessionOf } from "../client-command.ts";
import { statusColour } from "../colour.ts";
import { UsageError } from "../exit-code.ts";
import { choiceGiven, countGiven } from "../given-value.ts";
import type { Output } from "../output.ts";
import { commandText } from "../program-name.ts";
import { labelsOf } from "../progress.ts";
import { progressText } from "../progress-text.ts";
import { adviceFor, noticeText } from "../notices.ts";
import { type Column, cut, oneLine, tableText } from "../table.ts";
import { durationText, timeText } from "../time-text.ts";

type Summary = DataOf<"listInstances">["items"][number];
type View = DataOf<"getInstance">;

export const statuses: readonly Summary["status"][] = ["Ready", "Running", "Paused", "Success", "Failed", "Terminated"];

/** Schedules are instances too; `heddle schedule list` shows them. */
const scheduleWorkflowName = "heddle.schedule";

interface ListOptions extends ClientOptions {
  readonly workflow?: string;
  readonly status?: string;
  readonly prefix?: string;
  readonly app?: string;
  readonly limit: string;
}

export function listCommand(): Command {
  return clientCommand("list", "List instances, newest first.")
    .option("-w, --workflow <name>", "only instances of this workflow")
    .option("-s, --status <statuses>", `only these statuses, separated by commas: ${statuses.join(", ")}`)
    .option("-p, --prefix <text>", "only instance ids with this prefix")
    .option("--app <name>", "only instances of this application")
    .option("-n, --limit <count>", "maximum number of instances", "20")
    .action(async (options: ListOptions) => {
      const { client, output } = sessionOf(options);
      const limit = countGiven("--limit", options.limit);
      const status = options.status?.split(",").map((each) => choiceGiven("--status", each.trim(), statuses));
      const query = {
        limit: Math.min(limit, 1000),
        waits: "true",
        ...(options.workflow !== undefined && { workflow: options.workflow }),
        ...(status !== undefined && { status: status.join(",") }),
        ...(options.prefix !== undefined && { idPrefix: options.prefix }),
        ...(options.app !== undefined && { app: options.app }),
      };
      const rows: Summary[] = [];
      for await (const row of client.items("listInstances", { query })) {
        if (row.workflowName === scheduleWorkflowName && options.workflow === undefined) continue;
        rows.push(row);
        if (rows.length >= limit) break;
      }
      output.list(rows, columnsFor(output), `No instances. ${commandText("run <workflow>", client.url)} starts one.`);
    });
}

function columnsFor(output: Output): Column<Summary>[] {
  return [
    { title: "instance", text: ({ instanceId }) => instanceId },
    { title: "workflow", text: ({ workflowName }) => workflowName },
    {
      title: "status",
      text: ({ status, quarantined }) => (quarantined === null ? status : `${status} (quarantined)`),
      paint: ({ status }, text) => output.colour(statusColour(status), text),
    },
    { title: "created", text: ({ createdAt }) => timeText(createdAt) },
    {
      title: "took",
      text: ({ createdAt, endedAt }) => (endedAt === null ? "" : durationText(endedAt - createdAt)),
      right: true,
    },
    { title: "reason, or what it waits for", text: (row) => cut(whyText(row), output.isTerminal ? 60 : Infinity) },
  ];
}

function whyText({ reason, waiting = [], waitingTotal = 0 }: Summary): string {
  const [first] = waiting;
  if (first === undefined) return reason ?? "";
  const age = first.since === undefined ? "" : ` (${durationText(Math.max(0, Date.now() - first.since))} so far)`;
  return `${first.text}${age}${waitingTotal > 1 ? `, and ${waitingTotal - 1} more` : ""}`;
}

interface ShowOptions extends ClientOptions {
  readonly task?: string;
  readonly attempts?: true;
  readonly items?: true;
  readonly failed?: true;
  readonly limit: string;
}

export function showCommand(): Command {
  return clientCommand("show", "Show the state of an instance, task by task.")
    .argument("<instance>")
    .option(
      "-t, --task <name>",
      "show one task, by name or number (`name#2` is the second of that name), with progress and sub-task counts",
    )
    .option("-a, --attempts", "show every attempt of its tasks, with worker, times and failure")
    .option("-i, --items", "show the items of its maps, or of the map that --task names")
    .option("--failed", "with --items: only items that failed")
    .option("-n, --limit <count>", "with --items: maximum number of items of each map", "100")
    .action(async (id: string, options: ShowOptions) => {
      if (options.failed && !options.items) throw new UsageError("--failed is about items of maps: add --items");
      const { client, output } = sessionOf(options);
      if (options.items) {
        const items = await itemsOf(client, id, options);
        return output.give(items, () => itemsText(items, options, output));
      }
      if (options.attempts) {
        const { items } = await client.call("listAttempts", { params: { id } });
        return output.give(items, () => tableText(attemptColumns(output.colour), items));
      }
      if (options.task !== undefined) {
        const nodeId = await nodeIdOf(client, id, options.task);
        const details = await client.call("getNode", { params: { id, nodeId } });
        return output.give(details, () => detailsText(details, output));
      }
      const view = await client.call("getInstance", { params: { id } });
      output.give(view, () => viewText(view, output, client));
    });
}

type Item = DataOf<"listMapItems">["items"][number] & { readonly task: string };

async function itemsOf(client: HeddleClient, id: string, options: ShowOptions): Promise<Item[]> {
  const limit = countGiven("--limit", options.limit);
  const maps = options.task === undefined ? await mapsOf(client, id) : [await nodeIdOf(client, id, options.task)];
  const filter = options.failed ? { status: "Failed,TimeoutFailed" } : {};
  const items: Item[] = [];
  for (const task of maps) {
    const call = { params: { id, nodeId: task }, query: { limit: Math.min(limit, 1000), ...filter } };
    const end = items.length + limit;
    for await (const item of client.items("listMapItems", call)) {
      items.push({ ...item, task });
      if (items.length >= end) break;
    }
  }
  return items;
}

async function mapsOf(client: HeddleClient, id: string): Promise<string[]> {
  const { tasks } = await client.call("getInstance", { params: { id } });
  return tasks.filter(({ kind }) => kind === "map").map(({ name }) => name);
}

function itemsText(items: readonly Item[], { task, failed }: ShowOptions, { colour }: Output): string {
  if (items.length > 0) return tableText(itemColumns(colour), items);
  const of = task === undefined ? "The instance" : `The map ${oneLine(task)}`;
  return `${of} has no items${failed ? " that failed" : ""}.`;
}

function itemColumns(colour: Output["colour"]): Column<Item>[] {
  return [
    { title: "task", text: ({ task }) => task },
    { title: "item", text: ({ index }) => String(index), right: true },
    { title: "status", text: ({ status }) => status, paint: ({ status }, text) => colour(statusColour(status), text) },
    { title: "attempt", text: ({ attempt }) => (attempt === 0 ? "" : String(attempt)), right: true },
    { title: "worker", text: ({ worker }) => worker ?? "" },
    { title: "value", text: ({ item }) => cut(JSON.stringify(item) ?? "", 40) },
    {
      title: "result",
      text: ({ failure, output }) => cut(failure?.message ?? (output === undefined ? "" : JSON.stringify(output)), 60),
    },
  ];
}

/** Resolves `name#2`, the label of the second task of that name: code may run a job several times. */
async function nodeIdOf(client: HeddleClient, id: string, task: string): Promise<string> {
  if (!/#\d+$/.test(task)) return task;
  const { tasks } = await client.call("getInstance", { params: { id } });
  if (tasks.some(({ name }) => name === task)) return task;
  const found = tasks[labelsOf(tasks).indexOf(task)];
  return found === undefined ? task : String(found.nodeId);
}

function viewText(view: View, { colour }: Output, client: HeddleClient): string {
  const { status, createdAt, startedAt, endedAt, tasks } = view;
  const facts: [string, string | undefined][] = [
    ["instance", view.instanceId],
    ["workflow", `${view.workflowName} (${view.kind}, version ${view.workflowVersion})`],
    ["status", colour(statusColour(status), statusText(view))],
    ["trigger", view.trigger],
    ["created", timeText(createdAt)],
    ["updated", timeText(view.updatedAt)],
    ["history", `${view.historyLength} events`],
    ["took", endedAt === undefined ? undefined : durationText(endedAt - (startedAt ?? createdAt))],
    ["parent", view.parentInstanceId],
    ["reason", view.reason],
    ["attention", view.attention],
    ["says", view.customStatus === undefined ? undefined : JSON.stringify(view.customStatus)],
  ];
  const parts = [factsText(facts), ...waitsText(view, client)];
  if (tasks.length > 0) parts.push(tableText(taskColumns(colour), withLabels(tasks)));
  return [...parts, ...tasks.flatMap(stackText)].join("\n\n");
}

/** Lists the waits of the instance, one line each, and the events that nobody has waited for. */
function waitsText(
  { instanceId, waiting, waitingTotal, untakenEvents }: View,
  { url }: Pick<HeddleClient, "url">,
): string[] {
  const now = Date.now();
  const lines = waiting.map((wait) => {
    const advice = adviceFor(wait, instanceId, (words) => commandText(words, url));
    const line = "line" in wait && wait.line !== undefined ? `, ${wait.line.file}:${wait.line.line}` : "";
    return oneLine(noticeText({ text: `${wait.text}${line}`, since: wait.since, advice }, now));
  });
  if (waitingTotal > waiting.length) lines.push(`and ${waitingTotal - waiting.length} more`);
  const events = untakenEvents.map(({ name, count, since }) =>
    oneLine(`event ${JSON.stringify(name)} × ${count} since ${timeText(since)}`),
  );
  return [listText("Waits for", lines), listText("Came, but the code has not waited for it", events)].flat();
}

function listText(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:\n${lines.map((line) => `  ${line}`).join("\n")}`];
}

function factsText(facts: readonly (readonly [string, string | undefined])[]): string {
  return facts
    .filter(([, text]) => text !== undefined)
    .map(([name, text]) => `${name.padEnd(10)} ${name === "status" ? text : oneLine(text ?? "")}`)
    .join("\n");
}

function detailsText(task: DataOf<"getNode">, { colour }: Output): string {
  const { status, cause, startedAt, endedAt, retryAt, failure, subTasks } = task;
  const counts = Object.entries(subTasks).map(([each, count]) => `${count} ${each}`);
  const facts: [string, string | undefined][] = [
    ["task", `${task.name} (number ${task.number}, ${task.kind})`],
    ["status", colour(statusColour(status), cause === undefined ? status : `${status} (${cause})`)],
    ["job", task.job],
    ["attempt", task.attempt === 0 ? undefined : String(task.attempt)],
    ["worker", task.worker],
    ["progress", task.progress && progressText(task.progress)],
    ["started", startedAt === undefined ? undefined : timeText(startedAt)],
    ["ended", endedAt === undefined ? undefined : timeText(endedAt)],
    ["retry at", retryAt === undefined ? undefined : timeText(retryAt)],
    ["waits for", task.wait?.text],
    ["child", task.childInstanceId],
    ["parent", task.parentTask],
    ["sub-tasks", counts.length === 0 ? undefined : counts.join(", ")],
    ["failure", failure === undefined ? undefined : `${failure.type}: ${failure.message}`],
  ];
  return [factsText(facts), ...stackText(task)].join("\n\n");
}

function statusText({ status, pausing, withSkippedFailures }: View): string {
  return `${status}${pausing ? ", pausing" : ""}${withSkippedFailures ? ", with skipped failures" : ""}`;
}

const stackLinesMax = 12;

/** The stack trace of a failed task, cut to a few lines. Frames below the job, of the engine that called it, are left out. */
function stackText({ name, failure }: Task): string[] {
  if (failure?.stack === undefined) return [];
  const all = failure.stack.split("\n");
  const engine = all.findIndex((line) => /^\s*at callJob \(.*\bworker\b/.test(line));
  const lines = all.slice(0, engine > 0 ? Math.min(engine, stackLinesMax) : stackLinesMax);
  return [`${oneLine(name)} failed:\n${lines.map((line) => `  ${oneLine(line)}`).join("\n")}`];
}

type Attempt = DataOf<"listAttempts">["items"][number];

function attemptColumns(colour: Output["colour"]): Column<Attempt>[] {
  return [
    { title: "task", text: ({ name }) => name },
    { title: "attempt", text: ({ attempt }) => String(attempt), right: true },
    { title: "status", text: ({ status }) => status, paint: ({ status }, text) => colour(statusColour(status), text) },
    { title: "retries", text: ({ retryCount }) => String(retryCount), right: true },
    { title: "worker", text: ({ worker }) => worker ?? "" },
    { title: "started", text: ({ startedAt }) => (startedAt === undefined ? "" : timeText(startedAt)) },
    { title: "ended", text: ({ endedAt }) => (endedAt === undefined ? "" : timeText(endedAt)) },
    { title: "failure", text: ({ failure }) => (failure === undefined ? "" : `${failure.type}: ${failure.message}`) },
  ];
}

type Task = View["tasks"][number];

function withLabels(tasks: readonly Task[]): Task[] {
  const labels = labelsOf(tasks);
  return tasks.map((task, place) => ({ ...task, name: labels[place] ?? task.name }));
}

function taskColumns(colour: Output["colour"]): Column<Task>[] {
  return [
    { title: "task", text: ({ name }) => name },
    { title: "status", text: ({ status }) => status, paint: ({ status }, text) => colour(statusColour(status), text) },
    { title: "attempt", text: ({ attempt }) => (attempt === 0 ? "" : String(attempt)), right: true },
    { title: "started", text: ({ startedAt }) => (startedAt === undefined ? "" : timeText(startedAt)) },
    {
      title: "took",
      text: ({ startedAt, endedAt }) =>
        startedAt === undefined || endedAt === undefined ? "" : durationText(endedAt - startedAt),
      right: true,
    },
    { title: "about", text: aboutTask },
  ];
}

function aboutTask({ failure, wait, retryAt, childInstanceId, progress, items }: Task): string {
  if (items !== undefined && failure === undefined) {
    const failed = items.failed === 0 ? "" : `, ${items.failed} failed`;
    return `${items.succeeded} of ${items.total} items done${failed}`;
  }
  if (progress !== undefined) return progressText(progress);
  if (retryAt !== undefined) return `next attempt ${timeText(retryAt)}${failure ? `, after: ${failure.message}` : ""}`;
  return failure?.message ?? wait?.text ?? (childInstanceId === undefined ? "" : `→ ${childInstanceId}`);
}
