import type { Command } from "commander";
import type { LogLine } from "../../client/client.ts";
import { type ClientOptions, clientCommand, sessionOf } from "../client-command.ts";
import type { Colour } from "../colour.ts";
import type { Output } from "../output.ts";
import { oneLine } from "../table.ts";
import { timeText } from "../time-text.ts";

interface LogsOptions extends ClientOptions {
  readonly follow?: boolean;
  readonly task?: string;
}

export function logsCommand(): Command {
  return clientCommand("logs", "Print the task logs of an instance.")
    .argument("<instance>")
    .option("-f, --follow", "follow until the instance has ended; with --json one document per line")
    .option("-t, --task <name>", "only this task")
    .action(async (id: string, options: LogsOptions) => {
      const follow = options.follow === true;
      const { client, output } = sessionOf(options, follow ? { retriesMax: 30 } : {});
      const lines = client.logs(id, { follow, ...(options.task !== undefined && { task: options.task }) });
      const all: LogLine[] = [];
      let isEmpty = true;
      for await (const line of lines) {
        isEmpty = false;
        if (output.isJson && !follow) all.push(line);
        else output.line(line, () => lineText(line, output));
      }
      // Refuses a misspelt task name, for which the log is empty too.
      if (isEmpty && options.task !== undefined) await client.call("getNode", { params: { id, nodeId: options.task } });
      if (output.isJson && !follow) output.give(all, () => "");
    });
}

const ofLevel: Readonly<Record<LogLine["level"], Colour>> = {
  debug: "grey",
  info: "blue",
  warn: "yellow",
  error: "red",
};

function lineText({ at, level, taskName, attempt, message, fields }: LogLine, { colour }: Output): string {
  const task = attempt > 1 ? `${taskName} (attempt ${attempt})` : taskName;
  const rest = Object.keys(fields).length === 0 ? "" : ` ${colour("grey", JSON.stringify(fields))}`;
  const head = `${colour("grey", timeText(at))} ${colour(ofLevel[level], level.padEnd(5))}`;
  return `${head} ${oneLine(task)}: ${oneLine(message)}${rest}`;
}
