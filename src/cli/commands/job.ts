import { Command } from "commander";
import type { DataOf } from "../../api/routes.ts";
import { uuid } from "../../base/uuid.ts";
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
    .description("Manage jobs: list them, run one without a workflow.")
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(runCommand());
}

const columns: readonly Column<Job>[] = [
  { title: "job", text: ({ name }) => name },
  { title: "signature", text: ({ signature }) => signature },
  { title: "code", text: ({ codePath }) => codePath ?? "" },
  { title: "", text: ({ missing, origin }) => (missing ? "missing" : origin === "worker" ? "on workers" : "") },
  { title: "updated", text: ({ updatedAt }) => timeText(updatedAt) },
  { title: "description", text: ({ description }) => description?.split("\n", 1)[0] ?? "" },
];

function listCommand(): Command {
  return clientCommand("list", "List registered jobs.").action(async (options: ClientOptions) => {
    const { client, output } = sessionOf(options);
    const { items } = await client.call("listJobs");
    output.list(items, columns, "No jobs.");
  });
}

function runCommand(): Command {
  return clientCommand("run", "Run a job without a workflow, as an instance with one task.")
    .argument("<job>", "job name")
    .option("-p, --params <json>", "parameters: JSON, @file or - for standard input")
    .option("--id <instance>", "instance id; default: a new UUID")
    .option("--wait", "show progress and print the result")
    .action(async (job: string, options: RunOptions) => {
      const { client, output } = sessionOf(options);
      const body = options.params === undefined ? undefined : jsonGiven("--params", options.params);
      const query = { instanceId: options.id ?? uuid(Date.now()) };
      const { instanceId } = await client.call("runJob", { params: { name: job }, query, body });
      if (options.wait === true) return await followWith(options, instanceId);
      output.give({ instanceId }, () => instanceId);
    });
}
