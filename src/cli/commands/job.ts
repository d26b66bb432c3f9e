import { Command } from "commander";
import type { DataOf } from "../../api/routes.ts";
import { type ClientOptions, clientCommand, sessionOf } from "../client-command.ts";
import { jsonGiven } from "../given-value.ts";
import type { Column } from "../table.ts";
import { timeText } from "../time-text.ts";
import { followWith } from "./run.ts";

type Job = DataOf<"listJobs">["items"][number];

interface RunOptions extends ClientOptions {
  readonly params?: string;
  readonly id?: string;
  readonly wait?: boolean;
}

export function jobCommand(): Command {
  return new Command("job")
    .description("The registered jobs, and running one by itself.")
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(runCommand());
}

const columns: readonly Column<Job>[] = [
  { title: "job", text: ({ name }) => name },
  { title: "signature", text: ({ signature }) => signature },
  { title: "code", text: ({ codePath }) => codePath ?? "" },
  { title: "", text: ({ missing }) => (missing ? "missing" : "") },
  { title: "updated", text: ({ updatedAt }) => timeText(updatedAt) },
];

function listCommand(): Command {
  return clientCommand("list", "The jobs that are known.").action(async (options: ClientOptions) => {
    const { client, output } = sessionOf(options);
    const { items } = await client.call("listJobs");
    output.list(items, columns, "No jobs.");
  });
}

function runCommand(): Command {
  return clientCommand("run", "Runs a job by itself, as an instance of one task.")
    .argument("<job>", "its name")
    .option("-p, --params <json>", "its parameters: JSON, @file or -")
    .option("--id <instance>", "the instance's id; default a new one")
    .option("--wait", "show its progress, and print its result")
    .action(async (job: string, options: RunOptions) => {
      const { client, output } = sessionOf(options);
      const body = options.params === undefined ? undefined : jsonGiven("--params", options.params);
      const query = { instanceId: options.id ?? crypto.randomUUID() };
      const { instanceId } = await client.call("runJob", { params: { name: job }, query, body });
      if (options.wait === true) return await followWith(options, instanceId);
      output.give({ instanceId }, () => instanceId);
    });
}
