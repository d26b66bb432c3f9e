import { checkCausality } from "./causality.ts";
import type { Checker, AsyncChecker } from "./checker.ts";
import { checkChildren } from "./children.ts";
import { checkFencing } from "./fencing.ts";
import { checkHeartbeats } from "./heartbeats.ts";
import { checkHealth } from "./health.ts";
import { checkHistories } from "./histories.ts";
import { checkExecutions } from "./executions.ts";
import { checkItems } from "./items.ts";
import { checkLateness } from "./lateness.ts";
import { checkLeases } from "./leases.ts";
import { checkLeftovers } from "./leftovers.ts";
import { checkLimits } from "./limits.ts";
import { checkLiveness } from "./liveness.ts";
import { checkMemberships } from "./memberships.ts";
import { checkMonitor } from "./monitor.ts";
import { checkNamespaces } from "./namespaces.ts";
import { checkDeliveries } from "./deliveries.ts";
import { checkOutcomes } from "./outcomes.ts";
import { checkPlacements } from "./placements.ts";
import { checkPurgedFamilies, checkPurges } from "./purges.ts";
import { checkReads } from "./reads.ts";
import { checkReplays } from "./replays.ts";
import { checkRequests } from "./requests.ts";
import { checkSagas } from "./sagas.ts";
import { checkSchedules } from "./schedules.ts";
import { checkStarts } from "./starts.ts";
import { checkStalls } from "./stalls.ts";
import { checkStallRenewals } from "./stall-renewals.ts";
import { checkTiming } from "./timing.ts";
import { checkTurnPlaces } from "./turn-places.ts";
import { checkUpdates } from "./updates.ts";
import { checkRenewals } from "./renewals.ts";
import { checkMessageNumbers, checkRestoredHealth, checkRestoredLiveness, checkRollbacks } from "./rollbacks.ts";
import { checkWaits } from "./waits.ts";
import { checkWatches } from "./watches.ts";

export const checkers: Readonly<Record<string, Checker>> = {
  liveness: checkLiveness,
  health: checkHealth,
  outcomes: checkOutcomes,
  fencing: checkFencing,
  histories: checkHistories,
  turnPlaces: checkTurnPlaces,
  causality: checkCausality,
  executions: checkExecutions,
  starts: checkStarts,
  heartbeats: checkHeartbeats,
  leases: checkLeases,
  renewals: checkRenewals,
  memberships: checkMemberships,
  stalls: checkStalls,
  "stall renewals": checkStallRenewals,
  timing: checkTiming,
  lateness: checkLateness,
  limits: checkLimits,
  items: checkItems,
  placements: checkPlacements,
  children: checkChildren,
  requests: checkRequests,
  reads: checkReads,
  purges: checkPurges,
  "purged families": checkPurgedFamilies,
  namespaces: checkNamespaces,
  leftovers: checkLeftovers,
  deliveries: checkDeliveries,
  sagas: checkSagas,
  updates: checkUpdates,
  schedules: checkSchedules,
  waits: checkWaits,
  watches: checkWatches,
  monitor: checkMonitor,
  "message numbers": checkMessageNumbers,
};

/** Checkers of a run in which a backup was restored: what was accepted after the backup is lost, and may be done again. */
export const restoreCheckers: Readonly<Record<string, Checker>> = {
  liveness: checkRestoredLiveness,
  health: checkRestoredHealth,
  leftovers: checkLeftovers,
  rollbacks: checkRollbacks,
  "message numbers": checkMessageNumbers,
};

export const asyncCheckers: Readonly<Record<string, AsyncChecker>> = { replays: checkReplays };
