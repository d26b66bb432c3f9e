import { checkCausality } from "./causality.ts";
import type { Checker, AsyncChecker } from "./checker.ts";
import { checkChildren } from "./children.ts";
import { checkFencing } from "./fencing.ts";
import { checkHealth } from "./health.ts";
import { checkHistories } from "./histories.ts";
import { checkExecutions } from "./executions.ts";
import { checkLateness } from "./lateness.ts";
import { checkLeases } from "./leases.ts";
import { checkLeftovers } from "./leftovers.ts";
import { checkLimits } from "./limits.ts";
import { checkLiveness } from "./liveness.ts";
import { checkMemberships } from "./memberships.ts";
import { checkDeliveries } from "./deliveries.ts";
import { checkOutcomes } from "./outcomes.ts";
import { checkReads } from "./reads.ts";
import { checkReplays } from "./replays.ts";
import { checkRequests } from "./requests.ts";
import { checkSagas } from "./sagas.ts";
import { checkSchedules } from "./schedules.ts";
import { checkStarts } from "./starts.ts";
import { checkStalls } from "./stalls.ts";
import { checkTiming } from "./timing.ts";
import { checkUpdates } from "./updates.ts";
import { checkRenewals } from "./renewals.ts";

export const checkers: Readonly<Record<string, Checker>> = {
  liveness: checkLiveness,
  health: checkHealth,
  outcomes: checkOutcomes,
  fencing: checkFencing,
  histories: checkHistories,
  causality: checkCausality,
  executions: checkExecutions,
  starts: checkStarts,
  leases: checkLeases,
  renewals: checkRenewals,
  memberships: checkMemberships,
  stalls: checkStalls,
  timing: checkTiming,
  lateness: checkLateness,
  limits: checkLimits,
  children: checkChildren,
  requests: checkRequests,
  reads: checkReads,
  leftovers: checkLeftovers,
  deliveries: checkDeliveries,
  sagas: checkSagas,
  updates: checkUpdates,
  schedules: checkSchedules,
};

export const asyncCheckers: Readonly<Record<string, AsyncChecker>> = { replays: checkReplays };
