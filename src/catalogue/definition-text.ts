import { Workflow } from "../authoring/workflow.ts";
import { EngineError } from "../base/error.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { refuseTooLarge, sizeProblem } from "./definition-size.ts";
import { type JsonPath, jsonProblem, offsetOf, placeAt, type TextPlace } from "./json-text-place.ts";

/** Why a file is not a definition, and the place in it to look at. */
export interface TextProblem extends TextPlace {
  readonly problem: string;
}

/** The definition in a text, or what is wrong with it: never both. */
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
 * The part to blame in a definition that is refused: the first setting, node or edge with which it is. Checks are of
 * one node, or of one with those before it, and likewise for edges, so a beginning that passes is not to blame.
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

/** The place of the item that turns a beginning of the list into one that is refused. All of it is. */
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
