import { EngineError } from "../base/error.ts";
import { parseStored } from "../base/stored-json.ts";
import { localName, namespaceOf, qualify } from "../base/namespace.ts";
import type { DagSpec, MaxInstances } from "../kernel/dag/dag-spec.ts";
import { Graph } from "../kernel/dag/graph.ts";
import type { DefinitionRow, Store } from "../stores/store.ts";

/** A workflow definition in one version, ready to run. */
export type Definition = DagDefinition | CodeDefinition;

export interface DagDefinition {
  readonly kind: "dag";
  readonly name: string;
  readonly version: string;
  readonly spec: DagSpec;
  readonly graph: Graph;
}

/** The stored part of a code workflow; its code is in the processes that run it. */
export interface CodeDefinition {
  readonly kind: "code";
  readonly name: string;
  readonly version: string;
  readonly spec: CodeSpec;
}

export interface CodeSpec {
  readonly code: true;
  readonly timeoutSeconds?: number;
  readonly maxConcurrentActivities?: number;
  readonly maxInstances?: MaxInstances;
}

/** The cache keeps this many definitions; a running instance refers to its own. */
const cachedMax = 1000;

/** Definitions by name and version. A stored definition never changes, so the cache needs no invalidation. */
export class Definitions {
  readonly #store: Store;
  readonly #cache = new Map<string, Definition>();
  /** Another set after each `forgetStored`: an answer of the store to an earlier question is noted in the forgotten one. */
  #stored = new WeakSet<Definition>();
  readonly #withNested = new WeakMap<Definition, readonly Definition[]>();
  readonly #rows = new WeakMap<Definition, DefinitionRow>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Forgets which definitions the store has: they are written again when they are used. */
  forgetStored(): void {
    this.#stored = new WeakSet();
  }

  /** All definitions that this process knows. */
  get all(): readonly Definition[] {
    return [...this.#cache.values()];
  }

  find(name: string, version: string): Definition | undefined {
    return this.#cache.get(keyOf(name, version));
  }

  /** `WORKFLOW_UNKNOWN` if the store has no such version. */
  async load(name: string, version: string): Promise<Definition> {
    const known = this.find(name, version);
    if (known !== undefined) return known;
    const stored = this.#stored;
    const row = await this.#store.findDefinition(name, version);
    if (row === undefined) {
      throw new EngineError("WORKFLOW_UNKNOWN", `workflow "${localName(name)}" has no version ${version} in the store`);
    }
    return this.#fromRow(row, stored);
  }

  /** The newest version of that name, if there is any. */
  async latest(name: string): Promise<Definition | undefined> {
    const stored = this.#stored;
    const row = await this.#store.findLatestDefinition(name);
    if (row === undefined) return undefined;
    return this.find(row.name, row.version) ?? this.#fromRow(row, stored);
  }

  /** The spec is that of a built or loaded workflow, so it is sound. */
  add(name: string, version: string, spec: DagSpec | CodeSpec): Definition {
    const known = this.find(name, version);
    if (known !== undefined) return known;
    const definition: Definition =
      "code" in spec
        ? { kind: "code", name, version, spec }
        : { kind: "dag", name, version, spec, graph: new Graph(spec) };
    this.#cache.set(keyOf(name, version), definition);
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= cachedMax) break;
      this.#cache.delete(oldest);
    }
    return definition;
  }

  /** The definition and those of the workflows nested in it. `WORKFLOW_UNKNOWN` if the store lacks one of them. */
  async withNested(definition: Definition): Promise<readonly Definition[]> {
    const known = this.#withNested.get(definition);
    if (known !== undefined || definition.kind === "code") return known ?? [definition];
    const all = new Set<Definition>([definition]);
    const namespace = namespaceOf(definition.name);
    for (const { workflowName, workflowVersion } of definition.spec.nodes) {
      if (workflowName === undefined || workflowVersion === undefined) continue;
      const nested = await this.load(qualify(namespace, workflowName), workflowVersion);
      for (const each of await this.withNested(nested)) all.add(each);
    }
    const found = [...all];
    this.#withNested.set(definition, found);
    return found;
  }

  /** The row of a definition, always the same object. */
  rowOf(definition: Definition, at: number): DefinitionRow {
    let row = this.#rows.get(definition);
    if (row === undefined) {
      const { name, version, spec } = definition;
      row = { name, version, spec: JSON.stringify(spec), createdAt: at };
      this.#rows.set(definition, row);
    }
    return row;
  }

  noteStored(name: string, version: string): void {
    const definition = this.find(name, version);
    if (definition !== undefined) this.#stored.add(definition);
  }

  /** True if the store has all of them, as far as this process knows. */
  areStored(definitions: readonly Definition[]): boolean {
    return definitions.every((definition) => this.#stored.has(definition));
  }

  /** Writes those definitions that the store lacks. */
  async save(added: readonly Definition[], at: number): Promise<void> {
    const stored = this.#stored;
    const missing = new Set(added.filter((definition) => !stored.has(definition)));
    if (missing.size === 0) return;
    await this.#store.saveDefinitions(Array.from(missing, (definition) => this.rowOf(definition, at)));
    for (const definition of missing) stored.add(definition);
  }

  #fromRow(row: DefinitionRow, stored: WeakSet<Definition>): Definition {
    const { name, version, spec } = row;
    const parsed = parseStored(spec, `the definition of workflow "${localName(name)}"`) as DagSpec | CodeSpec;
    const definition = this.add(name, version, parsed);
    stored.add(definition);
    return definition;
  }
}

function keyOf(name: string, version: string): string {
  return `${version} ${name}`;
}
