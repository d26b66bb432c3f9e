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
    .description("The workflows that can be started.")
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
  return clientCommand("list", "All of them.").action(async (options: ClientOptions) => {
    const { client, output } = sessionOf(options);
    const rows: Summary[] = [];
    for await (const row of client.items("listWorkflows")) rows.push(row);
    output.list(rows, columns, `No workflows. ${commandText("workflow save <file>", client.url)} makes one.`);
  });
}

function showCommand(): Command {
  return clientCommand("show", "One of them, with its points and lines.")
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
  return clientCommand("save", "Saves a file as a new version.")
    .argument("<file>", "in the dag-spec format")
    .option("--name <name>", "default: the file's, or its folder's if it is called dag-spec.json")
    .action(async (file: string, options: SaveOptions) => {
      const { client, output } = sessionOf(options);
      const saved = await saveDefinition(client, readDefinition(file, options.name));
      giveSaved(output, saved, "Saved");
    });
}

function giveSaved(output: Output, saved: Saved, what: string): void {
  output.give(saved, () => `${what} ${saved.name}, version ${saved.version}.`);
  if (saved.warning !== null) output.warn(`The save stands, but: ${saved.warning}`);
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
  return clientCommand("schedule", "Says when it is due, or switches that off. What is not given stays.")
    .argument("<workflow>")
    .option("--cron <expression>", "five fields as in Unix, or six or seven as in Quartz")
    .option("--time-zone <name>", "of the cron expression; default the server's own")
    .addOption(
      new Option("--overlap <policy>", "while a run has not ended").choices([
        "skip",
        "queue",
        "allow",
        "cancel-previous",
      ]),
    )
    .addOption(new Option("--misfire <policy>", "times when no server ran").choices(["once", "all", "none"]))
    .option("--off", "nothing is due until it is switched on again")
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
  return clientCommand("delete", "Takes it out of the catalogue, with its schedule; its instances stay.")
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
  return clientCommand("versions", "Its saves, newest first.")
    .argument("<workflow>")
    .action(async (id: string, options: ClientOptions) => {
      const { client, output } = sessionOf(options);
      const rows: Version[] = [];
      for await (const row of client.items("listWorkflowVersions", { params: { id } })) rows.push(row);
      output.list(rows, versionColumns, "It was never saved: it is part of the program.");
    });
}

function diffCommand(): Command {
  return clientCommand("diff", "What changed between two versions.")
    .argument("<workflow>")
    .argument("<from>", "a version")
    .argument("[to]", "default: the current one")
    .action(async (id: string, from: string, to: string | undefined, options: ClientOptions) => {
      const { client, output } = sessionOf(options);
      const query = { from, ...(to !== undefined && { to }) };
      const difference = await client.call("diffWorkflow", { params: { id }, query });
      output.give(difference, () => differenceText(difference, output));
    });
}

function differenceText({ changes }: Difference, { colour }: Output): string {
  if (changes.length === 0) return "They are the same.";
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
  return clientCommand("rollback", "Makes an earlier version the current one again, as a new save.")
    .argument("<workflow>")
    .argument("<version>")
    .action(async (id: string, version: string, options: ClientOptions) => {
      const { client, output } = sessionOf(options);
      const saved = await client.call("rollBackWorkflow", { params: { id }, body: { version } });
      giveSaved(output, saved, "Rolled back");
    });
}
