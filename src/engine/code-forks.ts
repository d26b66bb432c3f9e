import { EngineError } from "../base/error.ts";
import { qualify } from "../base/namespace.ts";
import type { CallClient } from "../runtime/call-client.ts";
import type { Definitions } from "../runtime/definitions.ts";
import type { StartRequest } from "../runtime/instance-starter.ts";
import type { Store } from "../stores/store.ts";
import { type ChoosePast, type ForkPoint, forkPoint } from "./forked-events.ts";

export interface CodeForksParts {
  /** The namespace of the ids that are given. */
  readonly namespace: string;
  /** The application of instances whose start names none. */
  readonly app: string | undefined;
  readonly store: Store;
  readonly definitions: Definitions;
  readonly calls: CallClient;
}

/** The instance whose past is copied. */
export interface ForkSource {
  readonly id: string;
  readonly key: number;
  readonly workflow: string;
  readonly version: string;
}

/** Starts instances of code workflows with a part of the history of others. */
export class CodeForks {
  readonly #parts: CodeForksParts;

  constructor(parts: CodeForksParts) {
    this.#parts = parts;
  }

  /** `INSTANCE_STATE` for a DAG, `INSTANCE_EXISTS`, and what `choose` throws. */
  async fork(source: ForkSource, given: { id: string; isGivenId: boolean; choose: ChoosePast }): Promise<void> {
    const { id, isGivenId, choose } = given;
    await this.#start(source, choose, ({ fork, input }) => ({
      id: this.#qualify(id),
      isGivenId,
      reuse: false,
      input: { ...noContext, fork, ...(input !== undefined && { input }) },
    }));
  }

  /**
   * Runs an ended instance on, as another instance under the same id: tasks that the chosen events leave unfinished run
   * again, and children keep their ids. `INSTANCE_STATE` for a DAG, `INSTANCE_EXISTS`, and what `choose` throws.
   */
  async runOn(source: ForkSource, choose: ChoosePast): Promise<void> {
    await this.#start(source, choose, ({ fork, input, parent }) => ({
      id: this.#qualify(source.id),
      isGivenId: true,
      reuse: true,
      input: { ...noContext, fork, ...(input !== undefined && { input }), ...(parent !== undefined && { parent }) },
    }));
  }

  async #start(
    source: ForkSource,
    choose: ChoosePast,
    requestOf: (point: ForkPoint) => Omit<StartRequest, "definition" | "definitions">,
  ): Promise<void> {
    const { definitions, store, calls, app } = this.#parts;
    const definition = await definitions.load(source.workflow, source.version);
    if (definition.kind === "dag") {
      throw new EngineError("INSTANCE_STATE", `instance "${source.id}" is a DAG: rerun it from one of its tasks`);
    }
    const point = await forkPoint(store, { id: this.#qualify(source.id), key: source.key }, choose);
    const { input, ...request } = requestOf(point);
    await calls.start({
      ...request,
      definition,
      definitions: [definition],
      input: { ...input, ...(app !== undefined && { app }) },
    });
  }

  #qualify(id: string): string {
    return qualify(this.#parts.namespace, id);
  }
}

const noContext = { context: {}, trigger: "api" } as const;
