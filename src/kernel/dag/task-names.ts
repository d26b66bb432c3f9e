import type { NodeSpec } from "../node-spec.ts";

/** Task names of the nodes, by place: unique, because later nodes of a name that is taken are called `name#nodeId`. */
export function taskNames(nodes: readonly Pick<NodeSpec, "nodeId" | "nodeName">[]): string[] {
  const taken = new Set<string>();
  return nodes.map(({ nodeId, nodeName }) => {
    let name = nodeName ?? String(nodeId);
    while (taken.has(name)) name = `${name}#${nodeId}`;
    taken.add(name);
    return name;
  });
}
