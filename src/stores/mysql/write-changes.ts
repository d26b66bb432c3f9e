import type {
  Changes,
  DefinitionRow,
  DomainRow,
  FinishedRow,
  InstanceRow,
  JobRow,
  OffsetRow,
  TaskRow,
  TrimRow,
} from "../store.ts";
import { flag, joined, type Literal, row, sql, text, textOrNull, whole, wholeOrNull } from "./literal.ts";
import { rowsPerStatementMax, Script } from "./script.ts";
import { statements } from "./statements.ts";

/** One statement for all rows of a table. The order is that of `Changes`. */
export function writeChanges(changes: Changes): Script {
  const script = new Script();
  purge(script, changes.purged);
  trim(script, changes.trims);
  script.add(statements.insertDefinition, definitionRows(changes.definitions));
  script.add(statements.saveInstance, changes.instances.map(instance));
  script.add(statements.deleteInstance, changes.instancesEnded.map(whole));
  script.add(statements.saveFinished, changes.finished.map(finished));
  script.add(statements.deleteFinished, changes.finishedReopened.map(whole));
  script.add(
    statements.insertHistory,
    changes.history.map(({ instance: key, turn, firstEvent, at, events }) =>
      row(whole(key), whole(turn), whole(firstEvent), whole(at), text(events)),
    ),
  );
  script.add(statements.saveTask, changes.tasks.map(task));
  script.add(
    statements.insertPayload,
    changes.payloads.map(({ instance: key, ref, body }) => row(whole(key), whole(ref), text(body))),
  );
  script.add(
    statements.insertOutbox,
    changes.outbox.map(({ source, target, number, body }) =>
      row(whole(source), whole(target), whole(number), text(body)),
    ),
  );
  offset(script, changes.offsets);
  script.add(statements.saveDomain, domainRows(changes.domains));
  script.add(
    statements.insertRequest,
    changes.requests.map(({ shard, key, at, refusal }) => row(whole(shard), text(key), whole(at), textOrNull(refusal))),
  );
  for (const { shard, before } of changes.requestsForgotten) {
    script.add(statements.forgetRequests, [sql`shard = ${whole(shard)} AND at < ${whole(before)}`]);
  }
  return script;
}

/** A new table with rows of an instance must be added here; the contract's purge suite looks for what is left. */
function purge(script: Script, instances: readonly number[]): void {
  const keys = instances.map(whole);
  script.add(statements.deleteInstance, keys);
  script.add(statements.deleteFinished, keys);
  script.add(statements.deleteHistory, keys);
  script.add(statements.deleteTasks, keys);
  script.add(statements.deletePayloads, keys);
}

function trim(script: Script, trims: readonly TrimRow[]): void {
  const bounds = trims.map(({ instance: key, turn, ref }) => sql`[${whole(key)},${whole(turn)},${whole(ref)}]`);
  script.add(statements.trimHistory, bounds);
  script.add(
    statements.deleteTasks,
    trims.map(({ instance: key }) => whole(key)),
  );
  script.add(statements.trimPayloads, bounds);
}

/** Messages are found and deleted in two statements, which belong together. */
function offset(script: Script, offsets: readonly OffsetRow[]): void {
  script.add(
    statements.saveOffset,
    offsets.map(({ shard, source, number }) => row(whole(shard), whole(source), whole(number))),
  );
  for (let from = 0; from < offsets.length; from += rowsPerStatementMax) {
    const passed = offsets
      .slice(from, from + rowsPerStatementMax)
      .map(
        ({ shard, source, number }) =>
          sql`(target = ${whole(shard)} AND source = ${whole(source)} AND number <= ${whole(number)})`,
      );
    script.add(statements.findOutbox, [joined(passed, sql` OR `)]);
    script.add(statements.deleteOutbox, [sql``]);
  }
}

function instance(one: InstanceRow): Literal {
  return row(
    whole(one.key),
    text(one.id),
    text(one.workflow),
    text(one.version),
    text(one.status),
    whole(one.generation),
    wholeOrNull(one.wake),
    flag(one.active),
    whole(one.waiting),
    whole(one.createdAt),
    whole(one.updatedAt),
    textOrNull(one.quarantined),
  );
}

function finished(one: FinishedRow): Literal {
  return row(
    whole(one.key),
    text(one.id),
    text(one.workflow),
    text(one.version),
    text(one.status),
    whole(one.generation),
    textOrNull(one.reason),
    whole(one.createdAt),
    whole(one.endedAt),
    whole(one.tasks),
    whole(one.tasksFailed),
  );
}

function task(one: TaskRow): Literal {
  return row(
    whole(one.instance),
    whole(one.task),
    whole(one.attempt),
    text(one.name),
    whole(one.type),
    text(one.status),
    textOrNull(one.worker),
    wholeOrNull(one.startedAt),
    wholeOrNull(one.endedAt),
    whole(one.retryCount),
    textOrNull(one.error),
  );
}

/**
 * What several members may write at once is written in one order by all, so that they do not wait for each other in a
 * circle. Versions of one workflow stay as they come: the last of them is the latest.
 */
export function definitionRows(definitions: readonly DefinitionRow[]): Literal[] {
  return inOrder(definitions, ({ name }) => name).map((one) =>
    row(text(one.name), text(one.version), text(one.spec), whole(one.createdAt)),
  );
}

export function domainRows(domains: readonly DomainRow[]): Literal[] {
  return inOrder(domains, ({ name }) => name).map((one) => row(text(one.name), whole(one.size), whole(one.priority)));
}

export function jobRows(jobs: readonly JobRow[]): Literal[] {
  return inOrder(jobs, ({ id }) => id).map((one) =>
    row(
      text(one.id),
      text(one.name),
      text(one.signature),
      text(one.parameters),
      textOrNull(one.codePath),
      text(one.sourceHash),
      whole(one.createdAt),
      whole(one.updatedAt),
      flag(one.missing),
    ),
  );
}

function inOrder<Row>(rows: readonly Row[], keyOf: (one: Row) => string): Row[] {
  if (rows.length < 2) return [...rows];
  return rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : Number(keyOf(a) > keyOf(b))));
}
