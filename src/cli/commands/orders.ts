import type { Command } from "commander";
import { type ClientOptions, clientCommand, type Session, sessionOf } from "../client-command.ts";
import { jsonGiven } from "../given-value.ts";

interface ReasonOptions extends ClientOptions {
  readonly reason?: string;
}

interface RetryOptions extends ClientOptions {
  readonly from?: string;
}

interface EventOptions extends ClientOptions {
  readonly data?: string;
}

/** What can be done to an instance. */
export function orderCommands(): Command[] {
  return [
    simple("pause", "Starts nothing new; what runs finishes.", ({ client }, params) =>
      client.call("pauseInstance", { params }),
    ),
    simple("resume", "Goes on with a paused or quarantined instance.", ({ client }, params) =>
      client.call("resumeInstance", { params }),
    ),
    withReason("terminate", "Ends an instance now.", ({ client }, params, body) =>
      client.call("terminateInstance", { params, body }),
    ),
    withReason("cancel", "Asks a code workflow to end in its own way; ends a DAG.", ({ client }, params, body) =>
      client.call("cancelInstance", { params, body }),
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
      await tell(session, id);
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
      await tell(session, id);
    });
}

function stopCommand(): Command {
  return clientCommand("stop", "Stops one task of an instance; it counts as failed.")
    .argument("<instance>")
    .argument("<task>", "its name, or its number in a code workflow")
    .option("-r, --reason <text>", "kept with the task")
    .action(async (id: string, nodeId: string, options: ReasonOptions) => {
      const session = sessionOf(options);
      const body = options.reason === undefined ? {} : { reason: options.reason };
      await session.client.call("stopNode", { params: { id, nodeId }, body });
      await tell(session, id);
    });
}

function retryCommand(): Command {
  return clientCommand("retry", "Runs again what failed.")
    .argument("<instance>")
    .option("--from <task>", "runs again from this task on, also what succeeded")
    .action(async (id: string, options: RetryOptions) => {
      const session = sessionOf(options);
      const params = { id };
      if (options.from === undefined) await session.client.call("retryInstance", { params });
      else await session.client.call("rerunInstance", { params, body: { task: options.from } });
      await tell(session, id);
    });
}

function eventCommand(): Command {
  return clientCommand("event", "Raises an event for an instance.")
    .argument("<instance>")
    .argument("<name>")
    .option("-d, --data <json>", "what comes with it: JSON, @file or -")
    .action(async (id: string, name: string, options: EventOptions) => {
      const session = sessionOf(options);
      const body = options.data === undefined ? undefined : jsonGiven("--data", options.data);
      await session.client.call("raiseEvent", { params: { id, name }, body });
      await tell(session, id);
    });
}

/** How it stands now. */
async function tell({ client, output }: Session, id: string): Promise<void> {
  const { status, pausing } = await client.call("getInstance", { params: { id } });
  output.give({ instanceId: id, status, pausing }, () => `${id} is ${status}${pausing ? ", pausing" : ""}.`);
}
