import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";

/** What the page is made of: where it is served, the file beside this one, and what it is. */
const files = [
  { path: "/", file: "status.html", type: "text/html; charset=utf-8" },
  { path: "/assets/status.css", file: "status.css", type: "text/css; charset=utf-8" },
  { path: "/assets/status.js", file: "status.js", type: "text/javascript; charset=utf-8" },
] as const;

/** The status page: what runs, what ended, what can be run. It holds no data itself, so everybody may load it. */
export function pageRoutes(app: FastifyInstance): void {
  for (const { path, file, type } of files) {
    const bytes = readFileSync(new URL(file, import.meta.url));
    const tag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
    app.get(path, (request, reply) => {
      // Asked for each time, and answered in a word while nothing has changed.
      reply.headers({ etag: tag, "cache-control": "no-cache" });
      return request.headers["if-none-match"] === tag ? reply.code(304).send() : reply.type(type).send(bytes);
    });
  }
}
