import type { CodeWorkflow } from "../../authoring/code-workflow.ts";
import { Workflow } from "../../authoring/workflow.ts";
import { EngineError, hasCode } from "../../base/error.ts";
import { localName } from "../../base/namespace.ts";
import type { CodeHost } from "../../dispatch/code-host.ts";
import type { Link, LinkListener } from "../../dispatch/link.ts";
import type { HistoryEvent } from "../../durabletask/history-messages.ts";
import type { Given } from "../../durabletask/message.ts";
import {
  type CreateInstanceRequest,
  type OrchestrationState,
  type PurgeInstancesRequest,
  statusNumbers,
} from "../../durabletask/client-messages.ts";
import { tagsEvent } from "../../durabletask/event-marks.ts";
import { isOrchestratorVersion, workflowVersion } from "../../durabletask/names.ts";
import type { KnownNames } from "../../durabletask/steps-of-actions.ts";
import type { CodeHosting } from "../../engine/code-hosting.ts";
import type { EngineNamespace } from "../../engine/engine-namespace.ts";
import type { Step } from "../../kernel/code/step.ts";
import { hasEnded } from "../../kernel/status.ts";
import type { InstanceView } from "../../views/instance-view.ts";
import { refuseScheduleInstance } from "../http/own-instances.ts";
import { HttpError } from "../request/http-error.ts";
import { deleteInstance } from "../routes/delete-instance.ts";
import type { RouteParts } from "../routes/route-parts.ts";
import { checkGivenId } from "../routes/start-instance.ts";
import { readHistory } from "./instance-history.ts";
import { InstanceLists } from "./instance-lists.ts";
import { orchestrationStatus, readState, reasonOfOutput } from "./orchestration-state.ts";
import { SecondRuns } from "./second-runs.ts";
import { makeWorkItems } from "./work-item-stream.ts";

export type TaskHubParts = Pick<RouteParts, "namespace" | "engine" | "store" | "taskLogs" | "clock"> & {
  /** Where code of workflows connects; it makes the namespace known. */
  readonly hosting: () => CodeHosting;
};

/** Clocks of clients may be ahead. */
const clockToleranceMs = 5000;

/** Actions of the older policy for ids that are taken. */
const ignoreAction = 1;
const terminateAction = 2;

/** The operations of Durable Task's and Dapr's clients on the instances of one namespace, whatever started them. */
export class TaskHub {
  /** Work items that workers have not answered. */
  readonly items = makeWorkItems();
  readonly lists: InstanceLists;
  readonly secondRuns: SecondRuns;
  readonly #parts: TaskHubParts;
  readonly #engine: EngineNamespace;

  constructor(parts: TaskHubParts) {
    this.#parts = parts;
    this.#engine = parts.engine;
    this.lists = new InstanceLists(parts.engine);
    this.secondRuns = new SecondRuns({
      engine: parts.engine,
      hosting: parts.hosting,
      start: (request) => this.start(request),
    });
  }

  /** Starts an instance and returns its id. The id of an ended instance may be used again. `INSTANCE_EXISTS`. */
  async start(request: CreateInstanceRequest): Promise<string> {
    const { name, instanceId } = request;
    if (name === "") throw new HttpError("REQUEST_INVALID", "the name of the workflow to start is empty");
    if (instanceId !== "") checkGivenId(instanceId);
    this.#refuseLater(request);
    const existing = instanceId === "" ? undefined : await this.#find(instanceId);
    if (existing !== undefined && (await this.#isKept(existing, request))) return instanceId;
    try {
      return await this.#start(request);
    } catch (error) {
      throw hasCode(error, "INSTANCE_EXISTS") ? active(instanceId) : error;
    }
  }

  async #start(request: CreateInstanceRequest): Promise<string> {
    const { instanceId, name, input, parentTrace } = request;
    const own = this.#findOwn(name);
    const traceparent = parentTrace?.traceParent;
    const options = {
      ...(instanceId !== "" && { instanceId, reuse: true }),
      ...(traceparent !== undefined && traceparent !== "" && { traceparent }),
    };
    const value = parseInput(input);
    if (own === undefined) return await this.#startOrchestration(request, value, options);
    const started =
      own instanceof Workflow
        ? await this.#engine.submitWorkflow(own, { ...options, ...(value !== undefined && { params: value }) })
        : await this.#engine.startWorkflow(own, value, options);
    return started.instanceId;
  }

  async #startOrchestration(
    { name, version, tags }: CreateInstanceRequest,
    input: unknown,
    options: { readonly instanceId?: string; readonly traceparent?: string },
  ): Promise<string> {
    const hosting = this.#parts.hosting();
    const workflow = await hosting.provideWorkflow(name, workflowVersion(version));
    const event = { name: tagsEvent, data: Object.fromEntries(tags) };
    return await hosting.start(workflow, input, { ...options, ...(tags.size > 0 && { event }) });
  }

  /** True if the policy keeps an active instance. An instance that the policy replaces is terminated. `INSTANCE_EXISTS`. */
  async #isKept(view: InstanceView, { reusePolicy }: CreateInstanceRequest): Promise<boolean> {
    if (hasEnded(view.status)) return false;
    const isListed = reusePolicy?.statuses.includes(statusNumbers[orchestrationStatus(view)]) ?? false;
    if (!isListed) throw active(view.instanceId);
    if (reusePolicy?.action === ignoreAction) return true;
    refuseOpenPolicy(reusePolicy);
    await this.#engine.terminateWorkflowInstance(view.instanceId, "another instance takes its id");
    return false;
  }

  /** SDKs that give no time of start give one that is long past. */
  #refuseLater({ scheduledStart }: CreateInstanceRequest): void {
    if (scheduledStart === undefined || scheduledStart <= this.#parts.clock.now() + clockToleranceMs) return;
    throw new HttpError(
      "REQUEST_INVALID",
      "starts at a later time are not supported; let the workflow begin with a timer",
    );
  }

  /** A workflow of Heddle; orchestrations of Durable Task's workers are none. */
  #findOwn(name: string): Workflow | CodeWorkflow | undefined {
    const workflow = this.#engine.findWorkflow(name);
    const isOwn = workflow instanceof Workflow || (workflow !== undefined && !isOrchestratorVersion(workflow.version));
    return isOwn ? workflow : undefined;
  }

  /** The names of Heddle that orchestrations may use. */
  get known(): KnownNames {
    return {
      isJob: (name) => this.#parts.hosting().hasJob(name),
      isWorkflow: (name) => this.#findOwn(name) !== undefined,
    };
  }

  /** Makes the orchestrations known that are started as children, before they are. */
  async prepare(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      if (step.type !== "child") continue;
      const { workflowName = "", workflowVersion: version } = step.node;
      if (version !== undefined) await this.#parts.hosting().provideWorkflow(workflowName, version);
    }
  }

  /** The name of the workflow of an instance, by its qualified id; undefined if there is no such instance any more. */
  async nameOf(instanceId: string): Promise<string | undefined> {
    return (await this.#find(localName(instanceId)))?.workflowName;
  }

  /** `OPTION_INVALID`. */
  addCodeHost(host: CodeHost): (how: "lost" | "left") => void {
    return this.#parts.hosting().add(host);
  }

  /** Connects a worker's stream, as a remote worker. */
  acceptWorker(link: Link, principal: string): LinkListener {
    return this.#engine.acceptWorker(link, { principal });
  }

  /** Undefined if there is no such instance. */
  async get(instanceId: string, withPayloads: boolean): Promise<Given<OrchestrationState> | undefined> {
    const view = await this.#find(instanceId);
    return view && (await readState(this.#engine, view, withPayloads));
  }

  /** The history of an instance of code, from its last new beginning on. `INSTANCE_UNKNOWN`, `INSTANCE_STATE` for a DAG. */
  history(instanceId: string): Promise<Given<HistoryEvent>[]> {
    return readHistory(this.#engine, instanceId);
  }

  /** Waits until the instance has started or ended. Undefined if there is none, or the signal was aborted first. */
  async waitFor(
    instanceId: string,
    { until, withPayloads, signal }: { until: "started" | "ended"; withPayloads: boolean; signal: AbortSignal },
  ): Promise<Given<OrchestrationState> | undefined> {
    const isMet = (view: InstanceView): boolean =>
      until === "ended" ? hasEnded(view.status) : orchestrationStatus(view) !== "PENDING";
    let changed = Promise.withResolvers<void>();
    const unsubscribe = this.#engine.subscribe(
      ({ status }) => {
        if (until === "started" || hasEnded(status)) changed.resolve();
      },
      { instanceId },
    );
    const stop = (): void => changed.resolve();
    signal.addEventListener("abort", stop);
    try {
      await Promise.race([unsubscribe.ready, changed.promise]);
      for (;;) {
        if (signal.aborted) return undefined;
        changed = Promise.withResolvers();
        const view = await this.#find(instanceId);
        if (view === undefined || isMet(view)) return view && (await readState(this.#engine, view, withPayloads));
        await changed.promise;
      }
    } finally {
      unsubscribe();
      signal.removeEventListener("abort", stop);
    }
  }

  /** An event for an instance that has ended is dropped. `INSTANCE_UNKNOWN`. */
  async raiseEvent(instanceId: string, name: string, input: string | undefined): Promise<void> {
    await this.#change(instanceId, () => this.#engine.raiseEvent(instanceId, name, parseInput(input)));
  }

  /** Does nothing if it is suspended or has ended. `INSTANCE_UNKNOWN`. */
  async suspend(instanceId: string, by: string, reason: string | undefined): Promise<void> {
    const given = reason === undefined || reason === "" ? {} : { reason };
    await this.#change(instanceId, (view) =>
      orchestrationStatus(view) === "SUSPENDED"
        ? Promise.resolve()
        : this.#engine.pauseWorkflowInstance(instanceId, { by, ...given }),
    );
  }

  /** Does nothing unless it is suspended. `INSTANCE_UNKNOWN`. */
  async resume(instanceId: string): Promise<void> {
    await this.#change(instanceId, (view) =>
      orchestrationStatus(view) === "SUSPENDED" ? this.#engine.resumeWorkflowInstance(instanceId) : Promise.resolve(),
    );
  }

  /** Terminates an instance, and with it its children. Does nothing if it has ended. `INSTANCE_UNKNOWN`. */
  async terminate(instanceId: string, by: string, output: string | undefined): Promise<void> {
    const reason = output === undefined || output === "" ? `terminated by ${by}` : reasonOfOutput(output);
    await this.#change(instanceId, () => this.#engine.terminateWorkflowInstance(instanceId, reason));
  }

  /** Deletes ended instances and returns how many; an instance that is unknown or has not ended counts as none. */
  async purge({ instanceId, filter, batch, recursive }: PurgeInstancesRequest): Promise<number> {
    const ids = filter === undefined ? [] : await this.lists.endedIds(filter);
    if (instanceId !== "") ids.push(instanceId);
    ids.push(...(batch?.instanceIds ?? []));
    let purged = 0;
    for (const id of ids) purged += await this.#purge(id, recursive);
    return purged;
  }

  async #purge(instanceId: string, recursive: boolean): Promise<number> {
    try {
      return await deleteInstance(this.#parts, instanceId, { recursive });
    } catch (error) {
      if (hasCode(error, "INSTANCE_UNKNOWN") || hasCode(error, "INSTANCE_STATE")) return 0;
      throw error;
    }
  }

  /** Changes an instance, unless it has ended. `INSTANCE_UNKNOWN`. */
  async #change(instanceId: string, change: (view: InstanceView) => Promise<void>): Promise<void> {
    refuseScheduleInstance(instanceId);
    const view = await this.#engine.getWorkflowInstanceStatus(instanceId);
    if (hasEnded(view.status)) return;
    try {
      await change(view);
    } catch (error) {
      // It has ended, or was suspended or resumed, in the meantime.
      if (!hasCode(error, "INSTANCE_STATE")) throw error;
    }
  }

  async #find(instanceId: string): Promise<InstanceView | undefined> {
    try {
      return await this.#engine.getWorkflowInstanceStatus(instanceId);
    } catch (error) {
      if (hasCode(error, "INSTANCE_UNKNOWN")) return undefined;
      throw error;
    }
  }
}

/** Microsoft's server refuses it with this text, which its SDKs look for. */
function refuseOpenPolicy(policy: CreateInstanceRequest["reusePolicy"]): void {
  if (policy?.action === terminateAction || policy?.statuses.includes(statusNumbers.TERMINATED) === true) return;
  throw new HttpError(
    "REQUEST_INVALID",
    "Invalid reusable statuses: cannot exclude 'Terminated' while also allowing reuse of running instances",
  );
}

/** Dapr's SDKs look for this text. */
function active(instanceId: string): EngineError {
  return new EngineError("INSTANCE_EXISTS", `an active workflow with ID '${instanceId}' already exists`);
}

/** Inputs are JSON by convention; anything else is taken as the text that it is. */
function parseInput(input: string | undefined): unknown {
  if (input === undefined || input === "") return undefined;
  try {
    return JSON.parse(input) as unknown;
  } catch {
    return input;
  }
}
