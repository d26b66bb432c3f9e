import type { Task } from "../../src/authoring/task.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { SubmitOptions } from "../../src/engine/start-options.ts";
import { packTask } from "./wire-format.ts";

type Ask = (method: string, ...args: readonly unknown[]) => Promise<unknown>;

/** Tells a workflow by its number in the workload, which the other process draws for itself. */
export type NumberOf = (workflow: Workflow) => number;

/** What has to be packed for the way; everything else goes as it is. */
function packing(ask: Ask, numberOf: NumberOf): Readonly<Record<string, unknown>> {
  return {
    submitWorkflow: (workflow: Workflow, options: SubmitOptions) => ask("submitWorkflow", numberOf(workflow), options),
    addSubTask: (id: string, task: Task, parent: string) => ask("addSubTask", id, packTask(task), parent),
    executor: { setDomainPoolSize: (domain: string, size: number) => ask("setDomainPoolSize", domain, size) },
  };
}

/** An engine in another process. It has the methods that clients call, each of which is one question and one answer. */
export function remoteEngine(ask: Ask, numberOf: NumberOf): Engine {
  // Clients of the soak are all in the default namespace, which is that of the engine itself.
  const packed: Readonly<Record<string, unknown>> = { ...packing(ask, numberOf), inNamespace: () => engine };
  const engine: Engine = new Proxy({} as Engine, {
    get: (_, name) => (typeof name === "symbol" ? undefined : (packed[name] ?? ask.bind(undefined, name))),
  });
  return engine;
}
