import { checkCausality } from "./causality.ts";
import type { Checker } from "./checker.ts";
import { checkFamilies } from "./families.ts";
import { checkFencing } from "./fencing.ts";
import { checkHealth } from "./health.ts";
import { checkHistories } from "./histories.ts";
import { checkHolders } from "./holders.ts";
import { checkLeases } from "./leases.ts";
import { checkLeftovers } from "./leftovers.ts";
import { checkLimits } from "./limits.ts";
import { checkLiveness } from "./liveness.ts";
import { checkOutcomes } from "./outcomes.ts";
import { checkReads } from "./reads.ts";
import { checkRequests } from "./requests.ts";
import { checkTiming } from "./timing.ts";

export const checkers: Readonly<Record<string, Checker>> = {
  liveness: checkLiveness,
  health: checkHealth,
  outcomes: checkOutcomes,
  fencing: checkFencing,
  histories: checkHistories,
  causality: checkCausality,
  holders: checkHolders,
  leases: checkLeases,
  timing: checkTiming,
  limits: checkLimits,
  families: checkFamilies,
  requests: checkRequests,
  reads: checkReads,
  leftovers: checkLeftovers,
};
