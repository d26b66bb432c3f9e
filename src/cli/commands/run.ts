import type { Command } from "commander";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { didYouMean } from "../../base/closest-name.ts";
import type { HeddleClient, InstanceResult } from "../../client/client.ts";
import { HeddleClientError } from "../../client/client-error.ts";
import { type ClientOptions, clientCommand, type Session, sessionOf } from "../client-command.ts";
import { statusColour } from "../colour.ts";
import { readDefinition, saveDefinition } from "../definition-file.ts";
import { exitCodes, UsageError } from "../exit-code.ts";
import { countGiven, jsonGiven } from "../given-value.ts";
import { type Notice, noticesOf } from "../notices.ts";
import { Progress } from "../progress.ts";
import { displayFor } from "../progress-display.ts";
import { commandText, programName } from "../program-name.ts";

interface StartOptions extends ClientOptions {
  readonly input?: string;
  readonly id?: string;
  readonly maxConcurrentTasks?: string;
  readonly app?: string;
}

const redrawMs = 100;
const askMs = 1000;

function startingCommand(name: string, description: string): Command {
  return clientCommand(name, description)
    .argument("<workflow>", "workflow name, or a dag-spec file, which is saved first")
    .option("-i, --input <json>", "input: JSON, @file or - for standard input")
    .option("--id <instance>", "instance id; default: a new UUID")
    .option("--max-concurrent-tasks <number>", "concurrency limit of a DAG instance")
    .option("--app <name>", "application that the instance belongs to");
}

export function submitCommand(): Command {
  return startingCommand("submit", "Start a workflow and print the instance id.").action(
    async (workflow: string, options: StartOptions) => {
      const { client, output } = sessionOf(options);
      const instanceId = await start({ client, output }, workflow, options);
      output.give({ instanceId }, () => instanceId);
    },
  );
}

export function runCommand(): Command {
  return startingCommand("run", "Start a workflow, show its progress, and print its result.").action(
    async (workflow: string, options: StartOptions) => {
      await followWith(options, await start(sessionOf(options), workflow, options));
    },
  );
}

async function start(
  { client, output }: Pick<Session, "client" | "output">,
  workflow: string,
  options: StartOptions,
): Promise<string> {
  const input = options.input === undefined ? undefined : jsonGiven("--input", options.input);
  const { id: instanceId, maxConcurrentTasks, app } = options;
  const given = {
    ...(instanceId !== undefined && { instanceId }),
    ...(app !== undefined && { app }),
    ...(maxConcurrentTasks !== undefined && {
      maxConcurrentTasks: countGiven("--max-concurrent-tasks", maxConcurrentTasks),
    }),
  };
  const name = await nameOf(client, workflow);
  const earlier = instanceId === undefined ? undefined : await findStatus(client, instanceId);
  try {
    const started = await client.start(name, input, given);
    if (earlier !== undefined) output.warn(repeatText(started, { status: earlier, url: client.url }));
    return started;
  } catch (error) {
    if (error instanceof HeddleClientError && error.code === "WORKFLOW_UNKNOWN")
      throw await unknown(client, name, { refusal: error, namespace: options.namespace });
    throw error;
  }
}

async function findStatus(client: HeddleClient, instanceId: string): Promise<string | undefined> {
  try {
    return (await client.call("getResult", { params: { id: instanceId } })).status;
  } catch (error) {
    if (error instanceof HeddleClientError && error.code === "INSTANCE_UNKNOWN") return undefined;
    throw error;
  }
}

/** Says that a repeated start has started nothing: the id and the input are those of an earlier one. */
function repeatText(instanceId: string, { status, url }: { status: string; url: string }): string {
  const retry =
    status === "Failed" ? ` Run its failed tasks again with: ${commandText(`retry ${instanceId}`, url)}` : "";
  return `Instance ${instanceId} was started before and is ${status}; nothing new was started.${retry}`;
}

/** Adds the closest known workflow name to the error. */
async function unknown(
  client: HeddleClient,
  name: string,
  { refusal, namespace }: { refusal: HeddleClientError; namespace: string | undefined },
): Promise<HeddleClientError> {
  const known: string[] = [];
  for await (const workflow of client.items("listWorkflows")) known.push(workflow.name);
  const { code, status, details } = refusal;
  const where = namespace === undefined || namespace === "" ? "here" : `in namespace "${namespace}"`;
  const message = `no workflow "${name}" is known ${where}${didYouMean(name, known)}`;
  return new HeddleClientError(message, { code, status, details, cause: refusal });
}

async function nameOf(client: HeddleClient, workflow: string): Promise<string> {
  if (/\.[cm]?[jt]s$/.test(workflow)) {
    throw new UsageError(`a server runs the workflows of a program: start it with ${programName()} dev ${workflow}`);
  }
  const isFile = workflow.endsWith(".json") || (workflow.includes("/") && existsSync(workflow));
  if (!isFile) return workflow;
  return (await saveDefinition(client, readDefinition(workflow))).name;
}

/** Shows an instance's progress, and prints its result. */
export async function followWith(options: ClientOptions, instanceId: string): Promise<void> {
  // The session waits through restarts of the server; `asking` does not, so that it can report that the server is away.
  const asking = sessionOf(options, { retriesMax: 0 }).client;
  await follow(sessionOf(options, { retriesMax: 60 }), { instanceId, asking });
}

async function follow(
  { client, output }: Pick<Session, "client" | "output">,
  { instanceId, asking }: { instanceId: string; asking: HeddleClient },
): Promise<void> {
  const stop = new AbortController();
  const onInterrupt = (): void => stop.abort();
  process.once("SIGINT", onInterrupt);
  const display = displayFor(output);
  const progress = new Progress((row) => display.onChange(row));
  output.say(`Instance ${instanceId}`);
  const redraw = setInterval(() => display.show(progress.rows), redrawMs);
  const watching = Promise.all([
    listen(client, instanceId, { progress, signal: stop.signal }),
    ask(asking, instanceId, { progress, signal: stop.signal, onNotices: (notices) => display.notice(notices) }),
  ]);
  watching.catch(() => undefined);
  try {
    const end = await Promise.race([client.end(instanceId, { signal: stop.signal }), watching.then(never)]);
    const { tasks } = await client.call("getInstance", { params: { id: instanceId } });
    progress.take(tasks);
    clearInterval(redraw);
    display.close(progress.rows);
    giveEnd({ client, output }, instanceId, end);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    output.warn(
      `\nInstance ${instanceId} keeps running. Show it with: ${commandText(`show ${instanceId}`, client.url)}`,
    );
    process.exitCode = exitCodes.interrupted;
  } finally {
    clearInterval(redraw);
    process.removeListener("SIGINT", onInterrupt);
    stop.abort();
  }
}

interface Following {
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

async function listen(client: HeddleClient, instanceId: string, { progress, signal }: Following): Promise<void> {
  for await (const { nodes = [] } of client.watch({ instanceId }, { signal })) progress.take(nodes);
}

/** Polls the state once a second: for changes that were not pushed, and for the reason why nothing happens. */
async function ask(
  client: HeddleClient,
  instanceId: string,
  { progress, signal, onNotices }: Following & { onNotices: (notices: readonly Notice[]) => void },
): Promise<void> {
  let noticed = "";
  while (!signal.aborted) {
    const notices = await lookAt(client, instanceId, { progress, signal });
    const texts = notices.map(({ text }) => text).join("\n");
    if (texts !== noticed) onNotices(notices);
    noticed = texts;
    await sleep(askMs, undefined, { signal, ref: false });
  }
}

async function lookAt(client: HeddleClient, instanceId: string, { progress, signal }: Following): Promise<Notice[]> {
  try {
    const view = await client.call("getInstance", { params: { id: instanceId }, signal });
    progress.take(view.tasks);
    return noticesOf(view, (words) => commandText(words, client.url));
  } catch (error) {
    if (!(error instanceof HeddleClientError) || error.code !== "UNREACHABLE") throw error;
    return [{ text: `${error.message} Trying again`, since: undefined, advice: undefined }];
  }
}

/** Never settles: the watchers must not decide the race for the result. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

/** Prints how an instance ended, and what to do if it did not succeed. */
export function giveEnd(
  { client, output }: Pick<Session, "client" | "output">,
  instanceId: string,
  end: InstanceResult,
): void {
  const { status, reason, output: result } = end;
  output.give({ instanceId, status, reason, output: result }, () => {
    const line = `${output.colour(statusColour(status), status)}${reason === null ? "" : `: ${reason}`}`;
    return status === "Success" ? `${line}\n${JSON.stringify(result ?? null, null, 2)}` : line;
  });
  if (status === "Success") return;
  process.exitCode = exitCodes.failed;
  output.say(`Show tasks       ${commandText(`show ${instanceId}`, client.url)}`);
  output.say(`Show logs        ${commandText(`logs ${instanceId}`, client.url)}`);
  if (status === "Failed") output.say(`Retry            ${commandText(`retry ${instanceId}`, client.url)}`);
}
