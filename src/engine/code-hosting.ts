import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import { assert } from "../base/assert.ts";
import { EngineError } from "../base/error.ts";
import type { CodeHost } from "../dispatch/code-host.ts";
import { checkGivenId } from "./argument-check.ts";
import type { Assembly } from "./assembly.ts";
import { CodeForks, type ForkSource } from "./code-forks.ts";
import { CodeStarts } from "./code-starts.ts";
import type { ChoosePast } from "./forked-events.ts";
import { InstanceCalls } from "./instance-calls.ts";
import type { NamespaceParts } from "./namespace-parts.ts";
import type { RaisedData } from "./start-options.ts";

/** Workflows of one namespace whose code runs outside this process, in another protocol than that of Heddle's workers. */
export class CodeHosting {
  readonly #parts: Assembly;
  readonly #own: NamespaceParts;
  readonly #instances: InstanceCalls;

  constructor(parts: Assembly, own: NamespaceParts) {
    this.#parts = parts;
    this.#own = own;
    const { state, calls, outage, options } = parts;
    const { namespace } = own;
    this.#instances = new InstanceCalls({ namespace, state, calls, outage, store: options.storage });
  }

  /** True if tasks can run a job of that name. */
  hasJob(name: string): boolean {
    return this.#own.registry.names.includes(name);
  }

  /**
   * The code workflow of that name and version. One that is not known is taken for one whose code is with hosts, which
   * may connect at any time: its instances wait for them. `WORKFLOW_INVALID` for a name that nobody may give.
   */
  async provideWorkflow(name: string, version: string): Promise<CodeWorkflow> {
    const { code } = this.#own;
    if (code.known(name, version) === undefined)
      await this.#parts.workflowAnnouncements.record({ name, version }, this.#own.namespace);
    const workflow = code.known(name, version);
    assert(workflow !== undefined, "a workflow that is recorded is known");
    return workflow;
  }

  /** Starts an instance whose code has that event from its beginning. Returns its id. `INSTANCE_EXISTS`. */
  async start(
    workflow: CodeWorkflow,
    input: unknown,
    { instanceId, traceparent, event }: { instanceId?: string; traceparent?: string; event?: RaisedData },
  ): Promise<string> {
    const { state, calls, options } = this.#parts;
    const { namespace, code, submission } = this.#own;
    const { app, clock, random } = options;
    const starts = new CodeStarts({ namespace, app, state, code, submission, calls, instances: this.#instances });
    const id = instanceId ?? random.uuid(clock.now());
    const isGivenId = instanceId !== undefined;
    await starts.start(workflow, input, { id, isGivenId, reuse: true, traceparent, ...(event && { event }) });
    return id;
  }

  /**
   * Starts code with a part of the past of another instance, and returns the id of the new one. `INSTANCE_UNKNOWN`,
   * `INSTANCE_STATE` for a DAG, `INSTANCE_EXISTS`, `OPTION_INVALID` for the id, and what `choose` throws.
   */
  async fork(sourceId: string, instanceId: string | undefined, choose: ChoosePast): Promise<string> {
    if (instanceId !== undefined) checkGivenId("fork", instanceId);
    const { clock, random } = this.#parts.options;
    const id = instanceId ?? random.uuid(clock.now());
    await this.#forks.fork(await this.#sourceOf(sourceId), { id, isGivenId: instanceId !== undefined, choose });
    return id;
  }

  /** Runs an ended instance of code on, under its id. `INSTANCE_UNKNOWN`, `INSTANCE_STATE`, and what `choose` throws. */
  async runOn(instanceId: string, choose: ChoosePast): Promise<void> {
    await this.#forks.runOn(await this.#sourceOf(instanceId), choose);
  }

  async #sourceOf(id: string): Promise<ForkSource> {
    return { id, ...(await this.#instances.read({ type: "GetIdentity", id })) };
  }

  get #forks(): CodeForks {
    const { calls, definitions, options } = this.#parts;
    const { app, storage: store } = options;
    return new CodeForks({ namespace: this.#own.namespace, app, store, definitions, calls });
  }

  /** Adds a place where code of workflows runs. Returns what removes it. `OPTION_INVALID`. */
  add(host: CodeHost): (how: "lost" | "left") => void {
    const { codeHosts } = this.#parts;
    if (codeHosts === undefined)
      throw new EngineError("OPTION_INVALID", 'workers can connect only to an engine with the option "remoteWorkers"');
    codeHosts.onReady(host);
    return (how) => codeHosts.remove(host, how);
  }
}
