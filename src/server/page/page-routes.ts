import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";

/** Files of the page: path, file name, media type. */
const files = [
  { path: "/status", file: "status.html", type: "text/html; charset=utf-8" },
  { path: "/status/status.css", file: "status.css", type: "text/css; charset=utf-8" },
  { path: "/status/status.js", file: "status.js", type: "text/javascript; charset=utf-8" },
] as const;

/** The status page: a small page that needs no build. Its files have no data, so they need no token. */
export function pageRoutes(app: FastifyInstance): void {
  for (const { path, file, type } of files) {
    const bytes = readFileSync(new URL(file, import.meta.url));
    const tag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
    app.get(path, (request, reply) => {
      // Revalidated on each request by its entity tag.
      reply.headers({ etag: tag, "cache-control": "no-cache" });
      return request.headers["if-none-match"] === tag ? reply.code(304).send() : reply.type(type).send(bytes);
    });
  }
}
