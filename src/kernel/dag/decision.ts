import type { Failure } from "../failure.ts";
import { preview } from "../../base/preview.ts";
import type { Graph } from "./graph.ts";

/** An edge out of a decision, by its number in the definition. */
export interface DecisionEdge {
  readonly number: number;
  readonly property: string | undefined;
}

export function decisionEdges(graph: Graph, task: number): DecisionEdge[] {
  return Array.from(graph.outEdges(task), (number) => ({ number, property: graph.edgeProperty[number] }));
}

/**
 * Lists edges that a decision's result leaves untaken. A boolean or a number (above 0 is true) chooses between edges
 * that carry only true and false, a missing property reading as false; a text takes none of those. Otherwise the
 * result's text must equal an edge's property, and the `default` edges are taken when none does.
 */
export function edgesNotTaken(
  value: unknown,
  edges: readonly DecisionEdge[],
): { readonly off: number[] } | { readonly failure: Failure } {
  if (!isResult(value)) {
    return fail(`a decision gives true or false, a number or a text; this one gave ${preview(value)}`);
  }
  if (edges.length === 0) return { off: [] };

  const properties = edges.map(({ property }) => property?.trim() ?? "");
  const taken = takenProperty(value, properties);
  if (taken === undefined) return fail(noEdge(value, properties));
  return { off: edges.filter((_, place) => !taken(properties[place] as string)).map(({ number }) => number) };
}

type Result = boolean | number | bigint | string;

type IsTaken = (property: string) => boolean;

/** Returns a test of the properties that are taken; undefined when none is. */
function takenProperty(value: Result, properties: readonly string[]): IsTaken | undefined {
  if (properties.every(isTruthWord)) {
    const truth = truthOf(value);
    return truth === undefined ? undefined : (property) => isTrue(property) === truth;
  }

  const text = String(value).trim();
  // Case matters except for booleans: "EU" and "eu" may well be two branches, "TRUE" and "true" are not.
  const equalsResult: IsTaken = (property) =>
    property !== "" && (typeof value === "boolean" ? property.toLowerCase() : property) === text;
  return [equalsResult, isDefault].find((isTaken) => properties.some(isTaken));
}

/** A text has no truth value, even if it reads "true". */
function truthOf(value: Result): boolean | undefined {
  if (typeof value === "boolean") return value;
  return typeof value === "string" ? undefined : value > 0;
}

function isTrue(property: string): boolean {
  return property.toLowerCase() === "true";
}

function isTruthWord(property: string): boolean {
  return property === "" || isTrue(property) || property.toLowerCase() === "false";
}

function isDefault(property: string): boolean {
  return property.toLowerCase() === "default";
}

function isResult(value: unknown): value is Result {
  return ["boolean", "number", "bigint", "string"].includes(typeof value);
}

function noEdge(value: Result, properties: readonly string[]): string {
  const present = properties.map(preview).join(", ");
  return `the decision gave ${preview(value)}, which takes none of its edges (${present}), and none of them is "default"`;
}

function fail(message: string): { readonly failure: Failure } {
  return { failure: { type: "DECISION_INVALID", message, retryable: false } };
}
