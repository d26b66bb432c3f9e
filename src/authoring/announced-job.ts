import type { JobDescription } from "./job-metadata.ts";
import { standardSchemaOf } from "./json-schema.ts";
import type { StandardSchema } from "./standard-schema.ts";

/** A job whose function is in the process of a worker, as the worker has announced it. */
export interface AnnouncedJob extends JobDescription {
  readonly description?: string;
  /** Epoch ms: of several signatures of one name, the name alone means the one that was announced last. */
  readonly announcedAt: number;
}

/** A job as far as it is known without its function. */
export interface KnownJob {
  /** `name@signature`. */
  readonly id: string;
  readonly job: { readonly name: string; readonly input?: StandardSchema };
}

/** The announced job with a schema for its parameters, if the worker has given one. */
export function knownJobOf({ id, name, parameters }: AnnouncedJob): KnownJob {
  const schema = JSON.parse(parameters) as unknown;
  const isSchema = typeof schema === "object" && schema !== null && !Array.isArray(schema);
  return { id, job: isSchema ? { name, input: standardSchemaOf(schema) } : { name } };
}
