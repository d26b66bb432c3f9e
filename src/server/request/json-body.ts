import { hash } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { messageOf } from "../../base/error.ts";
import { HttpError } from "./http-error.ts";
import { depthMax, isTooDeep } from "../../base/json-depth.ts";

const decorator = "bodyDigest";

/** SHA-256 of the body as it came, hexadecimal; undefined without one. */
export function bodyDigestOf(request: FastifyRequest): string | undefined {
  return request.getDecorator<string | undefined>(decorator);
}

/** Returns the reason why the JSON is refused. */
function problemOf(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    return messageOf(error);
  }
  return "it has a key that would reach a prototype (__proto__, constructor.prototype)";
}

/**
 * JSON is all that is taken. An empty body is none, whatever its type says: tools that set the header on every request are
 * common. Keys that would reach a prototype are refused.
 */
export function takeJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.decorateRequest(decorator, undefined);
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") return done(null, undefined);
    request.setDecorator(decorator, hash("sha256", body as string));
    if (isTooDeep(body as string)) done(new HttpError("REQUEST_INVALID", `nested deeper than ${depthMax} levels`));
    else
      void parse(request, body as string, (error, value) => {
        if (error === null) done(null, value);
        else
          done(
            new HttpError("REQUEST_INVALID", `the body is not JSON that can be taken: ${problemOf(body as string)}`),
          );
      });
  });
}
