import { preview } from "../../base/preview.ts";
import { cursorOf, placeOf } from "../http/cursor.ts";
import type { Handlers } from "../http/handler.ts";
import { HttpError } from "../request/http-error.ts";
import { done, type RouteParts } from "./route-parts.ts";

type SecurityRoutes = Pick<Handlers, "listAudit" | "listTokens" | "createToken" | "deleteToken">;

export function securityRoutes({ tokens, audit }: RouteParts): SecurityRoutes {
  return {
    listAudit: async ({ query, caller }) => {
      const [before] = placeOf<[number]>(query.cursor, ["number"]) ?? [];
      const { who, operation: what, target, since, limit } = query;
      const namespace = caller.isBound ? caller.namespace : undefined;
      const page = await audit.read(
        { who, what, target, since, namespace },
        { limit, ...(before !== undefined && { before }) },
      );
      return { items: page.lines, next: page.before === undefined ? null : cursorOf([page.before]) };
    },
    listTokens: async () => ({ items: await tokens.list() }),
    createToken: async ({ body, key }) => {
      const { name, role, namespace = null } = body;
      return { name, role, namespace, token: await tokens.create(body, key) };
    },
    deleteToken: async ({ params, query }) => {
      if (await tokens.delete(params.name, query)) return done;
      throw new HttpError("NOT_FOUND", `no token ${preview(params.name)} is known`);
    },
  };
}
