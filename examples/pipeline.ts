/**
 * `npx node examples/pipeline.ts`: an embedded engine that runs a nightly pipeline on generated data, with live progress. Stop it in any
 * way you like and start it again: it continues where it stopped. HEDDLE_STORAGE=postgresql://… keeps its state on a server instead of
 * in a file. In a project of your own, import from "heddle" and "heddle/storage".
 */
import { rmSync } from "node:fs";
import { constants } from "node:os";
import { join, relative } from "node:path";
import { Engine, EngineError, WorkflowFailed } from "../src/index.ts";
import { storage } from "../src/storage.ts";
import { openDisplay } from "./pipeline/display.ts";
import type { Display } from "./pipeline/display.ts";
import { doneOf, Progress } from "./pipeline/progress.ts";
import { dataFolder } from "./pipeline/settings.ts";
import { StopRequest } from "./pipeline/stop-request.ts";
import { allJobs, nightly, remarks } from "./pipeline/workflow.ts";

const database = here(join(dataFolder, "pipeline.db"));
const onServer = (process.env["HEDDLE_STORAGE"] ?? "") !== "";
const files = here(join(dataFolder, "pipeline"));

try {
  await main();
} catch (error) {
  // Ours say in one sentence what is the matter and what helps; a bug should show where it is.
  if (!(error instanceof EngineError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

/** As one would write it here. */
function here(path: string): string {
  const short = relative(process.cwd(), path);
  return short === "" || short.startsWith("..") ? path : short;
}

async function main(): Promise<void> {
  const stop = new StopRequest();
  const display = openDisplay({ out: process.stdout, remarks });
  const log = (fields: Record<string, unknown>, message: string): void =>
    display.say(`${message} ${JSON.stringify(fields)}`);
  const engine = new Engine({
    storage: await storage(onServer ? undefined : `sqlite:${database}`),
    jobs: allJobs,
    domains: { warehouse: { size: 6, priority: 10 } },
    // An attempt that is lost with its process again and again fails; here people are asked to kill the process.
    maxInterruptions: 20,
    stopGraceMs: 2000,
    logger: { debug: () => {}, info: () => {}, warn: log, error: log },
  });
  await engine.start();
  console.log("Heddle runs an example: a nightly data pipeline of some 30 tasks.");
  console.log(
    `Its state is in ${onServer ? "the database that HEDDLE_STORAGE names" : database}, its files are in ${files}/.`,
  );
  console.log("Try it: press Ctrl-C, then start it again. It continues where it stopped.\n");
  let end: End;
  try {
    end = await watch(engine, display, stop.requested);
  } finally {
    display.close();
    await engine.stop();
  }
  tellEnd(end, display);
}

/** Until the run has ended or somebody wants to stop. */
async function watch(engine: Engine, display: Display, stop: Promise<NodeJS.Signals>): Promise<End> {
  const { id, words } = await findOrStart(engine);
  const progress = new Progress({ engine, instanceId: id, workflow: nightly, onRows: (rows) => display.show(rows) });
  display.say(words.replace("…", doneOf(await progress.read())));
  await progress.start();
  const how = await Promise.race([stop, resultOf(engine, id)]);
  await progress.stop();
  const rows = await progress.read();
  display.show(rows);
  return { id, how, done: doneOf(rows) };
}

/** An unfinished run has gone on by itself when the engine started; otherwise there is nothing to do, and a new one starts. */
async function findOrStart(engine: Engine): Promise<{ id: string; words: string }> {
  const [last] = await engine.listWorkflowInstances({ workflow: nightly.name, limit: 1 });
  if (last !== undefined && last.endedAt === null) return { id: last.id, words: `Continuing run ${last.id}, … done.` };

  rmSync(join(dataFolder, "pipeline"), { recursive: true, force: true });
  const id = `${nightly.name}-${Number(last?.id.split("-").at(-1) ?? 0) + 1}`;
  await engine.submitWorkflow(nightly, { instanceId: id, params: { run: id } });
  const before = last === undefined ? "" : `Run ${last.id} has ended (${last.status}). `;
  return { id, words: `${before}Starting a new run, ${id}.` };
}

interface End {
  readonly id: string;
  readonly how: Result | NodeJS.Signals;
  readonly done: string;
}

type Result = { outputs: Record<string, unknown> } | { failed: WorkflowFailed };

async function resultOf(engine: Engine, id: string): Promise<Result> {
  try {
    return { outputs: await engine.awaitWorkflowInstance(id) };
  } catch (error) {
    if (error instanceof WorkflowFailed) return { failed: error };
    throw error;
  }
}

function tellEnd({ id, how, done }: End, display: Display): void {
  if (typeof how === "string") {
    display.say(`\nStopped in good order, ${done} done and kept. Start it again to continue.`);
    process.exitCode = 128 + constants.signals[how];
  } else if ("failed" in how) {
    display.say(`\nRun ${id} failed, ${done} done:`);
    for (const { name, failure } of how.failed.failedTasks)
      display.say(`  ${name}: ${failure?.message ?? "no message"}`);
    process.exitCode = 1;
  } else {
    const { euros } = how.outputs["join-orders"] as { euros: number };
    const { file } = how.outputs["report"] as { file: string };
    display.say(
      `\nFinished run ${id}: ${done}, sales of ${euros.toLocaleString("en")} EUR. The report is in ${join(files, id, file)}.`,
    );
    display.say("Start it again for a new run.");
  }
}
