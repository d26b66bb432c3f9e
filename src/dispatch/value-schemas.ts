import type { Failure } from "../kernel/failure.ts";
import { boolean, type Fields, object, optional, type Schema, text } from "./schema.ts";

const causeDepthMax = 20;

const failureFields: Omit<Fields<Failure>, "cause"> = {
  type: text({ max: 10_000 }),
  message: text({ max: 100_000 }),
  retryable: boolean,
  stack: optional(text({ max: 100_000 })),
};

export function failure(depth: number): Schema {
  const cause: Schema = depth < causeDepthMax ? failure(depth + 1) : () => " has too many causes";
  return object<Failure>({ ...failureFields, cause: optional(cause) });
}
