import type { FastifyInstance } from "fastify";
import { HttpError } from "./http-error.ts";
import { depthMax, isTooDeep } from "../../base/json-depth.ts";

/**
 * JSON is all that is taken. An empty body is none, whatever its type says: tools that set the header on every request are
 * common. Keys that would reach a prototype are refused.
 */
export function takeJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null, undefined);
    else if (isTooDeep(body as string)) done(new HttpError("REQUEST_INVALID", `nested deeper than ${depthMax} levels`));
    else void parse(request, body as string, done);
  });
}
