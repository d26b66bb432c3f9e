import { shown } from "../../base/shown.ts";
import { cursorOf, placeOf } from "../http/cursor.ts";
import type { Handlers } from "../http/handler.ts";
import { HttpError } from "../http/http-error.ts";
import type { AuditEntry } from "../security/audit.ts";
import { done, type RouteParts } from "./route-parts.ts";

type SecurityRoutes = Pick<Handlers, "listAudit" | "listTokens" | "createToken" | "deleteToken">;

export function securityRoutes({ tokens, audit }: RouteParts): SecurityRoutes {
  return {
    listAudit: async ({ query }) => {
      const [before] = placeOf<[number]>(query.cursor, ["number"]) ?? [];
      const lines = await audit.read({ limit: query.limit + 1, ...(before !== undefined && { before }) });
      const page = lines.slice(0, query.limit);
      const last = page.at(-1);
      return {
        items: page.map(({ number, at, body }) => ({ number, at, ...(JSON.parse(body) as AuditEntry) })),
        next: lines.length > query.limit && last !== undefined ? cursorOf([last.number]) : null,
      };
    },
    listTokens: async () => ({ items: await tokens.list() }),
    createToken: async ({ body, key }) => {
      const { name, role } = body;
      return { name, role, token: await tokens.create(body, key) };
    },
    deleteToken: async ({ params }) => {
      if (await tokens.delete(params.name)) return done;
      throw new HttpError("NOT_FOUND", `no token ${shown(params.name)} is known`);
    },
  };
}
