import type { Checker } from "./checker.ts";

/** An attempt runs only on a worker with the tag that its task requires. The tags of the workload are the roles of processes. */
export const checkPlacements: Checker = ({ runs, lives }) =>
  runs.flatMap(({ attemptId, params, life }) => {
    const { tag } = params;
    const role = lives[life - 1]?.role;
    if (typeof tag !== "string" || tag === role) return [];
    return [`${attemptId} requires a worker with the tag ${tag}, and ran on a ${role}`];
  });
