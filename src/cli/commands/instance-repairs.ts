import type { Command } from "commander";
import { type ClientOptions, clientCommand, sessionOf } from "../client-command.ts";
import { UsageError } from "../exit-code.ts";
import { jsonGiven } from "../given-value.ts";
import { printStatus } from "./instance-actions.ts";

interface OutputOptions extends ClientOptions {
  readonly output?: string;
}

interface ForkOptions extends ClientOptions {
  readonly from?: string;
  readonly id?: string;
  readonly input?: string;
}

interface ContextOptions extends ClientOptions {
  readonly set?: string;
}

/** Commands that set one instance right by hand: after them it continues, starts anew elsewhere, or is gone. */
export function instanceRepairCommands(): Command[] {
  return [skipCommand(), succeedCommand(), forkCommand(), contextCommand(), deleteCommand()];
}

function skipCommand(): Command {
  return clientCommand("skip", "Skip a failed task; the instance continues after it.")
    .argument("<instance>")
    .argument("<task>", "task name")
    .action(async (id: string, nodeId: string, options: ClientOptions) => {
      const session = sessionOf(options);
      await session.client.call("skipNode", { params: { id, nodeId } });
      await printStatus(session, id);
    });
}

function succeedCommand(): Command {
  return clientCommand("succeed", "Mark a failed task as succeeded; the instance continues after it.")
    .argument("<instance>")
    .argument("<task>", "task name")
    .option("-o, --output <json>", "output of the task: JSON, @file or - for standard input")
    .action(async (id: string, nodeId: string, options: OutputOptions) => {
      const session = sessionOf(options);
      const body = options.output === undefined ? {} : { output: jsonGiven("--output", options.output) };
      await session.client.call("succeedNode", { params: { id, nodeId }, body });
      await printStatus(session, id);
    });
}

function forkCommand(): Command {
  return clientCommand("fork", "Fork a code instance: start another one that replays its history up to a task.")
    .argument("<instance>")
    .option("--from <number>", "number of the first task that runs again; default: all of them")
    .option("--id <instance>", "instance id of the fork; default: a new UUID")
    .option("-i, --input <json>", "another input: JSON, @file or - for standard input")
    .action(async (id: string, options: ForkOptions) => {
      const { client, output } = sessionOf(options);
      const body = {
        ...(options.from !== undefined && { task: taskNumber(options.from) }),
        ...(options.id !== undefined && { instanceId: options.id }),
        ...(options.input !== undefined && { input: jsonGiven("--input", options.input) }),
      };
      const started = await client.call("forkInstance", { params: { id }, body });
      output.give(started, () => started.instanceId);
    });
}

function taskNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`--from must be the number of a task, as "heddle history" shows it, got "${text}"`);
}

function contextCommand(): Command {
  return clientCommand("context", "Print the context of an instance, or change keys of it.")
    .argument("<instance>")
    .option("--set <json>", "keys to overwrite, null removes one: JSON, @file or - for standard input")
    .action(async (id: string, options: ContextOptions) => {
      const { client, output } = sessionOf(options);
      if (options.set !== undefined) {
        const body = jsonGiven("--set", options.set) as Record<string, unknown>;
        await client.call("patchContext", { params: { id }, body });
      }
      const context = await client.call("getContext", { params: { id } });
      output.give(context, () => JSON.stringify(context, null, 2));
    });
}

function deleteCommand(): Command {
  return clientCommand("delete", "Delete an ended instance with its history, and its children.")
    .argument("<instance>")
    .action(async (id: string, options: ClientOptions) => {
      const { client, output } = sessionOf(options);
      await client.call("deleteInstance", { params: { id } });
      output.give({ instanceId: id }, () => `${id} is deleted.`);
    });
}
