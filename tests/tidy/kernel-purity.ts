import { finding, isTest, nodes } from "./source.ts";
import type { Finding, Source } from "./source.ts";
import type { Node } from "oxc-parser";

/** Names that bring in the clock, chance, the machine, or waiting. */
const banned: Readonly<Record<string, string>> = {
  Date: "time comes inside events",
  performance: "time comes inside events",
  Temporal: "time comes inside events",
  crypto: "chance comes inside events",
  setTimeout: "a timer is a command",
  setInterval: "a timer is a command",
  setImmediate: "the kernel does not wait",
  queueMicrotask: "the kernel does not wait",
  Promise: "the kernel does not wait",
  PromiseLike: "the kernel does not wait",
  AbortSignal: "the kernel does not wait",
  process: "the kernel knows no machine",
  Buffer: "the kernel knows no machine",
  fetch: "the kernel knows no machine",
  globalThis: "the kernel knows no machine",
  console: "the kernel's events are its log",
  WeakRef: "what the collector does is not in the history",
  FinalizationRegistry: "what the collector does is not in the history",
};

/** The kernel is a function of its events: replaying them gives the same state, on any machine, at any time. */
export function kernelPurity(source: Source): Finding[] {
  if (!source.path.startsWith("src/kernel/") || isTest(source.path)) return [];
  const findings: Finding[] = [];
  for (const { node, around } of nodes(source)) {
    const why = impurity(node, around[0]);
    if (why !== undefined) findings.push(finding(source, node.start, why));
  }
  return findings;
}

function impurity(node: Node, parent: Node | undefined): string | undefined {
  switch (node.type) {
    case "Identifier":
      return Object.hasOwn(banned, node.name) && !isLabel(node, parent)
        ? `${node.name}: ${banned[node.name]}`
        : undefined;
    case "MemberExpression":
      return isMathRandom(node) ? "Math.random: chance comes inside events" : undefined;
    case "AwaitExpression":
      return "await: the kernel does not wait";
    case "ForOfStatement":
      return node.await ? "for await: the kernel does not wait" : undefined;
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      return node.async ? "async: the kernel does not wait" : undefined;
    default:
      return undefined;
  }
}

/** A name that only says which field is meant: `record.process`, `{ process: 1 }`. */
function isLabel(node: Node, parent: Node | undefined): boolean {
  switch (parent?.type) {
    case "MemberExpression":
      return parent.property === node && !parent.computed;
    case "Property":
      return parent.key === node && !parent.computed && !parent.shorthand;
    case "PropertyDefinition":
    case "MethodDefinition":
    case "TSPropertySignature":
    case "TSMethodSignature":
      return parent.key === node && !parent.computed;
    default:
      return false;
  }
}

function isMathRandom(node: Extract<Node, { type: "MemberExpression" }>): boolean {
  if (node.object.type !== "Identifier" || node.object.name !== "Math") return false;
  if (node.property.type === "Identifier") return node.property.name === "random";
  return node.property.type === "Literal" && node.property.value === "random";
}
