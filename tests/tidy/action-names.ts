import { finding, isTest, nodes } from "./source.ts";
import type { Finding, Source } from "./source.ts";
import type { Node } from "oxc-parser";

/** Verbs whose imperative ends like a participle. */
const imperatives = new Set(["embed", "exceed", "feed", "need", "proceed", "seed", "succeed"]);

/** A function without a result is an action. Its name is a verb, or `on…` for a notification, and never a participle: `ended`, `#moved`. */
export function actionNames(source: Source): Finding[] {
  if (isTest(source.path)) return [];
  const findings: Finding[] = [];
  for (const { node } of nodes(source)) {
    const action = actionOf(node);
    const name = action === undefined ? undefined : nameOf(action.key);
    if (action?.result === undefined || name === undefined || !isVoid(source, action.result)) continue;
    const [verb = ""] = name.split(/(?=[A-Z])/);
    if (!verb.endsWith("ed") || imperatives.has(verb)) continue;
    findings.push(finding(source, node.start, `${name} is an action: name it by a verb, or on… for a notification`));
  }
  return findings;
}

/** The name and the type of the result of a function, a method, or a property that is one. */
function actionOf(node: Node): { key: Node | null; result: Node | null | undefined } | undefined {
  switch (node.type) {
    case "FunctionDeclaration":
      return { key: node.id, result: node.returnType };
    case "MethodDefinition":
      return { key: node.key, result: node.value.returnType };
    case "TSMethodSignature":
      return { key: node.key, result: node.returnType };
    case "PropertyDefinition":
      return node.value?.type === "ArrowFunctionExpression"
        ? { key: node.key, result: node.value.returnType }
        : undefined;
    case "TSPropertySignature": {
      const type = node.typeAnnotation?.typeAnnotation;
      return type?.type === "TSFunctionType" ? { key: node.key, result: type.returnType } : undefined;
    }
    default:
      return undefined;
  }
}

function nameOf(key: Node | null): string | undefined {
  return key?.type === "Identifier" || key?.type === "PrivateIdentifier" ? key.name : undefined;
}

function isVoid(source: Source, result: Node | null): boolean {
  return result !== null && /^(?::|=>)\s*(?:void|Promise<void>)$/.test(source.text.slice(result.start, result.end));
}
