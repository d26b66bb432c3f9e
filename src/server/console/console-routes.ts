import { randomBytes } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { consolePages } from "../../api/console-pages.ts";
import { contentSecurityPolicy } from "../security/security-headers.ts";
import { type ConsoleFile, ConsoleFiles } from "./console-files.ts";

/** Assets have a hash of their contents in their names. */
const assetCaching = "public, max-age=31536000, immutable";

/** Place of the nonce in the built document. */
const noncePlace = "__NONCE__";

/** The web console. Its files have no data, so they need no token. Without a build, `/` leads to the status page. */
export function consoleRoutes(app: FastifyInstance, folder: string | undefined): void {
  if (folder === undefined) {
    app.get("/", (_request, reply) => reply.redirect("/status"));
    return;
  }
  const files = new ConsoleFiles(folder);
  const sendDocument = (_request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    // Ant Design adds style elements while it runs; the nonce permits those and no others.
    const nonce = randomBytes(16).toString("base64");
    const text = files.document.replaceAll(noncePlace, nonce);
    reply.header("content-security-policy", contentSecurityPolicy({ styleNonce: nonce }));
    return reply.type("text/html; charset=utf-8").send(text);
  };
  app.get("/", sendDocument);
  for (const page of consolePages) {
    app.get(`/${page}`, sendDocument);
    app.get(`/${page}/*`, sendDocument);
  }
  app.get<{ Params: { "*": string } }>("/assets/*", (request, reply) => {
    const file = files.find(`assets/${request.params["*"]}`);
    if (file === undefined) return reply.callNotFound();
    return sendFile(request, reply, file);
  });
}

function sendFile(request: FastifyRequest, reply: FastifyReply, { type, bytes, gzipped }: ConsoleFile): FastifyReply {
  reply.headers({ "cache-control": assetCaching, vary: "accept-encoding" }).type(type);
  const takesGzip = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
  return takesGzip ? reply.header("content-encoding", "gzip").send(gzipped) : reply.send(bytes);
}
