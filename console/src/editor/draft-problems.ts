import { checkSpec } from "../../../src/kernel/dag/check.ts";
import { taskNames } from "../../../src/kernel/dag/task-names.ts";
import type { NodeSpec } from "../../../src/kernel/node-spec.ts";
import type { Draft } from "./draft.ts";

export interface DraftProblem {
  /** The node that it is about; undefined for the workflow as a whole. */
  readonly nodeId: string | undefined;
  readonly text: string;
  /** A job, domain or workflow that is not known yet: it can be saved, but not started. */
  readonly isWarning: boolean;
}

/** Problems of nodes that have not changed since. */
const known = new WeakMap<NodeSpec, string | null>();

function problemOfNode(node: NodeSpec): string | null {
  const before = known.get(node);
  if (before !== undefined) return before;
  const found = refusalOf({ nodes: [node] });
  known.set(node, found);
  return found;
}

/** The first problem that the kernel finds in a definition; null if it finds none. */
function refusalOf(spec: Draft): string | null {
  try {
    checkSpec(spec);
    return null;
  } catch (error) {
    return (error as Error).message.replace(/^(?:the workflow|workflow "(?:[^"\\]|\\.)*")[,:] /, "");
  }
}

/** The kernel's own checks, of each node and then of the whole, as you type. */
export function kernelProblems(draft: Draft): DraftProblem[] {
  const ofNodes = draft.nodes.flatMap((node) => {
    const text = problemOfNode(node);
    return text === null ? [] : [{ nodeId: String(node.nodeId), text, isWarning: false }];
  });
  if (ofNodes.length > 0) return ofNodes;
  const text = refusalOf(draft);
  return text === null ? [] : [{ nodeId: undefined, text, isWarning: false }];
}

interface ServerProblem {
  readonly message: string;
  readonly task?: string | undefined;
  readonly mayStillCome: boolean;
}

/** Problems that only the server finds: in expressions, jobs, domains and nested workflows. */
export function serverProblems(draft: Draft, problems: readonly ServerProblem[]): DraftProblem[] {
  const names = taskNames(draft.nodes);
  return problems.map(({ message, task, mayStillCome }) => {
    const node = task === undefined ? undefined : draft.nodes[names.indexOf(task)];
    const text = message.replace(/^task "(?:[^"\\]|\\.)*" of workflow "(?:[^"\\]|\\.)*"[:]? /, "");
    return { nodeId: node === undefined ? undefined : String(node.nodeId), text, isWarning: mayStillCome };
  });
}
