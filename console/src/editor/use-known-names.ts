import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { call } from "../api/client.ts";
import type { JsonSchema } from "../schema/json-schema.ts";

/** Names that a node can refer to, as far as this server knows them. */
export interface KnownNames {
  /** Jobs with the schema of their parameters, if they declare one. */
  readonly jobs: ReadonlyMap<string, JsonSchema | undefined>;
  readonly workflows: readonly string[];
  readonly domains: readonly string[];
}

export function useKnownNames(): KnownNames {
  const jobs = useQuery({ queryKey: ["jobs"], queryFn: () => call("listJobs") });
  const workflows = useQuery({
    queryKey: ["workflows", ""],
    queryFn: () => call("listWorkflows", { query: { limit: 1000 } }),
  });
  const domains = useQuery({ queryKey: ["domains"], queryFn: () => call("listDomains") });
  return useMemo(() => {
    const known = (jobs.data?.items ?? []).map(({ name, parameters }) => {
      return [name, typeof parameters === "object" && parameters !== null ? parameters : undefined] as const;
    });
    return {
      jobs: new Map<string, JsonSchema | undefined>(known),
      workflows: (workflows.data?.items ?? []).map(({ name }) => name),
      domains: (domains.data?.items ?? []).map(({ domain }) => domain),
    };
  }, [jobs.data, workflows.data, domains.data]);
}
