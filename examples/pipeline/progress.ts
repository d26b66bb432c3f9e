import { hasCode } from "../../src/index.ts";
import type { Engine, InstanceView, TaskView, Workflow } from "../../src/index.ts";

/** A task as people see it: those that belong to another one stand below it, further in. */
export type Row = Pick<
  TaskView,
  "name" | "status" | "cause" | "attempt" | "startedAt" | "endedAt" | "failure" | "retryAt" | "wait"
> & { readonly depth: number };

/** Reads where a run stands, whenever something in it has become durable. */
export class Progress {
  readonly #engine: Engine;
  readonly #instanceId: string;
  /** By the name of the task that runs it: what is to come, before its instance is there. */
  readonly #nested: ReadonlyMap<string, Workflow>;
  readonly #onRows: (rows: readonly Row[]) => void;
  #unsubscribe: (() => void) | undefined;
  #reading: Promise<void> | undefined;
  #isStale = false;

  constructor(options: {
    engine: Engine;
    instanceId: string;
    workflow: Workflow;
    onRows: (rows: readonly Row[]) => void;
  }) {
    this.#engine = options.engine;
    this.#instanceId = options.instanceId;
    this.#onRows = options.onRows;
    this.#nested = new Map(
      [...options.workflow.tasks.values()].flatMap(({ name, nestedWorkflow }) =>
        typeof nestedWorkflow === "object" ? [[name, nestedWorkflow]] : [],
      ),
    );
  }

  /** Of all instances: the nested one's changes count too. */
  async start(): Promise<void> {
    this.#unsubscribe = this.#engine.subscribe(() => this.#onChange());
    this.#onRows(await this.read());
  }

  /** No more rows after this, but for those of the last change. */
  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#reading;
  }

  async read(): Promise<readonly Row[]> {
    const { tasks } = await this.#engine.getWorkflowInstanceStatus(this.#instanceId);
    const below = Map.groupBy(tasks, (task) => task.parentTask);
    const rows: Row[] = [];
    const put = async (task: TaskView, depth: number): Promise<void> => {
      rows.push({ ...task, depth });
      for (const child of below.get(task.name) ?? []) await put(child, depth + 1);
      rows.push(...(await this.#nestedRows(task, depth + 1)));
    };
    for (const task of below.get(undefined) ?? []) await put(task, 0);
    return rows;
  }

  /** Changes that come while it reads share the next reading. */
  #onChange(): void {
    this.#isStale = true;
    this.#reading ??= this.#readOn().finally(() => (this.#reading = undefined));
  }

  async #readOn(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      this.#onRows(await this.read());
    }
  }

  async #nestedRows(task: TaskView, depth: number): Promise<Row[]> {
    const child = task.childInstanceId === undefined ? undefined : await this.#child(task.childInstanceId);
    if (child !== undefined) return child.tasks.map((inner) => ({ ...inner, depth }));
    const workflow = this.#nested.get(task.name);
    return workflow === undefined
      ? []
      : Array.from(workflow.tasks.values(), ({ name }) => ({ ...notYet, name, depth }));
  }

  /** It starts a moment after its parent knows its id. */
  async #child(instanceId: string): Promise<InstanceView | undefined> {
    try {
      return await this.#engine.getWorkflowInstanceStatus(instanceId);
    } catch (error) {
      if (hasCode(error, "INSTANCE_UNKNOWN")) return undefined;
      throw error;
    }
  }
}

const notYet = {
  status: "Pending",
  cause: undefined,
  attempt: 0,
  startedAt: undefined,
  endedAt: undefined,
  failure: undefined,
  retryAt: undefined,
  wait: undefined,
} as const;

export function isDone({ status }: Row): boolean {
  return status !== "Pending" && status !== "Running";
}

/** `12 of 32 tasks`. */
export function doneOf(rows: readonly Row[]): string {
  return `${rows.filter(isDone).length} of ${rows.length} tasks`;
}
