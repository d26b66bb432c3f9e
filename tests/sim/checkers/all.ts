import { checkCausality } from "./causality.ts";
import type { Checker, PatientChecker } from "./checker.ts";
import { checkFamilies } from "./families.ts";
import { checkFencing } from "./fencing.ts";
import { checkHealth } from "./health.ts";
import { checkHistories } from "./histories.ts";
import { checkHolders } from "./holders.ts";
import { checkLateness } from "./lateness.ts";
import { checkLeases } from "./leases.ts";
import { checkLeftovers } from "./leftovers.ts";
import { checkLimits } from "./limits.ts";
import { checkLiveness } from "./liveness.ts";
import { checkMemberships } from "./memberships.ts";
import { checkNotes } from "./notes.ts";
import { checkOutcomes } from "./outcomes.ts";
import { checkReads } from "./reads.ts";
import { checkReplays } from "./replays.ts";
import { checkRequests } from "./requests.ts";
import { checkSagas } from "./sagas.ts";
import { checkSchedules } from "./schedules.ts";
import { checkStandstills } from "./standstills.ts";
import { checkTiming } from "./timing.ts";
import { checkUpdates } from "./updates.ts";
import { checkVouches } from "./vouches.ts";

export const checkers: Readonly<Record<string, Checker>> = {
  liveness: checkLiveness,
  health: checkHealth,
  outcomes: checkOutcomes,
  fencing: checkFencing,
  histories: checkHistories,
  causality: checkCausality,
  holders: checkHolders,
  leases: checkLeases,
  vouches: checkVouches,
  memberships: checkMemberships,
  standstills: checkStandstills,
  timing: checkTiming,
  lateness: checkLateness,
  limits: checkLimits,
  families: checkFamilies,
  requests: checkRequests,
  reads: checkReads,
  leftovers: checkLeftovers,
  notes: checkNotes,
  sagas: checkSagas,
  updates: checkUpdates,
  schedules: checkSchedules,
};

export const patientCheckers: Readonly<Record<string, PatientChecker>> = { replays: checkReplays };
