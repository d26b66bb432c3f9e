import { defaultNamespace, localName, qualify } from "../base/namespace.ts";
import type { InstanceFilter, InstanceSummary, Store } from "../stores/store.ts";

/** Lists the instances of one namespace, with local ids and names. */
export async function listInstances(
  store: Pick<Store, "listInstances">,
  namespace: string,
  filter: InstanceFilter,
): Promise<InstanceSummary[]> {
  const { workflow, idPrefix = "" } = filter;
  const found = await store.listInstances({
    ...filter,
    namespace,
    ...(workflow !== undefined && { workflow: qualify(namespace, workflow) }),
    ...(idPrefix !== "" && { idPrefix: qualify(namespace, idPrefix) }),
  });
  return namespace === defaultNamespace ? found : found.map(localSummary);
}

function localSummary(row: InstanceSummary): InstanceSummary {
  return { ...row, id: localName(row.id), workflow: localName(row.workflow) };
}
