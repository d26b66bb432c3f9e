import { Command } from "commander";
import type { DataOf } from "../../api/routes.ts";
import { type ClientOptions, clientCommand, sessionOf } from "../client-command.ts";
import { type Column, tableText } from "../table.ts";
import { timeText } from "../time-text.ts";

type Member = DataOf<"getCluster">["members"][number];
type Worker = DataOf<"listWorkers">[number];

interface DrainOptions extends ClientOptions {
  readonly worker?: string;
}

export function clusterCommand(): Command {
  return new Command("cluster")
    .description("Show cluster members and workers, and drain one.")
    .addCommand(statusCommand(), { isDefault: true })
    .addCommand(workersCommand())
    .addCommand(drainCommand());
}

const memberColumns: readonly Column<Member>[] = [
  { title: "member", text: ({ address }) => address },
  { title: "status", text: ({ status }) => status },
  { title: "roles", text: ({ roles }) => roles.join(", ") },
  { title: "version", text: ({ version }) => version },
  { title: "", text: ({ isLeader }) => (isLeader ? "oldest" : "") },
];

function statusCommand(): Command {
  return clientCommand("status", "Show the cluster members.").action(async (options: ClientOptions) => {
    const { client, output } = sessionOf(options);
    const status = await client.call("getCluster");
    output.give(status, () => {
      const { members, upMembers, totalMembers, workerCount } = status;
      const workers = `${workerCount} ${workerCount === 1 ? "worker" : "workers"}`;
      return `${upMembers} of ${totalMembers} members up, ${workers}.\n\n${tableText(memberColumns, members)}`;
    });
  });
}

const workerColumns: readonly Column<Worker>[] = [
  { title: "worker", text: ({ address }) => address },
  { title: "status", text: ({ status }) => status },
  { title: "running", text: ({ runningTasks }) => String(runningTasks), right: true },
  { title: "slots", text: ({ slots }) => String(slots), right: true },
  { title: "tags", text: ({ tags }) => tags.join(" ") },
  { title: "last heard", text: ({ lastHeardAt }) => timeText(lastHeardAt) },
];

function workersCommand(): Command {
  return clientCommand("workers", "List the workers of the cluster.").action(async (options: ClientOptions) => {
    const { client, output } = sessionOf(options);
    output.list(await client.call("listWorkers"), workerColumns, "No workers.");
  });
}

function drainCommand(): Command {
  return clientCommand(
    "drain",
    "Drain a member or worker: finish running tasks, start no new ones until its next restart.",
  )
    .option("--worker <address>", "worker to drain; default: the member that answers")
    .action(async (options: DrainOptions) => {
      const { client, output } = sessionOf(options);
      const body = options.worker === undefined ? {} : { worker: options.worker };
      const answer = await client.call("drain", { body });
      output.give(
        answer,
        () =>
          `${options.worker ?? client.url} is draining: it finishes running tasks and starts no new ones. Restart it to end the drain.`,
      );
    });
}
