import { letterBoxOf } from "../../src/stores/letter-box.ts";
import type { ClientCall, InstanceRemains, JobRun, LogLine } from "../sim/evidence.ts";
import type { Audited } from "./audit.ts";
import type { CommitCall, Testimony } from "./testimony.ts";

/** A wrong that the checkers must see. */
export interface Planted {
  readonly name: string;
  /** Who must say so. */
  readonly checker: string;
  readonly doctored: Testimony;
}

/** What everybody said after a good run, each time with one thing wrong. */
export function planted(testimony: Testimony): Planted[] {
  return [...amongCommits(testimony), ...amongRuns(testimony), ...amongInstances(testimony), ...elsewhere(testimony)];
}

/** What the database took, and what members were told of it. */
function amongCommits(testimony: Testimony): Planted[] {
  const { audit, commitCalls } = testimony;
  const sent = first(commitCalls, ({ code, answeredAt, batch }) => {
    return code === undefined && answeredAt !== undefined && batch.changes.history.length > 0;
  });
  const [fence] = sent.batch.fences;
  const row = first(audit, (each) => each.what === "commit" && isOf(each, fence));
  const lastId = audit.at(-1)?.id ?? 0;
  return [
    {
      name: "a commit that was answered and never taken",
      checker: "database",
      doctored: { ...testimony, audit: audit.filter((each) => each !== row) },
    },
    {
      name: "a commit that nobody sent",
      checker: "database",
      doctored: { ...testimony, audit: [...audit, { ...row, id: lastId + 1, batch: 1_000_000 } as Audited] },
    },
    {
      name: "a commit of an owner that was overtaken",
      checker: "fencing",
      doctored: { ...testimony, audit: [...audit.filter((each) => each !== row), { ...row, id: lastId + 1 }] },
    },
    {
      name: "a claim of what a living member has",
      checker: "fencing",
      doctored: { ...testimony, audit: audit.filter(({ what }) => what !== "gone") },
    },
    {
      name: "a history that is not what was committed",
      checker: "histories",
      doctored: { ...testimony, commitCalls: commitCalls.map((each) => (each === sent ? emptied(sent) : each)) },
    },
  ];
}

function isOf(row: Audited, fence: CommitCall["batch"]["fences"][number] | undefined): boolean {
  return "epoch" in row && row.shard === fence?.shard && row.epoch === fence.epoch && row.batch === fence.number;
}

function emptied(call: CommitCall): CommitCall {
  return { ...call, batch: { ...call.batch, changes: { ...call.batch.changes, history: [] } } };
}

/** What jobs did. */
function amongRuns(testimony: Testimony): Planted[] {
  const { runs, lives } = testimony;
  const done = first(runs, ({ end, life }) => end?.how === "done" && lives[life - 1]?.end?.how === "stopped");
  const retry = first(runs, ({ name, params }) => name.attempt === 2 && Number(params["retryMs"]) > 100);
  const hourMs = 3_600_000;
  const withRun = (run: JobRun): Testimony => {
    return { ...testimony, runs: [...runs, run].sort((a, b) => a.start.at - b.start.at) };
  };
  const startedAt = (run: JobRun, at: number): JobRun => ({ ...run, start: { at, order: at } });
  const crowd = Array.from({ length: 20 }, (_, i) => {
    return { ...done, params: { ...done.params, domain: "red" }, attemptId: `${done.attemptId}${i}` };
  });
  return [
    {
      name: "a task that ran again after its success",
      checker: "causality",
      doctored: withRun(startedAt(done, done.start.at + hourMs)),
    },
    {
      name: "a task that ran before its cause was durable",
      checker: "causality",
      doctored: withRun(startedAt(done, done.start.at - hourMs)),
    },
    {
      name: "a success that never happened",
      checker: "causality",
      doctored: { ...testimony, runs: runs.filter(({ attemptId }) => attemptId !== done.attemptId) },
    },
    {
      name: "an attempt that ran on two members at once",
      checker: "holders",
      doctored: withRun({ ...startedAt(done, done.start.at + 0.01), life: done.life === 1 ? 2 : 1 }),
    },
    {
      name: "a retry that came early",
      checker: "timing",
      doctored: {
        ...testimony,
        runs: runs.map((run) => (run === retry ? startedAt(run, earliestOf(run, runs)) : run)),
      },
    },
    {
      name: "more in a domain than it has slots",
      checker: "limits",
      doctored: { ...testimony, runs: [...runs, ...crowd].sort((a, b) => a.start.at - b.start.at) },
    },
    {
      name: "a member that runs jobs without a lease",
      checker: "leases",
      doctored: { ...testimony, lives: lives.map((life) => ({ ...life, renewals: life.renewals.slice(0, 1) })) },
    },
  ];
}

/** Right after the attempt before it. */
function earliestOf({ name }: JobRun, runs: readonly JobRun[]): number {
  const before = runs.findLast((run) => {
    const { instanceId, generation, task, attempt } = run.name;
    return (
      instanceId === name.instanceId &&
      generation === name.generation &&
      task === name.task &&
      attempt === name.attempt - 1 &&
      run.end !== undefined
    );
  });
  return (before?.end?.at ?? 0) + 0.01;
}

/** What the store holds in the end. */
function amongInstances(testimony: Testimony): Planted[] {
  const { remains, calls } = testimony;
  const submitted = new Set(calls.filter(isAccepted).map(({ instanceId }) => instanceId));
  const purged = new Set(calls.filter(({ operation }) => operation === "purge").map(({ instanceId }) => instanceId));
  const good = first(remains.instances, ({ id, status, turns }) => {
    return status === "Success" && submitted.has(id) && !purged.has(id) && turns.length > 2;
  });
  const child = first(remains.instances, ({ id }) => id.includes("/"));
  const withInstances = (instances: readonly InstanceRemains[]): Testimony => {
    return { ...testimony, remains: { ...remains, instances } };
  };
  const change = (to: Partial<InstanceRemains>): Testimony =>
    withInstances(remains.instances.map((each) => (each === good ? { ...good, ...to } : each)));
  const without = (id: string): Testimony => withInstances(remains.instances.filter((each) => each.id !== id));
  const mail = { id: 1, box: letterBoxOf("somebody"), body: "{}" };
  return [
    { name: "an instance that was accepted and is lost", checker: "liveness", doctored: without(good.id) },
    { name: "an instance that has not ended", checker: "liveness", doctored: change({ status: "Running" }) },
    { name: "an instance that was parked", checker: "liveness", doctored: change({ parked: "by mistake" }) },
    { name: "a wrong end", checker: "outcomes", doctored: change({ status: "Failed" }) },
    { name: "a gap in a history", checker: "histories", doctored: change({ turns: good.turns.toSpliced(1, 1) }) },
    { name: "a child that is lost", checker: "families", doctored: without(child.id) },
    {
      name: "mail that nobody fetched",
      checker: "leftovers",
      doctored: { ...testimony, remains: { ...remains, leftovers: [mail] } },
    },
    { name: "a member that stayed", checker: "members", doctored: { ...testimony, stayed: ["somebody"] } },
  ];
}

/** What clients were told, and what engines said. */
function elsewhere(testimony: Testimony): Planted[] {
  const { calls, logLines } = testimony;
  const accepted = first(calls, isAccepted);
  const list = calls.findLast(({ operation, outcome }) => operation === "list" && outcome === "ok");
  const withCall = (call: ClientCall, to: Partial<ClientCall>): Testimony => {
    return { ...testimony, calls: calls.map((each) => (each === call ? { ...call, ...to } : each)) };
  };
  const early = { at: accepted.invoked.at - 1000, order: accepted.invoked.order - 1000 };
  const alarm: LogLine = { at: 0, order: 0, life: 1, level: "error", fields: {}, message: "internal error" };
  return [
    {
      name: "an answer before its cause was durable",
      checker: "requests",
      doctored: withCall(accepted, { answered: early }),
    },
    {
      name: "a list without what had been accepted",
      checker: "reads",
      doctored: list === undefined ? testimony : withCall(list, { value: [] }),
    },
    { name: "a call that nobody answered", checker: "liveness", doctored: withCall(accepted, { outcome: "pending" }) },
    {
      name: "an engine that found a bug in itself",
      checker: "health",
      doctored: { ...testimony, logLines: [...logLines, alarm] },
    },
  ];
}

function isAccepted({ operation, outcome }: ClientCall): boolean {
  return operation === "submit" && outcome === "ok";
}

function first<T>(list: readonly T[], isIt: (each: T) => boolean): T {
  const found = list.find(isIt);
  if (found === undefined) throw new Error("the run has nothing that could be made wrong in this way");
  return found;
}
