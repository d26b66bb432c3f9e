import type { Checker } from "./checker.ts";

/** I9: at the end no message or row is left that no member will read. */
export const checkLeftovers: Checker = ({ finalState }) => [
  ...finalState.leftovers.map((left) =>
    "mailbox" in left
      ? `mail in the mailbox ${left.mailbox} was not fetched: ${left.body.slice(0, 250)}`
      : `message ${left.number} from shard ${left.source} to ${left.target} was not read`,
  ),
  ...finalState.busyWorkers.map(
    ({ machine, running, results }) =>
      `worker ${machine} still has ${running} attempts to run and ${results} results to tell`,
  ),
  ...finalState.orphanedKeys.map((key) => `rows of instance ${key}, which is not there`),
  ...twice(finalState.instances.map(({ key }) => key)).map((key) => `instance ${key} is there twice`),
];

function twice(keys: readonly number[]): number[] {
  return keys.filter((key, place) => keys.indexOf(key) !== place);
}
