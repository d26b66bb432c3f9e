import { messageOf } from "../base/error.ts";
import type { DagSpec, EdgeSpec } from "../kernel/dag/dag-spec.ts";
import type { ExecuteType, NodeSpec } from "../kernel/node-spec.ts";
import { nodeTypes } from "../kernel/task-definition.ts";
import { translateDecision } from "./groovy-decision.ts";
import { type ImportedSchedule, scheduleOf } from "./imported-schedule.ts";
import type { PowerJobData, PowerJobJob, PowerJobNode, PowerJobWorkflow } from "./powerjob-data.ts";
import { readyMadeOf } from "./ready-made-processor.ts";

/** A remark for the person who imports: what does not carry over, where, and what to do about it. */
export interface ImportNote {
  /** Name of the node; missing for the workflow as a whole. */
  readonly node?: string;
  /** Path of the value in the definition, for the line in its file. */
  readonly path?: readonly (string | number)[];
  readonly text: string;
  /** True if the workflow cannot run before somebody has changed it. */
  readonly mustChange: boolean;
}

export interface ImportedWorkflow {
  /** Id of the workflow in PowerJob; undefined for a job with a schedule of its own, and for TIS. */
  readonly id?: number;
  readonly name: string;
  readonly dagSpec: DagSpec;
  readonly schedule?: ImportedSchedule;
  readonly notes: readonly ImportNote[];
}

/** A job that somebody has to register: no ready-made job does the same. */
export interface ImportedJob {
  readonly jobId: number;
  readonly name: string;
  readonly processor: string;
  /** How many nodes of the imported workflows run it. */
  readonly nodes: number;
}

export interface Imported {
  readonly workflows: readonly ImportedWorkflow[];
  readonly jobs: readonly ImportedJob[];
}

const deleted = 99;
/** Three bytes each at most, below the limit for names of workflows. */
const nameCharactersMax = 60;

/** PowerJob's execution modes that a node has too, and what is different here. */
const executeTypes: Readonly<Record<number, { readonly executeType: ExecuteType; readonly remark: string }>> = {
  2: {
    executeType: "BROADCAST",
    remark: "a broadcast: what preProcess and postProcess did are jobs of their own here, broadcast.before and after",
  },
  3: {
    executeType: "MAP",
    remark: "a map-reduce: the job hands in its items with ctx.map; its reduce is a job of its own here, map.reduce",
  },
  4: {
    executeType: "MAP",
    remark: "a map: the job hands in its items with ctx.map, and runs for each of them with ctx.item",
  },
};

/**
 * Converts workflows of PowerJob, and jobs that have a schedule of their own, each into a workflow of one node. Deleted
 * ones are left out.
 */
export function importPowerJob(data: PowerJobData): Imported {
  const names = workflowNames(data);
  const jobs = new Map(data.jobs.filter(({ status }) => status !== deleted).map((job) => [job.id, job]));
  const conversion = new Conversion(names.workflows, jobs);
  const workflows = data.workflows
    .filter(({ id }) => names.workflows.has(id))
    .map((workflow) => conversion.workflow(workflow, data.nodes));
  const single = [...jobs.values()]
    .filter(({ id }) => names.jobs.has(id))
    .map((job) => conversion.singleJob(job, names.jobs.get(job.id) as string));
  return { workflows: [...workflows, ...single], jobs: conversion.jobsToRegister() };
}

/** Names are not unique in PowerJob: later workflows of a name have their id in it. */
function workflowNames({ workflows, jobs }: PowerJobData): {
  workflows: ReadonlyMap<number, string>;
  jobs: ReadonlyMap<number, string>;
} {
  const taken = new Set<string>();
  const nameFor = (given: string | null, id: number, fallback: string): string => {
    const clean = fileName(given ?? "") || fallback;
    const name = taken.has(clean) ? `${clean}-${id}` : clean;
    taken.add(name);
    return name;
  };
  const current = workflows.filter(({ status }) => status !== deleted);
  const scheduled = jobs.filter((job) => job.status !== deleted && scheduleOf(job) !== undefined);
  return {
    workflows: new Map(current.map(({ id, wfName }) => [id, nameFor(wfName, id, `workflow-${id}`)])),
    jobs: new Map(scheduled.map(({ id, jobName }) => [id, nameFor(jobName, id, `job-${id}`)])),
  };
}

/** A saved workflow may have a folder of its name. */
function fileName(name: string): string {
  // oxlint-disable-next-line no-control-regex -- a file system may end a name at one of them
  const clean = name.replaceAll(/[/\\:\u0000-\u001f\u007f]/g, "-").replaceAll(/^[.@\s]+|[.\s]+$/g, "");
  return clean.slice(0, nameCharactersMax).toWellFormed();
}

class Conversion {
  readonly #workflowNames: ReadonlyMap<number, string>;
  readonly #jobs: ReadonlyMap<number, PowerJobJob>;
  readonly #jobUses = new Map<number, number>();

  constructor(names: ReadonlyMap<number, string>, jobs: ReadonlyMap<number, PowerJobJob>) {
    this.#workflowNames = names;
    this.#jobs = jobs;
  }

  workflow(workflow: PowerJobWorkflow, rows: readonly PowerJobNode[]): ImportedWorkflow {
    const notes: ImportNote[] = [];
    const name = this.#workflowNames.get(workflow.id) as string;
    const { nodeIds, edges } = graphOf(workflow, notes);
    const own = new Map(rows.filter(({ workflowId }) => workflowId === workflow.id).map((row) => [row.id, row]));
    const nodes = nodeIds.map((id, place) => this.#node(id, own.get(id), place, notes));
    if (name !== workflow.wfName) {
      notes.push({ text: `its name in PowerJob is ${JSON.stringify(workflow.wfName)}`, mustChange: false });
    }
    const maxInstances = workflow.maxWfInstanceNum ?? 1;
    const schedule = scheduleOf(workflow);
    return {
      id: workflow.id,
      name,
      dagSpec: {
        name,
        nodes,
        edges,
        ...(maxInstances > 0 && { maxInstances: { max: maxInstances, policy: "fail" } }),
      },
      ...(schedule !== undefined && { schedule }),
      notes,
    };
  }

  singleJob(job: PowerJobJob, name: string): ImportedWorkflow {
    const notes: ImportNote[] = [];
    const row: PowerJobNode = {
      id: 1,
      workflowId: 0,
      type: nodeTypes.job,
      jobId: job.id,
      nodeName: job.jobName,
      nodeParams: null,
      enable: true,
      skipWhenFailed: false,
    };
    const node = this.#node(1, row, 0, notes);
    const max = job.maxInstanceNum ?? 0;
    const schedule = scheduleOf(job);
    return {
      name,
      dagSpec: {
        name,
        nodes: [node],
        edges: [],
        ...(max > 0 && { maxInstances: { max, policy: "fail" } }),
      },
      ...(schedule !== undefined && { schedule }),
      notes,
    };
  }

  jobsToRegister(): ImportedJob[] {
    return [...this.#jobUses].map(([jobId, nodes]) => {
      const job = this.#jobs.get(jobId);
      return { jobId, name: job?.jobName ?? "", processor: job?.processorInfo ?? "", nodes };
    });
  }

  #node(nodeId: number, row: PowerJobNode | undefined, place: number, notes: ImportNote[]): NodeSpec {
    if (row === undefined) {
      notes.push({
        path: ["nodes", place],
        text: `node ${nodeId} is in the graph and not in workflow_node_info`,
        mustChange: true,
      });
      return { nodeId, nodeName: `node-${nodeId}`, enable: false };
    }
    const nodeName = row.nodeName ?? `node-${nodeId}`;
    const common: NodeSpec = { nodeId, nodeName, enable: row.enable, skipWhenFailed: row.skipWhenFailed };
    const note = (text: string, mustChange: boolean, field: string): void => {
      notes.push({ node: nodeName, path: ["nodes", place, field], text, mustChange });
    };
    switch (row.type) {
      case nodeTypes.decision:
        return { ...common, nodeType: nodeTypes.decision, nodeParams: decisionOf(row.nodeParams ?? "", note) };
      case nodeTypes.nested:
        return { ...common, nodeType: nodeTypes.nested, ...this.#nested(row, note) };
      default:
        return { ...common, nodeType: nodeTypes.job, ...this.#job(row, note) };
    }
  }

  #nested(row: PowerJobNode, note: AddNote): Partial<NodeSpec> {
    const workflowName = row.jobId === null ? undefined : this.#workflowNames.get(row.jobId);
    if (workflowName !== undefined) return { workflowName };
    note(`the nested workflow ${row.jobId} is deleted or of another app`, true, "workflowName");
    return { workflowName: `workflow-${row.jobId}` };
  }

  #job(row: PowerJobNode, note: AddNote): Partial<NodeSpec> {
    const job = row.jobId === null ? undefined : this.#jobs.get(row.jobId);
    if (job === undefined) {
      note(`the job ${row.jobId} is deleted or of another app`, true, "jobId");
      return { ...(row.jobId !== null && { jobId: row.jobId }) };
    }
    const mode = modeOf(job, note);
    const params = blankAsUndefined(row.nodeParams) ?? blankAsUndefined(job.jobParams);
    const limits = limitsOf(job);
    const readyMade = readyMadeOf(job.processorInfo ?? "", params ?? "");
    if (readyMade !== undefined) {
      const { jobName, params: given, remark } = readyMade;
      if (remark !== undefined) note(remark, false, "nodeParams");
      return { jobName, nodeParams: JSON.stringify(given), ...limits, ...mode };
    }
    this.#jobUses.set(job.id, (this.#jobUses.get(job.id) ?? 0) + 1);
    return { jobId: job.id, ...(params !== undefined && { nodeParams: params }), ...limits, ...mode };
  }
}

type AddNote = (text: string, mustChange: boolean, field: string) => void;

/** The ids of the nodes and the edges; names and params of the nodes are in rows of their own. */
function graphOf({ peDag }: PowerJobWorkflow, notes: ImportNote[]): { nodeIds: number[]; edges: EdgeSpec[] } {
  try {
    const { nodes, edges } = JSON.parse(peDag ?? "") as {
      nodes: { nodeId: number | string }[];
      edges?: EdgeSpec[] | null;
    };
    return {
      nodeIds: nodes.map(({ nodeId }) => Number(nodeId)),
      edges: (edges ?? []).map(({ from, to, property, enable }) => ({
        from: Number(from),
        to: Number(to),
        ...(typeof property === "string" && property !== "" && { property }),
        ...(enable === false && { enable }),
      })),
    };
  } catch (error) {
    notes.push({ text: `its graph cannot be read: ${messageOf(error)}`, mustChange: true });
    return { nodeIds: [], edges: [] };
  }
}

function decisionOf(groovy: string, note: AddNote): string {
  const cel = translateDecision(groovy);
  if (cel === undefined) {
    note(`a decision in Groovy, to be written in CEL: ${oneLine(groovy)}`, true, "nodeParams");
    return groovy;
  }
  note(
    `translated from Groovy, to be checked: values of the context are JSON here and text in PowerJob, and a missing key fails: ${oneLine(groovy)}`,
    false,
    "nodeParams",
  );
  return cel;
}

function oneLine(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, " ");
  return line.length > 200 ? `${line.slice(0, 200)} …` : line;
}

function modeOf({ executeType, designatedWorkers }: PowerJobJob, note: AddNote): Pick<NodeSpec, "executeType"> {
  const mode = executeTypes[executeType ?? 1];
  if (mode !== undefined) note(mode.remark, false, "executeType");
  if (blankAsUndefined(designatedWorkers) !== undefined) {
    note(`designated workers "${designatedWorkers}" are not carried over: see workerTags and worker`, false, "jobId");
  }
  return mode === undefined ? {} : { executeType: mode.executeType };
}

/** PowerJob runs a job again on its worker (`taskRetryNum`), and all of that again (`instanceRetryNum`). */
function limitsOf({ instanceTimeLimit, instanceRetryNum, taskRetryNum }: PowerJobJob): Partial<NodeSpec> {
  const retryCount = (Math.max(0, taskRetryNum ?? 0) + 1) * (Math.max(0, instanceRetryNum ?? 0) + 1) - 1;
  return {
    ...(instanceTimeLimit !== null && instanceTimeLimit > 0 && { timeoutSeconds: instanceTimeLimit / 1000 }),
    ...(retryCount > 0 && { retryCount }),
  };
}

function blankAsUndefined(text: string | null): string | undefined {
  return text === null || text.trim() === "" ? undefined : text;
}
