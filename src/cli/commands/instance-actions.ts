import type { Command } from "commander";
import { type ClientOptions, clientCommand, type Session, sessionOf } from "../client-command.ts";
import { UsageError } from "../exit-code.ts";
import { jsonGiven } from "../given-value.ts";

interface ReasonOptions extends ClientOptions {
  readonly reason?: string;
}

interface RetryOptions extends ClientOptions {
  readonly from?: string;
  readonly params?: string;
}

interface EventOptions extends ClientOptions {
  readonly data?: string;
}

/** Commands that act on one instance. */
export function instanceActionCommands(): Command[] {
  return [
    withReason("pause", "Pause an instance: start no new tasks, let running ones finish.", ({ client }, params, body) =>
      client.call("pauseInstance", { params, body }),
    ),
    simple("resume", "Resume a paused or quarantined instance.", ({ client }, params) =>
      client.call("resumeInstance", { params }),
    ),
    withReason("terminate", "Terminate an instance now; no compensation runs.", ({ client }, params, body) =>
      client.call("terminateInstance", { params, body }),
    ),
    withReason(
      "cancel",
      "Cancel an instance: code workflows run their compensation, DAGs end.",
      ({ client }, params, body) => client.call("cancelInstance", { params, body }),
    ),
    stopCommand(),
    retryCommand(),
    eventCommand(),
  ];
}

type Target = { readonly id: string };

function simple(
  name: string,
  description: string,
  act: (session: Session, params: Target) => Promise<unknown>,
): Command {
  return clientCommand(name, description)
    .argument("<instance>")
    .action(async (id: string, options: ClientOptions) => {
      const session = sessionOf(options);
      await act(session, { id });
      await printStatus(session, id);
    });
}

function withReason(
  name: string,
  description: string,
  act: (session: Session, params: Target, body: { reason?: string }) => Promise<unknown>,
): Command {
  return clientCommand(name, description)
    .argument("<instance>")
    .option("-r, --reason <text>", "kept with the instance")
    .action(async (id: string, options: ReasonOptions) => {
      const session = sessionOf(options);
      await act(session, { id }, options.reason === undefined ? {} : { reason: options.reason });
      await printStatus(session, id, name === "cancel");
    });
}

function stopCommand(): Command {
  return clientCommand("stop", "Abort one task of an instance; it counts as failed.")
    .argument("<instance>")
    .argument("<task>", "task name, or task number in a code workflow")
    .option("-r, --reason <text>", "kept with the task")
    .action(async (id: string, nodeId: string, options: ReasonOptions) => {
      const session = sessionOf(options);
      const body = options.reason === undefined ? {} : { reason: options.reason };
      await session.client.call("stopNode", { params: { id, nodeId }, body });
      await printStatus(session, id);
    });
}

function retryCommand(): Command {
  return clientCommand("retry", "Retry the failed tasks of an instance.")
    .argument("<instance>")
    .option("--from <task>", "re-run this task and everything after it, including what succeeded")
    .option("--params <json>", "with --from: other params for that task: JSON, @file or - for standard input")
    .action(async (id: string, options: RetryOptions) => {
      const session = sessionOf(options);
      const target = { id };
      const { from: task } = options;
      const params = options.params === undefined ? undefined : jsonGiven("--params", options.params);
      if (task === undefined && params !== undefined) throw new UsageError("--params needs --from <task>");
      if (task === undefined) await session.client.call("retryInstance", { params: target });
      else await session.client.call("rerunInstance", { params: target, body: { task, params } });
      await printStatus(session, id);
    });
}

function eventCommand(): Command {
  return clientCommand("event", "Raise an event for an instance.")
    .argument("<instance>")
    .argument("<name>")
    .option("-d, --data <json>", "event data: JSON, @file or - for standard input")
    .action(async (id: string, name: string, options: EventOptions) => {
      const session = sessionOf(options);
      const body = options.data === undefined ? undefined : jsonGiven("--data", options.data);
      await session.client.call("raiseEvent", { params: { id, name }, body });
      await printStatus(session, id);
    });
}

/** Prints the status of the instance. A cancel may be recorded long before the instance has ended. */
export async function printStatus({ client, output }: Session, id: string, isCancel = false): Promise<void> {
  const { status, pausing, endedAt } = await client.call("getInstance", { params: { id } });
  const prefix = isCancel && endedAt === undefined ? "The cancel is recorded. " : "";
  output.give({ instanceId: id, status, pausing }, () => `${prefix}${id} is ${status}${pausing ? ", pausing" : ""}.`);
}
