import { resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { inputSchemaOf } from "../../authoring/input-schema.ts";
import { Workflow } from "../../authoring/workflow.ts";
import type { CodeWorkflow } from "../../authoring/code-workflow.ts";
import { didYouMean } from "../../base/closest-name.ts";
import { EngineError, hasCode } from "../../base/error.ts";
import { preview } from "../../base/preview.ts";
import type { CatalogueEntry, ScheduleFieldsChange } from "../../catalogue/catalogue-entry.ts";
import type { DataOf, Immutable } from "../../api/routes.ts";
import type { WorkflowView } from "../../engine/overview.ts";
import type { DagSpec } from "../../kernel/dag/dag-spec.ts";
import { cursorOf, placeOf } from "../http/cursor.ts";
import type { AuthorizedRequest, Handlers } from "../http/handler.ts";
import type { Caller } from "../request/caller.ts";
import { done, type RouteParts } from "./route-parts.ts";
import { startInstance } from "./start-instance.ts";

type WorkflowRoutes = Pick<
  Handlers,
  | "listWorkflows"
  | "createWorkflow"
  | "getWorkflow"
  | "updateWorkflow"
  | "deleteWorkflow"
  | "scheduleWorkflow"
  | "triggerWorkflow"
  | "listWorkflowVersions"
  | "diffWorkflow"
  | "rollBackWorkflow"
>;

type Summary = DataOf<"listWorkflows">["items"][number];

/** Number of due times of a workflow. */
const timesShown = 5;

export function workflowRoutes(parts: RouteParts): WorkflowRoutes {
  const { catalogue } = parts;
  return {
    listWorkflows: ({ query }) => listWorkflows(parts, query),
    createWorkflow: async (asked) => withoutPaths(parts, asked.caller, await createWorkflow(parts, asked)),
    getWorkflow: async ({ params, caller }) => withoutPaths(parts, caller, await getWorkflow(parts, params.id, caller)),
    updateWorkflow: async ({ params, body, caller }) => {
      const { dagSpec, enableSchedule, ifVersion } = body;
      const saved = await catalogue.update(params.id, {
        ...(dagSpec !== undefined && { spec: dagSpec }),
        ...(enableSchedule !== undefined && { isScheduled: enableSchedule }),
        ...scheduleFields(body),
        ...(ifVersion !== undefined && { ifVersion }),
        by: caller.name,
      });
      return withoutPaths(parts, caller, saved);
    },
    deleteWorkflow: async ({ params, caller }) => {
      await catalogue.delete(params.id, caller.name);
      return done;
    },
    scheduleWorkflow: async ({ params, body, caller }) => {
      await catalogue.setSchedule(params.id, { enable: body.enable, ...scheduleFields(body) }, caller.name);
      return done;
    },
    triggerWorkflow: async (asked) => {
      return { instanceId: await startInstance(parts, await findWorkflow(parts, asked.params.id), asked) };
    },
    listWorkflowVersions: ({ params, query }) => listVersions(parts, params.id, query),
    diffWorkflow: async ({ params, query }) => {
      const { from, to } = query;
      const changes = await catalogue.diff(params.id, from, to);
      return { from, to: to ?? (await catalogue.get(params.id)).version, changes };
    },
    rollBackWorkflow: async ({ params, body, caller }) =>
      withoutPaths(parts, caller, await catalogue.rollBack(params.id, body.version, caller.name)),
  };
}

/** The given schedule fields, with the catalogue's names. */
function scheduleFields({
  cronExpr,
  timeZone,
  overlap,
  misfire,
}: AuthorizedRequest<"updateWorkflow">["body"]): ScheduleFieldsChange {
  return {
    ...(cronExpr !== undefined && { cronExpr }),
    ...(timeZone !== undefined && { timeZone }),
    ...(overlap !== undefined && { whenBusy: overlap }),
    ...(misfire !== undefined && { whenMissed: misfire }),
  };
}

/** Finds a workflow by its name or catalogue id. `WORKFLOW_UNKNOWN`. */
async function findWorkflow({ engine, catalogue }: RouteParts, idOrName: string): Promise<Workflow | CodeWorkflow> {
  const known = engine.findWorkflow(idOrName);
  if (known !== undefined) return known;
  const { name } = await catalogue.get(idOrName).catch((error: unknown) => {
    throw hasCode(error, "WORKFLOW_UNKNOWN") ? unknownWorkflow(engine, idOrName, error) : error;
  });
  const byName = engine.findWorkflow(name);
  if (byName !== undefined) return byName;
  throw new EngineError(
    "WORKFLOW_UNKNOWN",
    `workflow ${preview(name)} was saved, and this member does not know it yet: try again in a few seconds`,
  );
}

/** Lists saved workflows and those of the server's modules, by name. */
async function listWorkflows(
  { engine, catalogue, ofProgram }: RouteParts,
  { cursor, limit, search }: AuthorizedRequest<"listWorkflows">["query"],
): Promise<DataOf<"listWorkflows">> {
  const [after] = placeOf<[string]>(cursor, ["string"]) ?? [];
  const saved = await catalogue.list({
    limit: limit + 1,
    ...(after !== undefined && { after }),
    ...(search !== undefined && { search }),
  });
  const names = new Set(saved.items.map(({ name }) => name));
  const own = engine
    .listWorkflows()
    .filter((view) => isOfProgram(ofProgram, view) && !names.has(view.name))
    .filter(({ name }) => (after === undefined || name > after) && name.includes(search ?? ""))
    .map((view) => summaryOfProgram(engine.findWorkflow(view.name), view));
  const all = [...saved.items.map(summaryOfEntry), ...own].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const items = all.slice(0, limit);
  const last = items.at(-1);
  return { items, next: all.length > limit && last !== undefined ? cursorOf([last.name]) : null };
}

async function createWorkflow(
  { catalogue }: RouteParts,
  { body, caller, isRepeat }: AuthorizedRequest<"createWorkflow">,
): Promise<DataOf<"createWorkflow">> {
  const { name, dagSpec: spec, enableSchedule } = body;
  try {
    return await catalogue.create({
      name,
      spec,
      isScheduled: enableSchedule,
      by: caller.name,
      ...scheduleFields(body),
    });
  } catch (error) {
    if (!isRepeat || !hasCode(error, "WORKFLOW_DUPLICATE")) throw error;
    // A retry after a lost answer: the saved workflow is the requested one.
    const there = await catalogue.get(name);
    if (!isDeepStrictEqual(there.version, Workflow.fromJSON(spec, { name }).version)) throw error;
    return { id: there.id, name, version: there.version, warning: null };
  }
}

/** Removes server paths from a warning, which are for admins only. */
function withoutPaths<Data extends { readonly warning: string | null }>(
  { folder }: RouteParts,
  { role }: Caller,
  data: Data,
): Data {
  if (role === "admin" || folder === undefined || data.warning === null) return data;
  return { ...data, warning: withoutFolder(data.warning, folder) };
}

function withoutFolder(text: string, folder: string): string {
  return text.replaceAll(`${resolve(folder)}${sep}`, "").replaceAll(resolve(folder), "the folder of definitions");
}

async function getWorkflow(parts: RouteParts, idOrName: string, caller: Caller): Promise<DataOf<"getWorkflow">> {
  const { engine, catalogue, ofProgram } = parts;
  const view = engine.listWorkflows().find(({ name }) => name === idOrName);
  try {
    return detailOfEntry(parts, await catalogue.get(idOrName));
  } catch (error) {
    if (!hasCode(error, "WORKFLOW_UNKNOWN")) throw error;
    if (view === undefined || !isOfProgram(ofProgram, view)) {
      const { warning } = withoutPaths(parts, caller, { warning: catalogue.warningOf(idOrName) });
      throw withFileProblem(unknownWorkflow(engine, idOrName, error), warning);
    }
  }
  const workflow = engine.findWorkflow(idOrName);
  if (workflow === undefined || view === undefined) {
    throw new EngineError("WORKFLOW_UNKNOWN", `no workflow ${preview(idOrName)} is known`);
  }
  return {
    ...summaryOfProgram(workflow, view),
    dagSpec: workflow instanceof Workflow ? dagSpecOf(workflow.toJSON()) : null,
    inputSchema: workflow instanceof Workflow ? null : (inputSchemaOf(workflow.input) ?? null),
    timeZone: null,
    overlap: null,
    misfire: null,
    createdAt: null,
    nextFireTimes: [],
    warning: catalogue.warningOf(idOrName),
  };
}

/** True for a workflow of the server's modules, or of its workers; others belong to the catalogue, or once did. */
function isOfProgram(ofProgram: ReadonlySet<string>, { name, isHere }: WorkflowView): boolean {
  return ofProgram.has(name) || !isHere;
}

function unknownWorkflow(engine: RouteParts["engine"], idOrName: string, cause: unknown): EngineError {
  const names = engine.listWorkflows().map(({ name }) => name);
  const message = `no workflow ${preview(idOrName)} is registered or saved${didYouMean(idOrName, names)}`;
  return new EngineError("WORKFLOW_UNKNOWN", message, { cause });
}

/** Adds the problem of a broken file without a saved workflow to the error. */
function withFileProblem(error: EngineError, problem: string | null): EngineError {
  return problem === null ? error : new EngineError(error.code, `${error.message}; ${problem}`, { cause: error });
}

type Detail = DataOf<"getWorkflow">;

/** Mapped types, unlike interfaces, fit schemas that keep unknown fields. */
function dagSpecOf(spec: Immutable<DagSpec>): Detail["dagSpec"] {
  return spec;
}

function detailOfEntry({ engine, catalogue }: RouteParts, entry: CatalogueEntry): Detail {
  const { spec, timeZone, createdAt, cronExpr, isScheduled, whenBusy = null, whenMissed = null } = entry;
  const every = { cron: cronExpr ?? "", ...(timeZone !== null && { timeZone }) };
  return {
    ...summaryOfEntry(entry),
    dagSpec: dagSpecOf(spec),
    inputSchema: null,
    timeZone,
    overlap: whenBusy,
    misfire: whenMissed,
    createdAt,
    nextFireTimes: isScheduled && cronExpr !== null ? engine.schedules.preview({ every }, { count: timesShown }) : [],
    warning: catalogue.warningOf(entry.name),
  };
}

function summaryOfEntry(entry: CatalogueEntry): Summary {
  const { id, name, version, cronExpr, isScheduled, spec, updatedAt, updatedBy } = entry;
  const enableSchedule = isScheduled;
  const nodes = spec.nodes.length;
  return { id, name, kind: "dag", version, origin: "catalogue", cronExpr, enableSchedule, nodes, updatedAt, updatedBy };
}

function summaryOfProgram(
  workflow: Workflow | CodeWorkflow | undefined,
  { name, kind, version = "", isHere }: WorkflowView,
): Summary {
  return {
    id: name,
    name,
    kind,
    version,
    origin: isHere ? "code" : "worker",
    cronExpr: null,
    enableSchedule: false,
    nodes: workflow instanceof Workflow ? workflow.tasks.size : null,
    updatedAt: null,
    updatedBy: null,
  };
}

async function listVersions(
  { catalogue }: RouteParts,
  idOrName: string,
  { cursor, limit }: AuthorizedRequest<"listWorkflowVersions">["query"],
): Promise<DataOf<"listWorkflowVersions">> {
  const [from = 0] = placeOf<[number]>(cursor, ["number"]) ?? [];
  const saves = await catalogue.versions(idOrName);
  const items = saves.slice(from, from + limit).map((save, at) => ({ ...save, isCurrent: from + at === 0 }));
  return { items, next: from + limit < saves.length ? cursorOf([from + limit]) : null };
}
