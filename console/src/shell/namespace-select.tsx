import { useQuery } from "@tanstack/react-query";
import { Select } from "antd";
import { useState } from "react";
import { defaultNamespace, isNamespace } from "../../../src/base/namespace.ts";
import { call } from "../api/client.ts";
import { useSession } from "../api/session-context.ts";
import { enterNamespace, usePlace } from "../base/place.ts";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";

/** Chooses the namespace. Where there is only one, nothing is shown. */
export function NamespaceSelect() {
  const text = useText(shellText);
  const { namespace } = usePlace();
  const { isBound } = useSession().session;
  const [typed, setTyped] = useState("");
  const known = useQuery({
    queryKey: ["namespaces"],
    queryFn: () => call("listNamespaces"),
    enabled: !isBound,
    staleTime: 30_000,
  });
  if (isBound) return <span className="top-namespace quiet">{namespace}</span>;
  const names = new Set((known.data?.items ?? []).map(({ name }) => name));
  if (names.size < 2 && namespace === defaultNamespace) return null;
  // A namespace exists as soon as it is named.
  for (const name of [namespace, typed]) if (isNamespace(name)) names.add(name);
  return (
    <Select
      size="small"
      className="top-namespace"
      aria-label={text.namespace}
      showSearch={{ onSearch: setTyped }}
      popupMatchSelectWidth={false}
      value={namespace}
      options={[...names].toSorted().map((name) => ({ value: name, label: name }))}
      onChange={(next) => enterNamespace(next)}
    />
  );
}
