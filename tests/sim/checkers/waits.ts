import { hasEnded } from "../../../src/kernel/status.ts";
import type { InstanceView } from "../../../src/views/instance-view.ts";
import type { Checker } from "./checker.ts";

/** Every answer about an unfinished instance says what it waits for; one that has ended waits for nothing. */
export const checkWaits: Checker = ({ calls }) =>
  calls.flatMap(({ number, operation, outcome, value, instanceId }) => {
    if (operation !== "status" || outcome !== "ok") return [];
    const { status, waiting, waitingTotal } = value as InstanceView;
    const what = `${instanceId} is ${status} and, says call ${number}, waits for`;
    if (hasEnded(status)) return waiting.length === 0 ? [] : [`${what} ${waiting.map(({ text }) => text).join(", ")}`];
    if (waiting.length === 0) return [`${what} nothing`];
    return waitingTotal < waiting.length ? [`${what} ${waitingTotal} of ${waiting.length} things`] : [];
  });
