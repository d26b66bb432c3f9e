import { hasMark, namespaceOf, qualify } from "../../../src/base/namespace.ts";
import type { Evidence } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf } from "./commit-history.ts";

/**
 * Namespaces do not see each other: a list names only instances of its own, as they are called there,
 * and an instance starts children only in its own.
 */
export const checkNamespaces: Checker = (evidence) => [...checkListed(evidence), ...checkFamilies(evidence)];

function checkListed(evidence: Evidence): string[] {
  const commitHistory = commitHistoryOf(evidence);
  return evidence.calls.flatMap(({ operation, outcome, value, namespace, number }) => {
    if (operation !== "list" || outcome !== "ok") return [];
    const foreign = (value as readonly string[]).filter((id) => {
      return hasMark(id) || commitHistory.livesOf(qualify(namespace, id)).length === 0;
    });
    return foreign.map((id) => `list, call ${number}, in namespace ${namespace} has ${id}, which is not in it`);
  });
}

function checkFamilies({ finalState }: Evidence): string[] {
  return finalState.instances.flatMap(({ id, workflow, turns }) => {
    const events = turns.flatMap((turn) => turn.events);
    const children = events.flatMap((event) => ("childId" in event ? [event.childId] : []));
    return [workflow, ...children]
      .filter((name) => namespaceOf(name) !== namespaceOf(id))
      .map((name) => `${id} belongs to another namespace than ${name}`);
  });
}
