import { Command, Option } from "commander";
import type { Call } from "../../client/call.ts";
import type { DataOf } from "../../api/routes.ts";
import { type ClientOptions, clientCommand, sessionOf } from "../client-command.ts";
import { readDefinition, saveDefinition } from "../definition-file.ts";
import type { Output } from "../output.ts";
import { commandText } from "../program-name.ts";
import { type Column, tableText } from "../table.ts";
import { timeText } from "../time-text.ts";

type Summary = DataOf<"listWorkflows">["items"][number];
type Version = DataOf<"listWorkflowVersions">["items"][number];
type Difference = DataOf<"diffWorkflow">;
type Saved = DataOf<"updateWorkflow">;

export function workflowCommand(): Command {
  return new Command("workflow")
    .description("Manage workflow definitions: saved versions, schedules, rollback.")
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(saveCommand())
    .addCommand(scheduleCommand())
    .addCommand(deleteCommand())
    .addCommand(versionsCommand())
    .addCommand(diffCommand())
    .addCommand(rollbackCommand());
}

const columns: readonly Column<Summary>[] = [
  { title: "workflow", text: ({ name }) => name },
  { title: "kind", text: ({ kind }) => kind },
  { title: "version", text: ({ version }) => version.slice(0, 12) },
  { title: "from", text: ({ origin }) => origin },
  { title: "tasks", text: ({ nodes }) => String(nodes ?? ""), right: true },
  { title: "cron", text: ({ cronExpr, enableSchedule }) => (enableSchedule ? (cronExpr ?? "") : "") },
  { title: "saved", text: ({ updatedAt }) => timeText(updatedAt) },
];

function listCommand(): Command {
  return clientCommand("list", "List all workflows: saved ones and those of the server's modules.").action(
    async (options: ClientOptions) => {
      const { client, output } = sessionOf(options);
      const rows: Summary[] = [];
      for await (const row of client.items("listWorkflows")) rows.push(row);
      output.list(rows, columns, `No workflows. ${commandText("workflow save <file>", client.url)} creates one.`);
    },
  );
}

function showCommand(): Command {
  return clientCommand("show", "Show one workflow, with its nodes and edges.")
    .argument("<workflow>")
    .action(async (id: string, options: ClientOptions) => {
      const { client, output } = sessionOf(options);
      const detail = await client.call("getWorkflow", { params: { id } });
      output.give(detail, () => {
        const { name, kind, version, dagSpec, nextFireTimes } = detail;
        const lines = [`${name} (${kind}, version ${version})`];
        if (nextFireTimes.length > 0) lines.push(`next       ${nextFireTimes.slice(0, 3).map(timeText).join(", ")}`);
        if (dagSpec !== null) lines.push("", JSON.stringify(dagSpec, null, 2));
        return lines.join("\n");
      });
    });
}

interface SaveOptions extends ClientOptions {
  readonly name?: string;
}

function saveCommand(): Command {
  return clientCommand("save", "Save a definition file as a new version.")
    .argument("<file>", "a definition in the dag-spec format")
    .option("--name <name>", "workflow name; default: the file name, or the folder name of a dag-spec.json")
    .action(async (file: string, options: SaveOptions) => {
      const { client, output } = sessionOf(options);
      const saved = await saveDefinition(client, readDefinition(file, options.name));
      giveSaved(output, saved, "Saved");
    });
}

function giveSaved(output: Output, saved: Saved, what: string): void {
  output.give(saved, () => `${what} ${saved.name}, version ${saved.version}.`);
  if (saved.warning !== null) output.warn(`Saved, with a warning: ${saved.warning}`);
}

type ScheduleBody = NonNullable<Call<"scheduleWorkflow">["body"]>;

interface ScheduleOptions extends ClientOptions {
  readonly cron?: string;
  readonly timeZone?: string;
  readonly overlap?: NonNullable<ScheduleBody["overlap"]>;
  readonly misfire?: NonNullable<ScheduleBody["misfire"]>;
  readonly off?: boolean;
}

function scheduleCommand(): Command {
  return clientCommand(
    "schedule",
    "Set or disable the schedule of a saved workflow; omitted options keep their values.",
  )
    .argument("<workflow>")
    .option("--cron <expression>", "cron expression: five fields (Unix), or six or seven (Quartz)")
    .option("--time-zone <name>", "time zone of the cron expression; default: the server's")
    .addOption(
      new Option(
        "--overlap <policy>",
        "what to do if the previous run is still active; --when-busy of schedule create",
      ).choices(["skip", "queue", "allow", "cancel-previous"]),
    )
    .addOption(
      new Option(
        "--misfire <policy>",
        "which missed due times to run after a downtime; --when-missed of schedule create",
      ).choices(["once", "all", "none"]),
    )
    .option("--off", "disable the schedule")
    .action(async (id: string, { off = false, ...options }: ScheduleOptions) => {
      const { client, output } = sessionOf(options);
      const { cron, timeZone, overlap, misfire } = options;
      const body: ScheduleBody = {
        enable: !off,
        ...(cron !== undefined && { cronExpr: cron }),
        ...(timeZone !== undefined && { timeZone }),
        ...(overlap !== undefined && { overlap }),
        ...(misfire !== undefined && { misfire }),
      };
      const answer = await client.call("scheduleWorkflow", { params: { id }, body });
      output.give(answer, () => (off ? `The schedule of ${id} is off.` : `The schedule of ${id} is on.`));
    });
}

function deleteCommand(): Command {
  return clientCommand("delete", "Delete a saved workflow and its schedule; its instances are kept.")
    .argument("<workflow>")
    .action(async (id: string, options: ClientOptions) => {
      const { client, output } = sessionOf(options);
      const answer = await client.call("deleteWorkflow", { params: { id } });
      output.give(answer, () => `Deleted ${id}.`);
    });
}

const versionColumns: readonly Column<Version>[] = [
  { title: "version", text: ({ version }) => version },
  { title: "saved", text: ({ at }) => timeText(at) },
  { title: "by", text: ({ by }) => by ?? "" },
  { title: "how", text: ({ operation }) => operation },
  { title: "", text: ({ isCurrent }) => (isCurrent ? "current" : "") },
];

function versionsCommand(): Command {
  return clientCommand("versions", "List the saved versions, newest first.")
    .argument("<workflow>")
    .action(async (id: string, options: ClientOptions) => {
      const { client, output } = sessionOf(options);
      const rows: Version[] = [];
      for await (const row of client.items("listWorkflowVersions", { params: { id } })) rows.push(row);
      output.list(rows, versionColumns, "No saved versions: the workflow comes from a module of the server.");
    });
}

function diffCommand(): Command {
  return clientCommand("diff", "Compare two versions.")
    .argument("<workflow>")
    .argument("<from>", "version; see workflow versions")
    .argument("[to]", "version; default: the current one")
    .action(async (id: string, from: string, to: string | undefined, options: ClientOptions) => {
      const { client, output } = sessionOf(options);
      const query = { from, ...(to !== undefined && { to }) };
      const difference = await client.call("diffWorkflow", { params: { id }, query });
      output.give(difference, () => differenceText(difference, output));
    });
}

function differenceText({ changes }: Difference, { colour }: Output): string {
  if (changes.length === 0) return "No differences.";
  const ofOp = { added: "green", removed: "red", changed: "yellow" } as const;
  const columns: Column<Difference["changes"][number]>[] = [
    { title: "what", text: ({ op }) => op, paint: ({ op }, text) => colour(ofOp[op], text) },
    { title: "where", text: ({ path }) => path },
    { title: "before", text: ({ before }) => shown(before) },
    { title: "after", text: ({ after }) => shown(after) },
  ];
  return tableText(columns, changes);
}

function shown(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value).slice(0, 60);
}

function rollbackCommand(): Command {
  return clientCommand("rollback", "Roll back to an earlier version, saved as a new one.")
    .argument("<workflow>")
    .argument("<version>", "see workflow versions")
    .action(async (id: string, version: string, options: ClientOptions) => {
      const { client, output } = sessionOf(options);
      const saved = await client.call("rollBackWorkflow", { params: { id }, body: { version } });
      giveSaved(output, saved, "Rolled back");
    });
}
