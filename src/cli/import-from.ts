import type { Stats } from "node:fs";
import { lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../base/error.ts";
import { offsetOf, placeAt } from "../catalogue/json-text-place.ts";
import type { HeddleClient } from "../client/client.ts";
import { HeddleClientError } from "../client/client-error.ts";
import type { ImportedSchedule } from "../powerjob/imported-schedule.ts";
import { importTisWorkflow, unreadTisWorkflow } from "../powerjob/imported-tis-workflow.ts";
import {
  type Imported,
  type ImportedWorkflow,
  importPowerJob,
  type ImportNote,
} from "../powerjob/imported-workflow.ts";
import { sessionOf } from "./client-command.ts";
import { saveDefinition } from "./definition-file.ts";
import { UsageError } from "./exit-code.ts";
import type { ImportFromOptions } from "./import-from-options.ts";
import { Output } from "./output.ts";
import { PowerJobDatabase } from "./powerjob-database.ts";

/** The outcome for one workflow. */
interface Outcome {
  readonly workflow: string;
  readonly status: "saved" | "written" | "refused";
  readonly file?: string;
  readonly notes: readonly string[];
}

/** `heddle import --from`: reads the other system, which it does not change, and saves or writes what it found. */
export async function importFrom(source: string, from: "powerjob" | "tis", options: ImportFromOptions): Promise<void> {
  const imported = from === "powerjob" ? await readPowerJob(source, options.app) : await readTis(source);
  if (imported.workflows.length === 0) throw new UsageError(`there is no workflow to import in ${from}`);
  const outcomes = options.to === undefined ? await save(imported, options) : await write(imported, options.to);
  new Output({ json: options.json === true }).give({ workflows: outcomes, jobs: imported.jobs }, () =>
    reportText(outcomes, imported.jobs),
  );
}

async function readPowerJob(url: string, app: string | undefined): Promise<Imported> {
  return importPowerJob(await new PowerJobDatabase(url).read(app));
}

/** A folder of TIS has one folder per workflow, with its `dag-spec.json`. */
async function readTis(folder: string): Promise<Imported> {
  const workflows: ImportedWorkflow[] = [];
  for (const entry of await listFolder(folder)) {
    const file = join(folder, entry, "dag-spec.json");
    const found = await findIfThere(file);
    if (found === undefined) continue;
    const problem = problemOf(found);
    workflows.push(
      problem === undefined
        ? importTisWorkflow(entry, await readFile(file, "utf8"))
        : unreadTisWorkflow(entry, problem),
    );
  }
  return { workflows, jobs: [] };
}

/** A server takes no larger definition. */
const fileBytesMax = 10 * 1024 * 1024;

/** Only files are read: a pipe would never end, and a link leads out of the folder. */
function problemOf(found: Stats): string | undefined {
  if (!found.isFile()) return `its dag-spec.json is ${found.isSymbolicLink() ? "a link" : "no file"}, and is not read`;
  return found.size > fileBytesMax ? `its file has more than ${fileBytesMax} bytes, and is not read` : undefined;
}

async function listFolder(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .toSorted();
  } catch (error) {
    throw new UsageError(`the folder cannot be read: ${messageOf(error)}`);
  }
}

async function findIfThere(file: string): Promise<Stats | undefined> {
  try {
    return await lstat(file);
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return undefined;
    throw error;
  }
}

async function write(imported: Imported, folder: string): Promise<Outcome[]> {
  try {
    await mkdir(folder);
  } catch (error) {
    throw new UsageError(`--to must name a new folder: ${messageOf(error)}`);
  }
  const outcomes: Outcome[] = [];
  for (const workflow of imported.workflows) {
    const file = join(folder, workflow.name, "dag-spec.json");
    const text = `${JSON.stringify(workflow.dagSpec, null, 2)}\n`;
    await mkdir(join(folder, workflow.name));
    await writeFile(file, text, { flag: "wx" });
    const notes = workflow.notes.map((note) => `${placeOf(file, text, note)}${noteText(note)}`);
    outcomes.push({ workflow: workflow.name, status: "written", file, notes: [...notes, ...scheduleNotes(workflow)] });
  }
  return outcomes;
}

function placeOf(file: string, text: string, { path }: ImportNote): string {
  if (path === undefined) return `${file}: `;
  const { line, column } = placeAt(text, offsetOf(text, path));
  return `${file}:${line}:${column}  `;
}

function noteText({ node, text, mustChange }: ImportNote): string {
  return `${mustChange ? "must be changed: " : ""}${node === undefined ? "" : `task "${node}": `}${text}`;
}

async function save(imported: Imported, options: ImportFromOptions): Promise<Outcome[]> {
  const { client } = sessionOf(options);
  const outcomes: Outcome[] = [];
  for (const workflow of imported.workflows) outcomes.push(await saveOne(client, workflow, options));
  return outcomes;
}

async function saveOne(client: HeddleClient, workflow: ImportedWorkflow, options: ImportFromOptions): Promise<Outcome> {
  const { name, dagSpec } = workflow;
  const notes = workflow.notes.map(noteText);
  if (workflow.notes.some(({ mustChange }) => mustChange)) {
    return {
      workflow: name,
      status: "refused",
      notes: [...notes, "write it into a file with --to, and change it there"],
    };
  }
  const isNew = !(await exists(client, name));
  try {
    const { warning } = await saveDefinition(client, { name, dagSpec: dagSpec as never });
    if (warning !== null) notes.push(warning);
  } catch (error) {
    if (!(error instanceof HeddleClientError) || ![400, 422].includes(error.status ?? 0)) throw error;
    return { workflow: name, status: "refused", notes: [...notes, error.message] };
  }
  notes.push(...(await saveSchedule(client, workflow, { ...options, isNew })));
  return { workflow: name, status: "saved", notes };
}

async function exists(client: HeddleClient, id: string): Promise<boolean> {
  try {
    await client.call("getWorkflow", { params: { id } });
    return true;
  } catch (error) {
    if (error instanceof HeddleClientError && error.status === 404) return false;
    throw error;
  }
}

/** Enables nothing unless asked: two schedulers would start everything twice. A repeated import leaves schedules alone. */
async function saveSchedule(
  client: HeddleClient,
  workflow: ImportedWorkflow,
  { schedules = "disabled", timeZone, isNew }: ImportFromOptions & { isNew: boolean },
): Promise<string[]> {
  const { schedule, name } = workflow;
  if (schedule === undefined || schedules === "none" || !isNew) return [];
  const isEnabled = schedules === "enabled" && schedule.wasEnabled;
  const { every, startAt, endAt } = schedule;
  if ("cron" in every && startAt === undefined && endAt === undefined) {
    const body = { cronExpr: every.cron, enable: isEnabled, ...(timeZone !== undefined && { timeZone }) };
    return await noteRefusal(() => client.call("scheduleWorkflow", { params: { id: name }, body }));
  }
  if (!isEnabled) return scheduleNotes(workflow);
  const zone = timeZone !== undefined && ("cron" in every || "daily" in every) ? { timeZone } : {};
  const body = {
    scheduleId: name,
    workflow: name,
    every: { ...every, ...zone },
    ...(startAt !== undefined && { startAt }),
    ...(endAt !== undefined && { endAt }),
  };
  return await noteRefusal(() => client.call("createSchedule", { body }));
}

async function noteRefusal(call: () => Promise<unknown>): Promise<string[]> {
  try {
    await call();
    return [];
  } catch (error) {
    if (!(error instanceof HeddleClientError) || error.status === undefined || error.status >= 500) throw error;
    return [`its schedule was refused: ${error.message}`];
  }
}

function scheduleNotes({ schedule }: ImportedWorkflow): string[] {
  return schedule === undefined ? [] : [`its schedule is not created: ${scheduleText(schedule)}`];
}

function scheduleText({ every, startAt, endAt, wasEnabled }: ImportedSchedule): string {
  const range = { ...(startAt !== undefined && { startAt }), ...(endAt !== undefined && { endAt }) };
  return `${JSON.stringify({ every, ...range })}${wasEnabled ? "" : ", disabled in PowerJob"}`;
}

function reportText(outcomes: readonly Outcome[], jobs: Imported["jobs"]): string {
  const lines: string[] = [];
  for (const { workflow, status, notes } of outcomes) {
    lines.push(`${status.padEnd(8)} ${workflow}`);
    for (const note of notes) lines.push(`         - ${note}`);
  }
  const count = (status: Outcome["status"]): number => outcomes.filter((outcome) => outcome.status === status).length;
  lines.push("", `${count("saved") + count("written")} workflows imported, ${count("refused")} refused.`);
  if (jobs.length > 0) {
    lines.push("", "Jobs to register with their jobId before the workflows can run:");
    for (const { jobId, name, processor, nodes } of jobs) {
      lines.push(`  jobId ${jobId}  ${name}  (${processor}; ${nodes} ${nodes === 1 ? "task" : "tasks"})`);
    }
  }
  return lines.join("\n");
}
