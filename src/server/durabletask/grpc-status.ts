import { hasCode } from "../../base/error.ts";
import type { Logger } from "../../base/logger.ts";
import { WireError } from "../../durabletask/wire.ts";
import { type Answer, answerOf } from "../http/answer-error.ts";
import { HttpError } from "../request/http-error.ts";
import type { GrpcRefusal } from "./grpc-module.ts";

/** Status codes of gRPC. */
const codes = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

const ofHttp: Readonly<Record<number, number>> = {
  400: codes.invalidArgument,
  401: codes.unauthenticated,
  403: codes.permissionDenied,
  404: codes.notFound,
  409: codes.failedPrecondition,
  413: codes.resourceExhausted,
  422: codes.invalidArgument,
  429: codes.resourceExhausted,
  503: codes.unavailable,
  504: codes.deadlineExceeded,
};

/** A refused call: its status, and what HTTP would answer, for the audit log. */
export interface Refused {
  readonly refusal: GrpcRefusal;
  readonly answer: Answer;
}

/** Converts an error. Internal errors are logged, and the client gets their number only. */
export function refusedOf(error: unknown, logger: Logger): Refused {
  const known = error instanceof WireError ? new HttpError("REQUEST_INVALID", error.message) : error;
  const answer = answerOf(known, logger);
  const code = hasCode(known, "INSTANCE_EXISTS") ? codes.alreadyExists : (ofHttp[answer.status] ?? codes.internal);
  return { refusal: { code, details: answer.refusal.message }, answer };
}
