import type { Command } from "commander";
import type { DataOf } from "../../api/routes.ts";
import type { HeddleClient } from "../../client/client.ts";
import { HeddleClientError } from "../../client/client-error.ts";
import { type ClientOptions, clientCommand, sessionOf } from "../client-command.ts";
import { jsonGiven } from "../given-value.ts";
import { type Column, tableText } from "../table.ts";
import { timeText } from "../time-text.ts";
import { giveEnd } from "./run.ts";

interface ResultOptions extends ClientOptions {
  readonly wait?: boolean;
}

interface InputOptions extends ClientOptions {
  readonly input?: string;
}

/** Commands that ask one instance: for its result, its history, or something that its code answers. */
export function instanceAnswerCommands(): Command[] {
  return [resultCommand(), historyCommand(), queryCommand(), updateCommand()];
}

function resultCommand(): Command {
  return clientCommand("result", "Print the result of an instance that has ended.")
    .argument("<instance>")
    .option("-w, --wait", "wait for its end")
    .action(async (id: string, options: ResultOptions) => {
      const session = sessionOf(options);
      const { client } = session;
      const end = await (options.wait === true ? client.end(id) : client.call("getResult", { params: { id } }));
      if (!end.hasEnded) {
        throw new HeddleClientError(`${id} is ${end.status} and has no result yet; wait for it with --wait`, {
          code: "INSTANCE_STATE",
        });
      }
      giveEnd(session, id, end);
    });
}

function historyCommand(): Command {
  return clientCommand("history", "Print the events of an instance, oldest first.")
    .argument("<instance>")
    .action(async (id: string, options: ClientOptions) => {
      const { client, output } = sessionOf(options);
      const turns = await turnsOf(client, id);
      const rows = turns.flatMap(({ turn, at, events }) => events.map((event) => ({ turn, at, event })));
      output.give(turns, () => tableText(eventColumns, rows));
    });
}

async function turnsOf(client: HeddleClient, id: string): Promise<Turn[]> {
  const turns: Turn[] = [];
  for (;;) {
    const query = { afterTurn: turns.at(-1)?.turn ?? -1 };
    const { items, next } = await client.call("getHistory", { params: { id }, query });
    turns.push(...items);
    if (next === null) return turns;
  }
}

type Turn = DataOf<"getHistory">["items"][number];

interface EventRow {
  readonly turn: number;
  readonly at: number;
  readonly event: Turn["events"][number];
}

const eventColumns: Column<EventRow>[] = [
  { title: "turn", text: ({ turn }) => String(turn), right: true },
  { title: "time", text: ({ at }) => timeText(at) },
  { title: "event", text: ({ event }) => event.type },
  { title: "data", text: ({ event }) => JSON.stringify({ ...event, type: undefined }) },
];

function queryCommand(): Command {
  return askCommand("query", "Ask the code of an instance, without changing it.", (client, params, body) =>
    client.call("queryInstance", { params, body }),
  );
}

function updateCommand(): Command {
  return askCommand(
    "update",
    "Send an update to the code of an instance, and print its answer.",
    (client, params, body) => client.call("updateInstance", { params, body }),
  );
}

function askCommand(
  name: string,
  description: string,
  ask: (client: HeddleClient, params: { id: string; name: string }, body: unknown) => Promise<unknown>,
): Command {
  return clientCommand(name, description)
    .argument("<instance>")
    .argument("<name>")
    .option("-i, --input <json>", "input: JSON, @file or - for standard input")
    .action(async (id: string, asked: string, options: InputOptions) => {
      const { client, output } = sessionOf(options);
      const body = options.input === undefined ? undefined : jsonGiven("--input", options.input);
      const answer = (await ask(client, { id, name: asked }, body)) ?? null;
      output.give(answer, () => JSON.stringify(answer, null, 2));
    });
}
