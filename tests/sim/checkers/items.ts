import { firstItemNumber } from "../../../src/kernel/dag/map-items.ts";
import type { Event, MapStarted, TaskFailed, TaskSucceeded } from "../../../src/kernel/event.ts";
import type { MapSpec } from "../../../src/kernel/node-spec.ts";
import { definitionKey, type Evidence } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { birthOf, commitHistoryOf, eventsOf, type InstanceCommits } from "./commit-history.ts";

/**
 * Every item of a map is accounted for: a map ends when all its items have, with their counts; no more items are under
 * way than it allows; and none starts before the map, after its end or after its own success.
 */
export const checkItems: Checker = (evidence) =>
  [...commitHistoryOf(evidence).instances.values()].flatMap((instance) => new ItemModel(evidence, instance).wrong);

interface MapModel {
  readonly spec: MapSpec;
  readonly first: number;
  readonly count: number;
  readonly inFlight: Set<number>;
  readonly succeeded: Set<number>;
  readonly failed: Set<number>;
  isRunning: boolean;
}

class ItemModel {
  readonly wrong: string[] = [];
  readonly #evidence: Evidence;
  readonly #instance: InstanceCommits;
  readonly #maps = new Map<number, MapModel>();
  #next = firstItemNumber;

  constructor(evidence: Evidence, instance: InstanceCommits) {
    this.#evidence = evidence;
    this.#instance = instance;
    for (const { event } of eventsOf(instance)) this.#follow(event);
  }

  #follow(event: Event): void {
    switch (event.type) {
      case "MapStarted":
        return this.#start(event);
      case "TasksScheduled":
        return event.tasks.forEach((task) => this.#schedule(task));
      case "TaskSucceeded":
      case "TaskFailed":
        return event.task < firstItemNumber ? this.#endMap(event) : this.#endItem(event);
      case "TaskInterrupted":
        return this.#takeBack(event.task);
      case "TasksWithdrawn":
        return event.tasks.forEach((task) => this.#takeBack(task));
      case "TasksStopped":
        return event.tasks.forEach((task) => this.#close(this.#maps.get(task)));
      case "InstanceEnded":
        return this.#maps.forEach((map) => this.#close(map));
      case "InstanceReopened":
        event.anew?.forEach((task) => this.#maps.delete(task));
        return;
      default:
    }
  }

  #start({ task, pages }: MapStarted): void {
    if (pages !== undefined) {
      const count = pages.reduce((sum, page) => sum + page.count, 0);
      const { workflow, version } = this.#instance;
      const spec = this.#evidence.finalState.definitions.get(definitionKey(workflow, version));
      const map = spec !== undefined && "nodes" in spec ? spec.nodes[task]?.map : undefined;
      if (map === undefined) return this.#note(`task ${task} has items and is no map`);
      const sets = { inFlight: new Set<number>(), succeeded: new Set<number>(), failed: new Set<number>() };
      this.#maps.set(task, { spec: map, first: this.#next, count, ...sets, isRunning: true });
      this.#next += count;
      return;
    }
    const map = this.#maps.get(task);
    if (map === undefined) return this.#note(`map ${task} runs again without items`);
    map.isRunning = true;
    map.failed.clear();
  }

  #schedule(item: number): void {
    const map = this.#mapOf(item);
    if (map === undefined) return;
    map.inFlight.add(item);
    const birth = birthOf(this.#instance);
    const limit = map.spec.concurrency ?? (birth?.type === "InstanceCreated" ? birth.maxConcurrentTasks : Infinity);
    if (!map.isRunning) this.#note(`item ${item} is scheduled, and its map does not run`);
    if (map.succeeded.has(item)) this.#note(`item ${item} is scheduled after its success`);
    if (map.inFlight.size > limit) this.#note(`${map.inFlight.size} items are under way, of ${limit}`);
  }

  #endItem(event: TaskSucceeded | TaskFailed): void {
    const { task: item, type } = event;
    const map = this.#mapOf(item);
    if (map === undefined) return;
    if (!map.inFlight.delete(item)) this.#note(`item ${item} ends, and is not under way`);
    if (type === "TaskSucceeded") map.succeeded.add(item);
    else if (event.retryAt === undefined) map.failed.add(item);
  }

  #endMap({ task, ...event }: TaskSucceeded | TaskFailed): void {
    const map = this.#maps.get(task);
    if (map === undefined || !map.isRunning) return;
    const { count, succeeded, failed, inFlight, spec } = map;
    if (inFlight.size > 0) this.#note(`map ${task} ends with ${inFlight.size} items under way`);
    if (succeeded.size + failed.size !== count && !(spec.failFast && failed.size > 0))
      this.#note(`map ${task} ends after ${succeeded.size + failed.size} of ${count} items`);
    if (event.type === "TaskSucceeded") this.#checkSummary(map, event.output);
    this.#close(map);
  }

  #checkSummary({ count, succeeded, failed }: MapModel, output: unknown): void {
    const told = JSON.parse(String(output)) as Record<string, unknown>;
    const counts = { total: count, succeeded: succeeded.size, failed: failed.size };
    for (const [name, number] of Object.entries(counts))
      if (told[name] !== number) this.#note(`a map says ${name} ${String(told[name])}, not ${number}`);
  }

  #takeBack(item: number): void {
    if (item >= firstItemNumber) this.#mapOf(item)?.inFlight.delete(item);
  }

  #close(map: MapModel | undefined): void {
    if (map === undefined) return;
    map.isRunning = false;
    map.inFlight.clear();
  }

  #mapOf(item: number): MapModel | undefined {
    if (item < firstItemNumber) return undefined;
    for (const map of this.#maps.values()) if (item >= map.first && item < map.first + map.count) return map;
    this.#note(`item ${item} belongs to no map`);
    return undefined;
  }

  #note(what: string): void {
    this.wrong.push(`${this.#instance.id}: ${what}`);
  }
}
