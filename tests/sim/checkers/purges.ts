import type { Changes } from "../../../src/stores/store.ts";
import type { Evidence } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { birthOf, commitHistoryOf, type InstanceCommits } from "./commit-history.ts";

/** Only ended instances are purged, a purged one is never written again, and no instance lacks a payload of its history. */
export const checkPurges: Checker = (evidence) => [...new Purges(evidence).wrong, ...checkPayloads(evidence)];

/** Only instances that clients want gone are purged, with their children and nobody else. */
export const checkPurgedFamilies: Checker = (evidence) => {
  const { instances, landings } = commitHistoryOf(evidence);
  const wanted = new Map<string, boolean>();
  for (const { operation, instanceId = "", given } of evidence.calls)
    if (operation === "purge") wanted.set(instanceId, given["recursive"] === true || wanted.get(instanceId) === true);
  const isWithParent = (instance: InstanceCommits): boolean => {
    const parent = instances.get(birthOf(instance)?.parent?.key ?? 0);
    return parent !== undefined && (wanted.get(parent.id) === true || isWithParent(parent));
  };
  return landings
    .flatMap(({ batch }) => batch.changes.purged)
    .flatMap((key) => instances.get(key) ?? [])
    .filter((instance) => !wanted.has(instance.id) && !isWithParent(instance))
    .map(({ id }) => `${id} was purged, although nobody asked for it`);
};

/** Follows the commits in order. */
class Purges {
  readonly wrong: string[] = [];
  readonly #evidence: Evidence;
  readonly #unfinished = new Set<number>();
  readonly #purged = new Set<number>();

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
    for (const { batch } of commitHistoryOf(evidence).landings) this.#follow(batch.changes);
  }

  /** In the order in which a store applies the changes. */
  #follow(changes: Changes): void {
    for (const key of changes.purged) {
      if (this.#unfinished.has(key)) this.wrong.push(`${this.#nameOf(key)} was purged before it had ended`);
      this.#purged.add(key);
    }
    for (const key of writtenKeys(changes)) {
      if (this.#purged.has(key)) this.wrong.push(`${this.#nameOf(key)} was written to after it had been purged`);
    }
    for (const { key } of changes.instances) this.#unfinished.add(key);
    for (const key of changes.finishedReopened) this.#unfinished.add(key);
    for (const { key } of changes.finished) this.#unfinished.delete(key);
  }

  #nameOf(key: number): string {
    return commitHistoryOf(this.#evidence).instances.get(key)?.id ?? `instance ${key}`;
  }
}

function writtenKeys({ instances, finished, finishedReopened, history, payloads }: Changes): Set<number> {
  const rows = [...history, ...payloads].map(({ instance }) => instance);
  return new Set([...[...instances, ...finished].map(({ key }) => key), ...finishedReopened, ...rows]);
}

function checkPayloads({ finalState }: Evidence): string[] {
  return finalState.instances.flatMap(({ id, missingPayloads }) =>
    missingPayloads.map((ref) => `${id}: payload ${ref}, which its history refers to, is missing`),
  );
}
