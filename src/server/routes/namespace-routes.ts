import type { Handlers } from "../http/handler.ts";
import type { RouteParts } from "./route-parts.ts";

export function namespaceRoutes({ listNamespaces }: RouteParts): Pick<Handlers, "listNamespaces"> {
  return {
    listNamespaces: ({ caller }) => {
      const names = caller.isBound ? [caller.namespace] : listNamespaces();
      return { items: names.map((name) => ({ name })) };
    },
  };
}
