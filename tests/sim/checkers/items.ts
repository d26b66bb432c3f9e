import { firstItemNumber, itemsMax } from "../../../src/kernel/dag/map-items.ts";
import type { Event, ItemsAdded, MapStarted, TaskFailed, TaskSucceeded } from "../../../src/kernel/event.ts";
import { defineTask, hasSource, type MapSettings, toleratedFailures } from "../../../src/kernel/task-definition.ts";
import { definitionKey, type Evidence } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { birthOf, commitHistoryOf, eventsOf, type InstanceCommits } from "./commit-history.ts";

/**
 * Every item of a map is accounted for: a map ends when all its items have, with their counts; no more items are under
 * way than it allows; and none starts before the map, after its end or after its own success. The hook before the items
 * succeeds before the first of them starts, and the one after them starts when all have ended, and gives the map its
 * output. An item of a broadcast starts on its own worker. Items that are handed in are those of one call, each once, by
 * an attempt that is under way; and the map does not succeed before its source.
 */
export const checkItems: Checker = (evidence) =>
  [...commitHistoryOf(evidence).instances.values()].flatMap((instance) => new ItemModel(evidence, instance).wrong);

interface MapModel {
  readonly settings: MapSettings;
  readonly first: number;
  readonly firstHook: number;
  count: number;
  readonly workers: readonly string[] | undefined;
  readonly inFlight: Set<number>;
  readonly succeeded: Set<number>;
  readonly failed: Set<number>;
  /** The number of items by the task and the call that handed them in. */
  readonly handedIn: Map<string, number>;
  /** The output of the hook after the items; undefined before it has succeeded. */
  afterOutput: { readonly output: unknown } | undefined;
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
      case "ItemsAdded":
        return this.#add(event);
      case "TasksScheduled":
        return event.tasks.forEach((task) => this.#schedule(task));
      case "TaskStarted":
        return this.#checkWorker(event.task, event.worker);
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

  #start(event: MapStarted): void {
    const { task, pages, workers } = event;
    if (pages !== undefined || workers !== undefined) return this.#list(event);
    const map = this.#maps.get(task);
    if (map === undefined) return this.#note(`map ${task} runs again without items`);
    map.isRunning = true;
    map.failed.clear();
  }

  #list({ task, pages = [], workers }: MapStarted): void {
    const count = workers?.length ?? pages.reduce((sum, page) => sum + page.count, 0);
    const { workflow, version } = this.#instance;
    const spec = this.#evidence.finalState.definitions.get(definitionKey(workflow, version));
    const node = spec !== undefined && "nodes" in spec ? spec.nodes[task] : undefined;
    const settings = node && defineTask(node, "").map;
    if (settings === undefined) return this.#note(`task ${task} has items and is no map`);
    const sets = { inFlight: new Set<number>(), succeeded: new Set<number>(), failed: new Set<number>() };
    const first = this.#next;
    const firstHook = first + (hasSource(settings) ? itemsMax : count);
    const map = { settings, first, firstHook, count, workers, ...sets, afterOutput: undefined, isRunning: true };
    this.#maps.set(task, { ...map, handedIn: new Map() });
    this.#next = firstHook + settings.hooks.length;
  }

  #add({ task, by, call, from, pages }: ItemsAdded): void {
    const map = this.#maps.get(task);
    if (map === undefined) return this.#note(`items are added to ${task}, which is no map`);
    if (!map.inFlight.has(by)) this.#note(`${by} hands in items, and is not under way`);
    const key = `${by}/${call}`;
    const known = map.handedIn.get(key) ?? 0;
    if (from !== known) this.#note(`call ${call} of ${by} has handed in ${known} items, and goes on with ${from}`);
    const count = pages.reduce((sum, page) => sum + page.count, 0);
    map.handedIn.set(key, from + count);
    map.count += count;
  }

  #schedule(item: number): void {
    const map = this.#mapOf(item);
    if (map === undefined) return;
    map.inFlight.add(item);
    if (hookName(map, item) === "source") return;
    const birth = birthOf(this.#instance);
    const limit = map.settings.concurrency ?? (birth?.type === "InstanceCreated" ? birth.maxConcurrentTasks : Infinity);
    if (!map.isRunning) this.#note(`item ${item} is scheduled, and its map does not run`);
    if (map.succeeded.has(item)) this.#note(`item ${item} is scheduled after its success`);
    const inFlight = [...map.inFlight].filter((each) => hookName(map, each) !== "source").length;
    if (inFlight > limit) this.#note(`${inFlight} items are under way, of ${limit}`);
    this.#checkOrder(map, item);
  }

  #checkOrder(map: MapModel, item: number): void {
    const name = hookName(map, item);
    if (name === "before") return;
    const ended = endedItems(map);
    if (name !== undefined && (ended < map.count || map.inFlight.size > 1))
      this.#note(`${name} is scheduled after ${ended} of ${map.count} items`);
    const before = map.settings.hooks.findIndex((hook) => hook.name === "before");
    if (before >= 0 && !map.succeeded.has(map.firstHook + before))
      this.#note(`item ${item} is scheduled before the hook that comes first has succeeded`);
  }

  #checkWorker(item: number, worker: string): void {
    const map = this.#mapOf(item);
    const own = map?.workers?.[item - map.first];
    if (own !== undefined && worker !== own && !worker.endsWith(`/${own}`))
      this.#note(`item ${item} starts on ${worker}, and is for ${own}`);
  }

  #endItem(event: TaskSucceeded | TaskFailed): void {
    const { task: item, type } = event;
    const map = this.#mapOf(item);
    if (map === undefined) return;
    if (!map.inFlight.delete(item)) this.#note(`item ${item} ends, and is not under way`);
    if (event.worker !== undefined) this.#checkWorker(item, event.worker);
    if (type === "TaskFailed") return event.retryAt === undefined ? void map.failed.add(item) : undefined;
    map.succeeded.add(item);
    const name = hookName(map, item);
    if (name === "after" || name === "reduce") map.afterOutput = { output: event.output };
  }

  #endMap({ task, ...event }: TaskSucceeded | TaskFailed): void {
    const map = this.#maps.get(task);
    if (map === undefined || !map.isRunning) return;
    const { count, inFlight, settings } = map;
    const ended = endedItems(map);
    const failed = [...map.failed].filter((item) => hookName(map, item) === undefined).length;
    const hasFailedHook = failed < map.failed.size;
    if (inFlight.size > 0) this.#note(`map ${task} ends with ${inFlight.size} items under way`);
    if (ended !== count && !hasFailedHook && !(settings.failFast && failed > 0))
      this.#note(`map ${task} ends after ${ended} of ${count} items`);
    const isFailed = hasFailedHook || failed > toleratedFailures(settings, count);
    if (isFailed !== (event.type === "TaskFailed")) this.#note(`map ${task} ends with ${event.type}`);
    const source = settings.hooks.findIndex((hook) => hook.name === "source");
    if (event.type === "TaskSucceeded" && source >= 0 && !map.succeeded.has(map.firstHook + source))
      this.#note(`map ${task} succeeds before its source`);
    if (event.type === "TaskSucceeded") this.#checkOutput(map, event.output);
    this.#close(map);
  }

  #checkOutput({ settings, afterOutput, ...map }: MapModel, output: unknown): void {
    if (settings.hooks.every(({ name }) => name === "before" || name === "source"))
      return this.#checkSummary(map, output);
    if (afterOutput === undefined) this.#note("a map succeeds without the job after its items");
    else if (JSON.stringify(output) !== JSON.stringify(afterOutput.output))
      this.#note("a map gives another output than the job after its items");
  }

  #checkSummary(map: Pick<MapModel, "first" | "count" | "succeeded" | "failed">, output: unknown): void {
    const { first, count } = map;
    const isItem = (item: number): boolean => item < first + count;
    const told = JSON.parse(String(output)) as Record<string, unknown>;
    const succeeded = [...map.succeeded].filter(isItem).length;
    const counts = { total: count, succeeded, failed: [...map.failed].filter(isItem).length };
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
    for (const map of this.#maps.values()) {
      const { first, count } = map;
      if ((item >= first && item < first + count) || hookName(map, item) !== undefined) return map;
    }
    this.#note(`item ${item} belongs to no map`);
    return undefined;
  }

  #note(what: string): void {
    this.wrong.push(`${this.#instance.id}: ${what}`);
  }
}

function hookName({ settings, firstHook }: MapModel, item: number): string | undefined {
  return settings.hooks[item - firstHook]?.name;
}

function endedItems({ first, count, succeeded, failed }: MapModel): number {
  return [...succeeded, ...failed].filter((item) => item < first + count).length;
}
