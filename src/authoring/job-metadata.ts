import { canonicalJson, textHash } from "./content-hash.ts";
import type { Job } from "./job.ts";
import { parameterList } from "./parameter-list.ts";

/** What is stored of a job, so that a later start can tell what became of it. */
export interface JobMetadata extends JobDescription {
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Known from earlier, but no such function is here now. */
  readonly missing: boolean;
}

/** A job as its code shows it. */
export interface JobDescription {
  /** `name@signature`. */
  readonly id: string;
  readonly name: string;
  /** A hash of the parameters. */
  readonly signature: string;
  /** JSON text: the input's JSON Schema, or else the function's parameter list as text. */
  readonly parameters: string;
  /** `module#export`, where the job, or whoever loaded it, says it. */
  readonly codePath: string | null;
  readonly sourceHash: string;
}

const signatureLength = 16;

export function describeJob(job: Job): JobDescription {
  const source = Function.prototype.toString.call(job.fn);
  const parameters = canonicalJson(inputSchema(job) ?? parameterList(source));
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

/** `undefined` where the library cannot say: it has no JSON Schema at all, or none for this type, such as a Date. */
function inputSchema(job: Job): Record<string, unknown> | undefined {
  try {
    const schema = job.input?.["~standard"].jsonSchema?.input({ target: "draft-2020-12" });
    // As the library would write it into a file: without what JSON cannot hold.
    return schema && (JSON.parse(JSON.stringify(schema)) as Record<string, unknown>);
  } catch {
    return undefined;
  }
}
