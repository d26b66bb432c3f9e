import { randomUUID } from "node:crypto";
import type { FastifyError, FastifyReply } from "fastify";
import { interfaceErrors, type Refusal } from "../../api/envelope.ts";
import { type ErrorCode, errorCodes, messageOf } from "../../base/error.ts";
import type { Logger } from "../../base/logger.ts";
import { errorStatus } from "./error-status.ts";
import { HttpError } from "../request/http-error.ts";

export interface Answer {
  readonly status: number;
  readonly refusal: Refusal;
  readonly headers: Readonly<Record<string, string>>;
}

/** Typical duration of transient errors: a shard moves, a store fails over, a queue is full. */
const retryAfterSeconds = 1;

/** Converts an error to a response. Internal errors are logged, and the caller gets their number only. */
export function answerOf(error: unknown, logger: Logger): Answer {
  const known = error instanceof HttpError ? error : fromFastify(error);
  if (known !== undefined) return answerOfHttp(known);
  if (error instanceof Error && "code" in error && isErrorCode(error.code)) {
    return answerOfEngine(error.code, error.message);
  }
  const id = randomUUID();
  const stack = error instanceof Error ? error.stack : undefined;
  logger.error({ errorId: id, error: messageOf(error), stack }, "a request failed because of an internal error");
  const message = `an internal error, logged by the server as ${id}`;
  return { status: 500, refusal: { code: "INTERNAL", message }, headers: {} };
}

export function sendAnswer(reply: FastifyReply, { status, refusal, headers }: Answer): FastifyReply {
  return reply.code(status).headers(headers).send(refusal);
}

function answerOfHttp({ code, message, details, retryAfterSeconds: seconds, headers }: HttpError): Answer {
  return {
    status: interfaceErrors[code],
    refusal: { code, message, ...(details !== undefined && { details }) },
    headers: seconds === undefined ? headers : { ...headers, "retry-after": String(seconds) },
  };
}

function answerOfEngine(code: ErrorCode, message: string): Answer {
  const status = errorStatus[code];
  const isForNow = status === 503 || status === 429;
  return { status, refusal: { code, message }, headers: isForNow ? { "retry-after": String(retryAfterSeconds) } : {} };
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(errorCodes, code);
}

/** Converts errors of Fastify to those of this interface. */
function fromFastify(error: unknown): HttpError | undefined {
  if (!(error instanceof Error) || !("statusCode" in error)) return undefined;
  const { statusCode, message } = error as FastifyError;
  if (statusCode === 413) return new HttpError("BODY_TOO_LARGE", "the request's body is larger than the server takes");
  if (statusCode === 415) {
    return new HttpError("MEDIA_TYPE_UNSUPPORTED", "bodies are JSON: send content-type: application/json");
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new HttpError("REQUEST_INVALID", message);
  return undefined;
}
