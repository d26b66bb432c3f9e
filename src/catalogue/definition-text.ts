import { Workflow } from "../authoring/workflow.ts";
import { EngineError } from "../base/error.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { refuseTooLarge, sizeProblem } from "./definition-size.ts";
import { type JsonPath, jsonProblem, offsetOf, placeAt, type TextPlace } from "./json-text-place.ts";

/** A problem of a definition file, with its position. */
export interface TextProblem extends TextPlace {
  readonly problem: string;
}

/** Parses a definition, or returns its problem. */
export function readDefinition(text: string, name: string): { spec: DagSpec } | TextProblem {
  const json = text.startsWith("\uFEFF") ? text.slice(1) : text;
  let spec: DagSpec;
  try {
    spec = JSON.parse(json) as DagSpec;
  } catch (error) {
    const { offset, message } = jsonProblem(json) ?? { offset: 0, message: String(error) };
    return { ...placeAt(json, offset), problem: `it is not JSON: ${message}` };
  }
  const refusal = refusalOf(spec, name);
  if (refusal === undefined) return { spec };
  return { ...placeAt(json, offsetOf(json, culprit(spec, name))), problem: refusal.message };
}

function refusalOf(spec: unknown, name: string): EngineError | undefined {
  try {
    refuseTooLarge(spec, name);
    Workflow.fromJSON(spec, { name });
    return undefined;
  } catch (error) {
    if (error instanceof EngineError) return error;
    throw error;
  }
}

/**
 * Finds the first setting, node or edge with which a definition is refused. Checks concern
 * one node, or one with those before it, and likewise edges, so a valid prefix is not the cause.
 */
function culprit(spec: DagSpec, name: string): JsonPath {
  const isRefused = (part: unknown): boolean => refusalOf(part, name) !== undefined;
  if (typeof spec !== "object" || spec === null || !Array.isArray(spec.nodes)) return ["nodes"];
  const tooLarge = sizeProblem(spec);
  if (tooLarge !== undefined) return [tooLarge.part];
  const { nodes, edges, ...settings } = spec;
  for (const [key, value] of Object.entries(settings)) {
    if (isRefused({ [key]: value, nodes: [{ nodeId: 1 }] })) return [key];
  }
  if (nodes.length === 0) return ["nodes"];
  if (isRefused({ nodes })) {
    return ["nodes", firstRefused(nodes.length, (count) => isRefused({ nodes: nodes.slice(0, count) }))];
  }
  if (!Array.isArray(edges)) return ["edges"];
  return ["edges", firstRefused(edges.length, (count) => isRefused({ nodes, edges: edges.slice(0, count) }))];
}

/** Binary search for the item with which a prefix of the list is refused. The whole list is refused. */
function firstRefused(length: number, isRefused: (count: number) => boolean): number {
  let accepted = 0;
  let refused = length;
  while (refused - accepted > 1) {
    const count = Math.floor((accepted + refused) / 2);
    if (isRefused(count)) refused = count;
    else accepted = count;
  }
  return refused - 1;
}
