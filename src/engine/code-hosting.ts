import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import { assert } from "../base/assert.ts";
import { EngineError } from "../base/error.ts";
import type { CodeHost } from "../dispatch/code-host.ts";
import type { Assembly } from "./assembly.ts";
import type { NamespaceParts } from "./namespace-parts.ts";

/** Workflows of one namespace whose code runs outside this process, in another protocol than that of Heddle's workers. */
export class CodeHosting {
  readonly #parts: Assembly;
  readonly #own: NamespaceParts;

  constructor(parts: Assembly, own: NamespaceParts) {
    this.#parts = parts;
    this.#own = own;
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

  /** Adds a place where code of workflows runs. Returns what removes it. `OPTION_INVALID`. */
  add(host: CodeHost): (how: "lost" | "left") => void {
    const { codeHosts } = this.#parts;
    if (codeHosts === undefined)
      throw new EngineError("OPTION_INVALID", 'workers can connect only to an engine with the option "remoteWorkers"');
    codeHosts.onReady(host);
    return (how) => codeHosts.remove(host, how);
  }
}
