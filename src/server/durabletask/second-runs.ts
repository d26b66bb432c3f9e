import { EngineError, hasCode } from "../../base/error.ts";
import { openChildren, pastUpTo, rewoundPast, withLastInput } from "../../durabletask/chosen-past.ts";
import {
  type CreateInstanceRequest,
  createInstanceRequest,
  type RerunRequest,
} from "../../durabletask/client-messages.ts";
import { isOrchestratorVersion, orchestratorVersion } from "../../durabletask/names.ts";
import type { CodeHosting } from "../../engine/code-hosting.ts";
import type { EngineNamespace } from "../../engine/engine-namespace.ts";
import { hasEnded } from "../../kernel/status.ts";
import type { InstanceView } from "../../views/instance-view.ts";
import { refuseScheduleInstance } from "../http/own-instances.ts";
import { HttpError } from "../request/http-error.ts";
import { checkGivenId } from "../routes/start-instance.ts";
import { orchestrationStatus, readState } from "./orchestration-state.ts";

export interface SecondRunsParts {
  readonly engine: EngineNamespace;
  readonly hosting: () => CodeHosting;
  readonly start: (request: CreateInstanceRequest) => Promise<string>;
}

/** Runs that begin with what another run has left: its input, or a part of its history. */
export class SecondRuns {
  readonly #parts: SecondRunsParts;

  constructor(parts: SecondRunsParts) {
    this.#parts = parts;
  }

  /** Starts an instance with the name, version, tags and input of another. `INSTANCE_UNKNOWN`, `INSTANCE_STATE`. */
  async restart(instanceId: string, hasNewId: boolean): Promise<string> {
    const { engine, start } = this.#parts;
    const view = await this.#view(instanceId);
    if (!hasNewId && !hasEnded(view.status)) throw stateError(view, "restarting it under its own id");
    const { name = "", input, tags } = await readState(engine, view, true);
    const version = isOrchestratorVersion(view.workflowVersion) ? orchestratorVersion(view.workflowVersion) : undefined;
    const nothing = createInstanceRequest.decode(new Uint8Array());
    return await start({
      ...nothing,
      instanceId: hasNewId ? "" : instanceId,
      name,
      version,
      input,
      tags: tags ?? nothing.tags,
    });
  }

  /**
   * Runs a failed instance on from where it failed: what succeeded is not run again. A DAG retries its failed tasks; of
   * code, children that failed are rewound too. `INSTANCE_UNKNOWN`, `INSTANCE_STATE` unless it has failed.
   */
  async rewind(instanceId: string): Promise<void> {
    const view = await this.#view(instanceId);
    if (view.status !== "Failed") throw stateError(view, "rewinding");
    if (view.kind === "dag") return await this.#parts.engine.retryWorkflowInstance(instanceId);
    await this.#rewind(instanceId);
  }

  async #rewind(instanceId: string): Promise<void> {
    const { engine, hosting } = this.#parts;
    const { turns } = await engine.exportWorkflowInstanceHistory(instanceId);
    const past = turns.flatMap(({ at, events }) => events.map((event) => ({ event, at })));
    const gone = new Set<number>();
    for (const [task, childId] of openChildren(past)) {
      const child = await this.#find(childId);
      if (child === undefined) gone.add(task);
      else if (child.kind === "code" && (child.status === "Failed" || child.status === "Terminated"))
        await this.#rewind(childId);
    }
    await hosting().runOn(instanceId, (events) => rewoundPast(events, (task) => gone.has(task)));
  }

  /**
   * Starts an instance with the history of another up to an event, which happens again, with another input if one is
   * given. Returns its id. `INSTANCE_UNKNOWN`, `TASK_UNKNOWN`, `INSTANCE_EXISTS`.
   */
  async rerun({ sourceId, eventId, newId, input, overwritesInput }: RerunRequest): Promise<string> {
    const view = await this.#view(sourceId);
    if (!hasEnded(view.status))
      throw new HttpError("REQUEST_INVALID", `'${sourceId}' has not ended, and only ended workflows are rerun`);
    if (newId === sourceId)
      throw new HttpError("REQUEST_INVALID", `the new instance needs another id than '${sourceId}'`);
    if (newId !== "") checkGivenId(newId);
    return await this.#parts.hosting().fork(sourceId, newId === "" ? undefined : newId, (events) => {
      const found = pastUpTo(sourceId, events, eventId);
      if (found === undefined || found.kind === "other") throw notRerunnable(sourceId, eventId);
      if (!overwritesInput) return found.past;
      if (found.kind === "timer") throw new HttpError("REQUEST_INVALID", "a timer has no input that could be replaced");
      return withLastInput(found.past, input);
    });
  }

  /** `INSTANCE_UNKNOWN`. */
  async #view(instanceId: string): Promise<InstanceView> {
    refuseScheduleInstance(instanceId);
    return await this.#parts.engine.getWorkflowInstanceStatus(instanceId);
  }

  async #find(instanceId: string): Promise<InstanceView | undefined> {
    try {
      return await this.#parts.engine.getWorkflowInstanceStatus(instanceId);
    } catch (error) {
      if (hasCode(error, "INSTANCE_UNKNOWN")) return undefined;
      throw error;
    }
  }
}

/** SDKs look for "not allow". */
function stateError(view: InstanceView, what: string): EngineError {
  const { instanceId } = view;
  const message = `instance "${instanceId}" is ${orchestrationStatus(view)}, which does not allow ${what}`;
  return new EngineError("INSTANCE_STATE", message);
}

function notRerunnable(sourceId: string, eventId: number): EngineError {
  const message = `'${sourceId}' has no activity, timer or child workflow with the event ID '${eventId}', so it is not an event that can be rerun`;
  return new EngineError("TASK_UNKNOWN", message);
}
