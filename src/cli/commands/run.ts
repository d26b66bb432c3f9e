import type { Command } from "commander";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { HeddleClient, InstanceResult } from "../../client/client.ts";
import { type ClientOptions, clientCommand, type Session, sessionOf } from "../client-command.ts";
import { statusColour } from "../colour.ts";
import { readDefinition, saveDefinition } from "../definition-file.ts";
import { exitCodes, UsageError } from "../exit-code.ts";
import { jsonGiven } from "../given-value.ts";
import { Progress } from "../progress.ts";
import { displayFor } from "../progress-display.ts";

interface StartOptions extends ClientOptions {
  readonly input?: string;
  readonly id?: string;
}

const redrawMs = 100;
/** What was not pushed, for whatever reason, is asked for this often. */
const askMs = 1000;

function startingCommand(name: string, description: string): Command {
  return clientCommand(name, description)
    .argument("<workflow>", "its name; or a file in the dag-spec format, which is saved first")
    .option("-i, --input <json>", "what it begins with: JSON, @file or -")
    .option("--id <instance>", "the instance's id; default a new one");
}

export function submitCommand(): Command {
  return startingCommand("submit", "Starts a workflow and does not wait for it.").action(
    async (workflow: string, options: StartOptions) => {
      const { client, output } = sessionOf(options);
      const instanceId = await start(client, workflow, options);
      output.give({ instanceId }, () => instanceId);
    },
  );
}

export function runCommand(): Command {
  return startingCommand("run", "Starts a workflow, shows how it gets on, and ends with its result.").action(
    async (workflow: string, options: StartOptions) => {
      const instanceId = await start(sessionOf(options).client, workflow, options);
      // From here on a server that restarts is waited for.
      await follow(sessionOf(options, { retriesMax: 60 }), instanceId);
    },
  );
}

async function start(client: HeddleClient, workflow: string, options: StartOptions): Promise<string> {
  const input = options.input === undefined ? undefined : jsonGiven("--input", options.input);
  const named = options.id === undefined ? {} : { instanceId: options.id };
  return await client.start(await nameOf(client, workflow), input, named);
}

async function nameOf(client: HeddleClient, workflow: string): Promise<string> {
  if (/\.[cm]?[jt]s$/.test(workflow)) {
    throw new UsageError(`a server runs the workflows of a program: start it with heddle dev ${workflow}`);
  }
  const isFile = workflow.endsWith(".json") || (workflow.includes("/") && existsSync(workflow));
  if (!isFile) return workflow;
  return (await saveDefinition(client, readDefinition(workflow))).name;
}

async function follow({ client, output }: Session, instanceId: string): Promise<void> {
  const stop = new AbortController();
  const onInterrupt = (): void => stop.abort();
  process.once("SIGINT", onInterrupt);
  const display = displayFor(output);
  const progress = new Progress((row) => display.changed(row));
  output.say(`Instance ${instanceId}`);
  const redraw = setInterval(() => display.show(progress.rows), redrawMs);
  const watching = Promise.all([
    listen(client, instanceId, { progress, signal: stop.signal }),
    ask(client, instanceId, { progress, signal: stop.signal }),
  ]);
  watching.catch(() => undefined);
  try {
    const end = await Promise.race([client.end(instanceId, { signal: stop.signal }), watching.then(never)]);
    const { tasks } = await client.call("getInstance", { params: { id: instanceId } });
    progress.take(tasks);
    clearInterval(redraw);
    display.close(progress.rows);
    giveEnd(output, instanceId, end);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    output.warn(`\nInstance ${instanceId} goes on. Look at it with: heddle show ${instanceId}`);
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

async function ask(client: HeddleClient, instanceId: string, { progress, signal }: Following): Promise<void> {
  while (!signal.aborted) {
    progress.take((await client.call("getInstance", { params: { id: instanceId }, signal })).tasks);
    await sleep(askMs, undefined, { signal, ref: false });
  }
}

/** What only watches has nothing to say about the end. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

function giveEnd(output: Session["output"], instanceId: string, end: InstanceResult): void {
  const { status, reason, output: result } = end;
  output.give({ instanceId, status, reason, output: result }, () => {
    const line = `${output.colour(statusColour(status), status)}${reason === null ? "" : `: ${reason}`}`;
    return status === "Success" ? `${line}\n${JSON.stringify(result ?? null, null, 2)}` : line;
  });
  if (status !== "Success") process.exitCode = exitCodes.failed;
}
