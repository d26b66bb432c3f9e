import { preview } from "../../base/preview.ts";
import { broadcastTypes, mapTypes } from "../task-definition.ts";

/** Limit of items of one map under way at a time: they are scheduled in one event. */
const concurrencyMax = 10_000;

const sharePattern = /^(100|\d{1,2}(\.\d{1,3})?)%$/;

type Settings = Readonly<Record<string, unknown>>;

/** Says what is wrong with the settings of a map; undefined if nothing is. */
export function mapProblem(map: unknown): string | undefined {
  if (!isSettings(map)) return `map must be an object, got ${preview(map)}`;
  const { items, source, failFast, reduce } = map;
  const hasItems = (items ?? null) !== null;
  if (hasItems && !Array.isArray(items) && (typeof items !== "string" || items.trim() === ""))
    return `map.items must be a list, or the text of an expression, got ${preview(items)}`;
  const hasSource = (source ?? null) !== null;
  if (hasItems && hasSource) return "a map has either items or a source, not both";
  if (!hasItems && !hasSource) return "map needs items, or a source that hands them in";
  if (failFast !== undefined && typeof failFast !== "boolean")
    return `map.failFast must be true or false, got ${preview(failFast)}`;
  return limitsProblem("map", map) ?? jobProblem("map.source", source) ?? jobProblem("map.reduce", reduce);
}

/** Says what is wrong with the settings of a broadcast; undefined if nothing is. */
export function broadcastProblem(broadcast: unknown): string | undefined {
  if (!isSettings(broadcast)) return `broadcast must be an object, got ${preview(broadcast)}`;
  return (
    limitsProblem("broadcast", broadcast) ??
    jobProblem("broadcast.before", broadcast["before"]) ??
    jobProblem("broadcast.after", broadcast["after"])
  );
}

function limitsProblem(where: string, { concurrency, tolerateFailures }: Settings): string | undefined {
  if (concurrency !== undefined && !isWithin(concurrency, 1, concurrencyMax))
    return `${where}.concurrency must be a whole number from 1 to ${concurrencyMax}, got ${preview(concurrency)}`;
  if (tolerateFailures !== undefined && !isTolerance(tolerateFailures))
    return `${where}.tolerateFailures must be a whole number or a share such as "10%", got ${preview(tolerateFailures)}`;
  return undefined;
}

function jobProblem(where: string, job: unknown): string | undefined {
  if ((job ?? null) === null) return undefined;
  if (!isSettings(job)) return `${where} must be an object, got ${preview(job)}`;
  const { jobName, jobId, nodeParams } = job;
  const isNamed = typeof jobName === "string" && jobName.trim() !== "";
  if (jobName !== undefined && !isNamed)
    return `${where}.jobName must be text that is not blank, got ${preview(jobName)}`;
  if (!isNamed && !Number.isSafeInteger(jobId) && (typeof jobId !== "string" || jobId === ""))
    return `${where} needs a jobName or a jobId`;
  if (nodeParams !== undefined && typeof nodeParams !== "string")
    return `${where}.nodeParams must be text, got ${preview(nodeParams)}`;
  return undefined;
}

function isSettings(value: unknown): value is Settings {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTolerance(value: unknown): boolean {
  return typeof value === "string" ? sharePattern.test(value) : isWithin(value, 0, Number.MAX_SAFE_INTEGER);
}

function isWithin(value: unknown, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

/** PowerJob's execution modes by number and word. */
const singleTypes: readonly unknown[] = [1, "STANDALONE"];
const mapReduceTypes: readonly unknown[] = [3, "MAP_REDUCE"];

/** Says what is wrong with the items of a node and its execution mode, which have to fit together; undefined if nothing is. */
export function itemsProblem({ map, broadcast, executeType }: Settings): string | undefined {
  const hasMap = (map ?? null) !== null;
  const hasBroadcast = (broadcast ?? null) !== null;
  if (hasMap && hasBroadcast) return "it is either a map or a broadcast, not both";
  if (hasMap) return mapProblem(map) ?? mapTypeProblem(executeType, (map as Settings)["reduce"]);
  if (hasBroadcast) return broadcastProblem(broadcast) ?? broadcastTypeProblem(executeType);
  return singleTypeProblem(executeType);
}

function mapTypeProblem(executeType: unknown, reduce: unknown): string | undefined {
  const isReduced = (reduce ?? null) !== null;
  if ((executeType ?? null) === null) return undefined;
  if (mapReduceTypes.includes(executeType))
    return isReduced ? undefined : "a map-reduce needs the job that reduces: map.reduce";
  if (isOneOf(mapTypes, executeType))
    return isReduced ? 'executeType of a map with a reduce must be "MAP_REDUCE" (3)' : undefined;
  return `executeType of a map must be "MAP" (4) or "MAP_REDUCE" (3), got ${preview(executeType)}`;
}

function broadcastTypeProblem(executeType: unknown): string | undefined {
  if ((executeType ?? null) === null || isBroadcastType(executeType)) return undefined;
  return `executeType of a broadcast must be "BROADCAST" (2), got ${preview(executeType)}`;
}

function singleTypeProblem(executeType: unknown): string | undefined {
  if ((executeType ?? null) === null || singleTypes.includes(executeType) || isBroadcastType(executeType))
    return undefined;
  if (isOneOf(mapTypes, executeType)) return undefined;
  if (mapReduceTypes.includes(executeType)) return "a map-reduce needs the job that reduces: map.reduce";
  return `executeType must be "STANDALONE" (1), "BROADCAST" (2), "MAP_REDUCE" (3) or "MAP" (4), got ${preview(executeType)}`;
}

function isBroadcastType(executeType: unknown): boolean {
  return isOneOf(broadcastTypes, executeType);
}

function isOneOf(types: readonly unknown[], type: unknown): boolean {
  return types.includes(type);
}
