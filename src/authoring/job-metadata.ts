import { canonicalJson } from "../base/canonical-json.ts";
import { textHash } from "./content-hash.ts";
import { inputSchemaOf } from "./input-schema.ts";
import type { Job } from "./job.ts";
import { parameterList } from "./parameter-list.ts";

/** The stored metadata of a job, compared with the registered functions at the next start. */
export interface JobMetadata extends JobDescription {
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Stored earlier, but its function is not registered now. */
  readonly missing: boolean;
}

/** The metadata of a job that follow from its code. */
export interface JobDescription {
  /** `name@signature`. */
  readonly id: string;
  readonly name: string;
  /** A hash of the parameters. */
  readonly signature: string;
  /** JSON text: the input's JSON Schema, or else the function's parameter list as text. */
  readonly parameters: string;
  /** `module#export`, if the job or its loader sets it. */
  readonly codePath: string | null;
  readonly sourceHash: string;
}

const signatureLength = 16;

export function describeJob(job: Job): JobDescription {
  const source = Function.prototype.toString.call(job.fn);
  const parameters = canonicalJson(inputSchemaOf(job.input) ?? parameterList(source));
  const signature = textHash(parameters).slice(0, signatureLength);
  return {
    id: `${job.name}@${signature}`,
    name: job.name,
    signature,
    parameters,
    codePath: job.codePath ?? (job.source === undefined ? null : `${job.source.module}#${job.source.export}`),
    sourceHash: textHash(source),
  };
}
