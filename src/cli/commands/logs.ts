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
  return clientCommand("logs", "What an instance's tasks logged.")
    .argument("<instance>")
    .option("-f, --follow", "goes on until the instance has ended; with --json one document a line")
    .option("-t, --task <name>", "of this task alone")
    .action(async (id: string, options: LogsOptions) => {
      const follow = options.follow === true;
      const { client, output } = sessionOf(options, follow ? { retriesMax: 30 } : {});
      const lines = client.logs(id, { follow, ...(options.task !== undefined && { task: options.task }) });
      const all: LogLine[] = [];
      for await (const line of lines) {
        if (output.isJson && !follow) all.push(line);
        else output.line(line, () => lineText(line, output));
      }
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
