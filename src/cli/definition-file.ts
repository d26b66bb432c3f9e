import { readFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { messageOf } from "../base/error.ts";
import type { Call } from "../client/call.ts";
import type { HeddleClient } from "../client/client.ts";
import { HeddleClientError } from "../client/client-error.ts";
import { UsageError } from "./exit-code.ts";

type DagSpec = NonNullable<Call<"createWorkflow">["body"]>["dagSpec"];

export interface DefinitionFile {
  readonly name: string;
  readonly dagSpec: DagSpec;
}

/** Reads a definition in the dag-spec format. `<workflow>/dag-spec.json` is named after its folder, other files after themselves. */
export function readDefinition(file: string, name?: string): DefinitionFile {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new UsageError(`${file} cannot be read as a definition: ${messageOf(error)}`);
  }
  if (typeof content !== "object" || content === null || !("nodes" in content)) {
    throw new UsageError(`${file} is not a definition: it must be an object with "nodes", and "edges" between them`);
  }
  return { name: name ?? nameOf(file), dagSpec: content as DagSpec };
}

function nameOf(file: string): string {
  const base = basename(file);
  return base === "dag-spec.json" ? basename(dirname(resolve(file))) : base.replace(/\.json$/, "");
}

/** Saves the definition as a new version, or as a new workflow if the name is unknown. */
export async function saveDefinition(
  client: HeddleClient,
  { name, dagSpec }: DefinitionFile,
): Promise<{ id: string; name: string; version: string; warning: string | null }> {
  try {
    return await client.call("updateWorkflow", { params: { id: name }, body: { dagSpec } });
  } catch (error) {
    if (!(error instanceof HeddleClientError) || error.status !== 404) throw error;
    return await client.call("createWorkflow", { body: { name, dagSpec } });
  }
}
