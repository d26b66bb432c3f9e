import { toJsonText } from "../base/json-text.ts";
import type { CodeRegistry } from "../authoring/code-registry.ts";
import { type CodeWorkflow, isCodeWorkflow } from "../authoring/code-workflow.ts";
import type { JobRegistry } from "../authoring/job-registry.ts";
import { Workflow } from "../authoring/workflow.ts";
import { workflowVersion } from "../authoring/workflow-version.ts";
import { assert, unreachable } from "../base/assert.ts";
import { EngineError, hasCode } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { hasMark, localName, markProblem, qualify } from "../base/namespace.ts";
import { validateValue, textOf } from "../code/values.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { Graph } from "../kernel/dag/graph.ts";
import { isJobWorkflowName, isOwnWorkflowName, jobWorkflowPrefix, ownWorkflowPrefix } from "../kernel/event.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import { defineTask, kindOf, type TaskDefinition } from "../kernel/task-definition.ts";
import type { DagDefinition, Definition, Definitions } from "../runtime/definitions.ts";
import type { Expressions } from "../expressions/expression.ts";
import { asContext } from "../runtime/task-inputs.ts";

/** A definition with those of the workflows nested in it, all checked against this engine's jobs and domains. */
export interface Prepared {
  readonly definition: Definition;
  readonly all: readonly Definition[];
}

/** One reason why a workflow cannot be started here. */
export interface WorkflowProblem {
  readonly error: EngineError;
  /** The name of the task that it is about; undefined if it is about the workflow as a whole. */
  readonly task?: string;
}

/** Sub-tasks that were checked, with the definitions of the workflows that they nest. */
export interface CheckedSubTasks {
  readonly nodes: readonly NodeSpec[];
  readonly definitions: readonly Definition[];
}

/**
 * Prepares workflows to be started: fixes the versions of nested workflows, and refuses what would fail later. A workflow
 * that was prepared before costs one lookup.
 */
export class Submission {
  readonly #namespace: string;
  readonly #definitions: Definitions;
  readonly #registry: JobRegistry;
  readonly #expressions: Expressions;
  readonly #code: CodeRegistry;
  readonly #hasDomain: (domain: string) => boolean;
  readonly #learnJobs: () => Promise<void>;
  readonly #known = new Map<string, Workflow>();
  readonly #prepared = new WeakMap<Workflow, Prepared & { revision: number }>();
  /** The version that was prepared last, even if a workflow that it nests by name has changed since. */
  readonly #versions = new WeakMap<Workflow, string>();
  readonly #checked = new WeakSet<Definition>();
  readonly #codeDefinitions = new WeakMap<CodeWorkflow, Definition>();

  constructor(options: {
    /** The namespace of the workflows, jobs and domains. */
    namespace: string;
    definitions: Definitions;
    registry: JobRegistry;
    expressions: Expressions;
    hasDomain: (domain: string) => boolean;
    /** Reads the jobs that workers have announced to other members. */
    learnJobs: () => Promise<void>;
    /** DAGs that can be nested by name. */
    workflows: readonly Workflow[];
    code: CodeRegistry;
  }) {
    this.#namespace = options.namespace;
    this.#code = options.code;
    this.#definitions = options.definitions;
    this.#registry = options.registry;
    this.#expressions = options.expressions;
    this.#hasDomain = options.hasDomain;
    this.#learnJobs = options.learnJobs;
    for (const workflow of options.workflows) this.#known.set(workflow.name, workflow);
  }

  /** The cached result of `prepare` for the present revision of the workflow. */
  findPrepared(workflow: Workflow): Prepared | undefined {
    const prepared = this.#prepared.get(workflow);
    return prepared !== undefined && prepared.revision === workflow.revision ? prepared : undefined;
  }

  async prepare(workflow: Workflow, above: readonly string[] = []): Promise<Prepared> {
    if (!(workflow instanceof Workflow)) {
      throw new EngineError(
        "WORKFLOW_INVALID",
        "submitWorkflow takes what WorkflowBuilder.build() or Workflow.fromJSON() gave",
      );
    }
    const before = this.findPrepared(workflow);
    if (before !== undefined) return before;
    refuseReservedName(workflow.name);
    return await this.learnIfMissing(() => this.#prepare(workflow, above));
  }

  /** Repeats work that misses a job once the jobs are known that workers have announced to other members. */
  async learnIfMissing<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!hasCode(error, "JOB_MISSING")) throw error;
      await this.#learnJobs();
      return await work();
    }
  }

  /** Prepares the workflow of a single job, whose name is reserved. */
  async prepareJobWorkflow(workflow: Workflow): Promise<Prepared> {
    return this.findPrepared(workflow) ?? (await this.#prepare(workflow, []));
  }

  /** The definition of a job's workflow, whether or not the job can run here now. */
  defineJobWorkflow(workflow: Workflow): Definition {
    return this.#definitions.add(this.#qualify(workflow.name), workflow.version, workflow.spec());
  }

  async #prepare(workflow: Workflow, above: readonly string[]): Promise<Prepared> {
    refuseCircle(workflow.name, above);
    const { revision } = workflow;
    const spec = workflow.spec();
    const nested = await this.#fixNested(workflow, spec, [...above, workflow.name]);
    const definition = this.#define(
      workflow.name,
      spec,
      nested.all.length === 0 ? workflow.version : workflowVersion(spec),
    );
    const prepared = { definition, all: [definition, ...nested.all], revision };
    if (!nested.byName) this.#prepared.set(workflow, prepared);
    this.#versions.set(workflow, definition.version);
    return prepared;
  }

  /**
   * Throws what `prepare` would, and registers nothing. An error in the workflow itself takes precedence over something
   * that is missing here. A listener hears of each error instead. `WORKFLOW_DUPLICATE` for other code under the name and version of a registered one.
   */
  async check(workflow: Workflow | CodeWorkflow, onProblem?: (problem: WorkflowProblem) => void): Promise<void> {
    if (!(workflow instanceof Workflow)) return this.#checkCode(workflow);
    let lack: EngineError | undefined;
    if (await this.#lacksJobs(workflow)) await this.#learnJobs();
    for await (const problem of this.#problems(workflow, [])) {
      const { error } = problem;
      if (onProblem !== undefined) onProblem(problem);
      else if (!mayStillCome(error)) throw error;
      else lack ??= error;
    }
    if (lack !== undefined) throw lack;
  }

  async #lacksJobs(workflow: Workflow): Promise<boolean> {
    for await (const { error } of this.#problems(workflow, [])) if (hasCode(error, "JOB_MISSING")) return true;
    return false;
  }

  #checkCode(workflow: CodeWorkflow): void {
    if (!isCodeWorkflow(workflow)) {
      const message = `a workflow is made by WorkflowBuilder, Workflow.fromJSON() or defineWorkflow(), got ${preview(workflow)}`;
      throw new EngineError("WORKFLOW_INVALID", message);
    }
    const { name, version } = workflow;
    const known = this.#code.find(name, version);
    if (known === undefined || known === workflow) return;
    const message = `code workflow "${name}" is already registered in version "${version}"; give the other one its own version`;
    throw new EngineError("WORKFLOW_DUPLICATE", message);
  }

  /** The problems of the workflow itself, and those of the workflows that it nests. */
  async *#problems(workflow: Workflow, above: readonly string[]): AsyncGenerator<WorkflowProblem> {
    if (this.findPrepared(workflow) !== undefined) return;
    const spec = workflow.spec();
    yield* problemsIn(() => refuseReservedName(workflow.name));
    yield* this.#ownProblems(workflow.name, new Graph(spec));
    const tasks = [...workflow.tasks.values()];
    const path = [...above, workflow.name];
    for (const [place, node] of spec.nodes.entries()) {
      if (kindOf(node) !== "nested") continue;
      const given = tasks[place]?.nestedWorkflow;
      const task = tasks[place]?.name ?? "";
      try {
        const nested = typeof given === "object" ? given : await this.#find(node, path, `task "${node.nodeName}"`);
        if (!(nested instanceof Workflow)) continue;
        refuseCircle(nested.name, path);
        for await (const { error } of this.#problems(nested, path)) yield { error, task };
      } catch (error) {
        yield { error: refusalOf(error), task };
      }
    }
  }

  /**
   * Checks sub-tasks that join a running instance, and fixes the versions of workflows that they nest. The definitions
   * must be durable before an instance refers to them.
   */
  async checkSubTasks(subTasks: readonly NodeSpec[], parentName: string): Promise<CheckedSubTasks> {
    const definitions: Definition[] = [];
    const nodes: NodeSpec[] = [];
    for (const node of subTasks) {
      const where = `sub-task "${node.nodeName}" of task "${parentName}"`;
      this.#checkTask(defineTask(node, node.nodeName ?? ""), where);
      if (kindOf(node) !== "nested") {
        nodes.push(node);
        continue;
      }
      const { definition, all } = await this.#byName(node, [], where);
      nodes.push({ ...node, workflowName: localName(definition.name), workflowVersion: definition.version });
      definitions.push(...all);
    }
    return { nodes, definitions };
  }

  /** Writes the version of each nested workflow into the spec. */
  async #fixNested(
    workflow: Workflow,
    spec: DagSpec,
    above: readonly string[],
  ): Promise<{ all: Definition[]; byName: boolean }> {
    const all: Definition[] = [];
    let byName = false;
    const tasks = [...workflow.tasks.values()];
    for (const [place, node] of spec.nodes.entries()) {
      if (kindOf(node) !== "nested") continue;
      const given = tasks[place]?.nestedWorkflow;
      byName ||= typeof given !== "object";
      const inner =
        typeof given === "object"
          ? await this.prepare(given, above)
          : await this.#byName(node, above, `task "${node.nodeName}"`);
      node.workflowName = localName(inner.definition.name);
      node.workflowVersion = inner.definition.version;
      all.push(...inner.all);
    }
    return { all, byName };
  }

  async #byName(node: NodeSpec, above: readonly string[], where: string): Promise<Prepared> {
    const found = await this.#find(node, above, where);
    return found instanceof Workflow ? await this.prepare(found, above) : found;
  }

  /** The workflow that a node nests: a DAG that is still to be prepared, or a prepared one. */
  async #find(node: NodeSpec, above: readonly string[], where: string): Promise<Workflow | Prepared> {
    const { workflowName: name = String(node.jobId), workflowVersion: version } = node;
    if (isOwnWorkflowName(name)) throw unknownNested(where, name);
    const code = version === undefined ? this.#code.latest(name) : this.#code.known(name, version);
    if (code !== undefined) return this.#prepareCode(code);
    if (version === undefined) refuseCircle(name, above);
    const known = this.#known.get(name);
    if (known !== undefined && (version === undefined || version === known.version)) return known;
    if (version !== undefined) return await this.#byVersion(name, version, where);
    const latest = await this.#definitions.latest(this.#qualify(name));
    if (latest === undefined) throw unknownNested(where, name);
    if (latest.kind === "code") return { definition: latest, all: [latest] };
    return Workflow.fromJSON(latest.spec, { name });
  }

  #prepareCode(workflow: CodeWorkflow): Prepared {
    const definition = this.defineCode(workflow);
    return { definition, all: [definition] };
  }

  defineCode(workflow: CodeWorkflow): Definition {
    let definition = this.#codeDefinitions.get(workflow);
    if (definition === undefined) {
      const { name, version, timeoutSeconds, maxConcurrentActivities, maxInstances } = workflow;
      definition = this.#definitions.add(this.#qualify(name), version, {
        code: true,
        ...(timeoutSeconds !== undefined && { timeoutSeconds }),
        ...(maxConcurrentActivities !== undefined && { maxConcurrentActivities }),
        ...(maxInstances !== undefined && { maxInstances: { policy: "queue", ...maxInstances } }),
      });
      this.#codeDefinitions.set(workflow, definition);
    }
    return definition;
  }

  /** Registers a DAG under its name, even if it cannot run here. `WORKFLOW_DUPLICATE`, `WORKFLOW_INVALID`. */
  register(workflow: Workflow): void {
    refuseReservedName(workflow.name);
    if (this.#code.latest(workflow.name) !== undefined) {
      const message = `"${workflow.name}" is the name of a code workflow; a DAG needs another one`;
      throw new EngineError("WORKFLOW_DUPLICATE", message);
    }
    this.#known.set(workflow.name, workflow);
  }

  /** Removes a DAG by name; its instances continue. */
  forget(name: string): void {
    this.#known.delete(name);
  }

  /** The workflow that users can start under that name; none of the engine's own. */
  find(name: string): Workflow | CodeWorkflow | undefined {
    if (isOwnWorkflowName(name)) return undefined;
    return this.#code.latest(name) ?? this.#known.get(name);
  }

  /** Checks an input after a round trip through JSON, as each run reads it. `INPUT_INVALID`. */
  async checkInput(name: string, input: unknown): Promise<void> {
    const schema = this.#code.latest(name)?.input;
    if (schema === undefined) return;
    const what = `the input of workflow "${name}"`;
    const text = textOf(input, what);
    await validateValue(schema, text === undefined ? undefined : JSON.parse(text), what);
  }

  get names(): string[] {
    const names = [...this.#code.names, ...this.#known.keys()];
    return [...new Set(names)].filter((name) => !isOwnWorkflowName(name));
  }

  /** False for code that only workers have. */
  isHere(name: string): boolean {
    return this.#known.has(name) || this.#code.isHere(name);
  }

  /** The version that code gets when it starts a child by name. */
  versionOf(name: string): string | undefined {
    if (isOwnWorkflowName(name)) return undefined;
    const known = this.#known.get(name);
    return this.#code.latest(name)?.version ?? (known && this.#versions.get(known));
  }

  /** The definitions of all registered workflows, for code that starts children by name. */
  async prepareAll(onRefused: (workflow: string, error: EngineError) => void): Promise<Definition[]> {
    const definitions = this.#code.all().map((workflow) => this.defineCode(workflow));
    for (const workflow of this.#known.values()) {
      try {
        definitions.push(...(await this.prepare(workflow)).all);
      } catch (error) {
        // The workflow is refused again, with this error, when it is started.
        if (!(error instanceof EngineError) || error.retryable) throw error;
        onRefused(workflow.name, error);
      }
    }
    return definitions;
  }

  async #byVersion(name: string, version: string, where: string): Promise<Prepared> {
    try {
      const definition = await this.#definitions.load(this.#qualify(name), version);
      return { definition, all: [definition] };
    } catch (error) {
      if (!hasCode(error, "WORKFLOW_UNKNOWN")) throw error;
      throw new EngineError(
        "WORKFLOW_UNKNOWN",
        `${where} nests workflow "${name}" in version ${version}, which was never submitted and is not among the engine's "workflows"`,
        { cause: error },
      );
    }
  }

  #define(name: string, spec: DagSpec, version: string): DagDefinition {
    const definition = this.#definitions.add(this.#qualify(name), version, spec);
    assert(definition.kind === "dag", "a name and version stand for one definition");
    if (!this.#checked.has(definition)) {
      for (const { error } of this.#ownProblems(name, definition.graph)) throw error;
      this.#checked.add(definition);
    }
    return definition;
  }

  #qualify(name: string): string {
    return qualify(this.#namespace, name);
  }

  *#ownProblems(name: string, graph: Graph): Generator<WorkflowProblem> {
    yield* problemsIn(() => this.#checkDomain(graph.domain, `workflow "${name}"`));
    for (const task of graph.tasks) {
      yield* problemsIn(() => this.#checkTask(task, `task "${task.name}" of workflow "${name}"`), task.name);
    }
  }

  #checkTask(task: TaskDefinition, where: string): void {
    this.#checkDomain(task.domain, where);
    try {
      this.#checkWork(task);
    } catch (error) {
      if (error instanceof EngineError)
        throw new EngineError(error.code, `${where}: ${error.message}`, { cause: error });
      throw error;
    }
  }

  #checkWork(task: TaskDefinition): void {
    const { kind } = task;
    switch (kind) {
      case "job":
        this.#registry.resolve(task);
        return;
      case "map":
        this.#registry.resolve(task);
        for (const hook of task.map?.hooks ?? []) this.#registry.resolve({ ...hook, params: hook.nodeParams });
        if (typeof task.map?.items === "string") this.#expressions.check(task.map.items);
        return;
      case "decision":
        return this.#expressions.check(task.params ?? "");
      case "nested":
        // Found, checked and fixed to a version with the node.
        return;
      default:
        unreachable(kind, "the kind of a task");
    }
  }

  #checkDomain(domain: string | undefined, where: string): void {
    if (domain === undefined || this.#hasDomain(domain)) return;
    throw new EngineError(
      "DOMAIN_UNKNOWN",
      `${where} belongs to domain "${domain}", which is not declared in the engine's "domains"`,
    );
  }
}

/** True if a worker, another member or a later registration may supply what is missing. */
export function mayStillCome(error: unknown): boolean {
  return hasCode(error, "JOB_MISSING") || hasCode(error, "DOMAIN_UNKNOWN") || hasCode(error, "WORKFLOW_UNKNOWN");
}

function refuseCircle(name: string, above: readonly string[]): void {
  if (!above.includes(name)) return;
  const circle = [...above.slice(above.indexOf(name)), name].join(" → ");
  throw new EngineError("NESTING_TOO_DEEP", `nested workflows contain themselves: ${circle}`);
}

function refuseReservedName(name: string): void {
  if (isOwnWorkflowName(name)) throw ownName(name);
  if (hasMark(name)) throw new EngineError("WORKFLOW_INVALID", markProblem("the name of a workflow", name));
  if (!isJobWorkflowName(name)) return;
  const message = `workflow ${preview(name)} needs another name: those that begin with "${jobWorkflowPrefix}" belong to jobs that run by themselves`;
  throw new EngineError("WORKFLOW_INVALID", message);
}

function unknownNested(where: string, name: string): EngineError {
  const message = `${where} nests workflow "${name}", which was never submitted and is not among the engine's "workflows"`;
  return new EngineError("WORKFLOW_UNKNOWN", message);
}

function ownName(name: string): EngineError {
  const message = `workflow ${preview(name)} needs another name: those that begin with "${ownWorkflowPrefix}" are the engine's own`;
  return new EngineError("WORKFLOW_INVALID", message);
}

function* problemsIn(check: () => void, task?: string): Generator<WorkflowProblem> {
  try {
    check();
  } catch (error) {
    yield { error: refusalOf(error), ...(task !== undefined && { task }) };
  }
}

/** Other errors are no fault of the workflow, and are thrown. */
function refusalOf(error: unknown): EngineError {
  if (error instanceof EngineError && !error.retryable) return error;
  throw error;
}

/** The context at the start, as JSON texts by key: start parameters over the workflow's own; a value that is not an object becomes `{ initParams: value }`. */
/** The context of instances that start without one, shared by all of them. */
const noContext: Readonly<Record<string, string>> = Object.freeze({});

function hasNoKeys(values: object): boolean {
  for (const _ in values) return false;
  return true;
}

export function startContext(workflow: Workflow, params: unknown): Readonly<Record<string, string>> {
  const { context } = workflow;
  if (params === undefined && hasNoKeys(context)) return noContext;
  const defined = jsonTexts(context, "the workflow's context");
  return params === undefined ? defined : { ...defined, ...jsonTexts(asContext(params), "the start parameters") };
}

export function jsonTexts(values: Readonly<Record<string, unknown>>, what: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => {
      const text = toJsonText(value, `${what}: "${key}"`);
      return text === undefined ? [] : [[key, text]];
    }),
  );
}
