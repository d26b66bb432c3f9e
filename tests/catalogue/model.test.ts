/** Random saves, roll-backs, deletions, crashes and restarts, against what a plain map would say. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { unreachable } from "../../src/base/assert.ts";
import type { Catalogue } from "../../src/catalogue/catalogue.ts";
import { hasCode, type Store, Workflow } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { memoryStore } from "../../src/testing.ts";
import { dag, House, Plug } from "./rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

interface Known {
  readonly params: string;
  readonly cron: string | null;
  readonly isScheduled: boolean;
  /** The contents that were ever saved, oldest first. */
  readonly saves: readonly string[];
}

type Model = ReadonlyMap<string, Known>;

type Step =
  | { readonly do: "create" | "update"; readonly name: string; readonly params: string }
  | { readonly do: "rollBack"; readonly name: string; readonly back: number }
  | { readonly do: "schedule"; readonly name: string; readonly cron: string; readonly enable: boolean }
  | { readonly do: "unschedule" | "delete"; readonly name: string };

interface Move {
  readonly step: Step;
  /** The process ends after so many changes, or not at all. */
  readonly crash: number | undefined;
  readonly restart: boolean;
}

const name = fc.constantFrom("a", "b");
const params = fc.constantFrom("one", "two", "three");
const cron = fc.constantFrom("0 * * * *", "30 * * * *");

const move: fc.Arbitrary<Move> = fc.record({
  step: fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("create" as const, "update" as const), name, params }) },
    fc.record({ do: fc.constant("rollBack" as const), name, back: fc.nat(3) }),
    { weight: 2, arbitrary: fc.record({ do: fc.constant("schedule" as const), name, cron, enable: fc.boolean() }) },
    fc.record({ do: fc.constantFrom("unschedule" as const, "delete" as const), name }),
  ),
  crash: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  restart: fc.boolean(),
});

function expected(model: Model, step: Step): Model {
  const there = model.get(step.name);
  if ((there === undefined) !== (step.do === "create")) return model;
  const next = new Map(model);
  const saved = (known: Known, content: string): Known =>
    known.params === content ? known : { ...known, params: content, saves: [...known.saves, content] };
  const empty: Known = { params: "", cron: null, isScheduled: false, saves: [] };
  const known = there ?? empty;
  switch (step.do) {
    case "create":
    case "update":
      return next.set(step.name, saved(known, step.params));
    case "rollBack":
      return next.set(step.name, saved(known, known.saves[step.back % known.saves.length] ?? ""));
    case "schedule":
      return next.set(step.name, { ...known, cron: step.cron, isScheduled: step.enable });
    case "unschedule":
      return next.set(step.name, { ...known, cron: null, isScheduled: false });
    case "delete":
      next.delete(step.name);
      return next;
    default:
      return unreachable(step, "a step");
  }
}

async function take(catalogue: Catalogue, step: Step): Promise<unknown> {
  switch (step.do) {
    case "create":
      return await catalogue.create({ name: step.name, spec: dag(step.params) });
    case "update":
      return await catalogue.update(step.name, { spec: dag(step.params) });
    case "rollBack": {
      const saves = (await catalogue.versions(step.name)).reverse();
      return await catalogue.rollBack(step.name, saves[step.back % saves.length]?.version ?? "");
    }
    case "schedule":
      return await catalogue.setSchedule(step.name, { cronExpr: step.cron, timeZone: "UTC", enable: step.enable });
    case "unschedule":
      return await catalogue.update(step.name, { cronExpr: null });
    case "delete":
      return await catalogue.delete(step.name);
    default:
      return unreachable(step, "a step");
  }
}

async function found(house: House): Promise<Model> {
  const entries = await house.checkInForce();
  const paramsOf = new Map<string, string>();
  const known = entries.map(async ({ name, spec, version, cronExpr, isScheduled, saves }) => {
    for (const each of ["one", "two", "three"]) paramsOf.set(versionOf(name, each), each);
    assert.equal(paramsOf.get(version), JSON.parse(spec.nodes[1]?.nodeParams ?? ""));
    const contents = saves.map((save) => paramsOf.get(save.version) ?? "?");
    return [name, { params: contents.at(-1) ?? "", cron: cronExpr, isScheduled, saves: contents }] as const;
  });
  return new Map(await Promise.all(known));
}

function versionOf(name: string, content: string): string {
  return Workflow.fromJSON(dag(content), { name }).version;
}

async function play(t: TestContext, store: Store, moves: readonly Move[]): Promise<void> {
  let model: Model = new Map();
  let plug = new Plug();
  let house = await House.open(t, { store, clock: plug.clock, wrap: plug.wrap });
  const reopen = async (): Promise<void> => {
    plug = new Plug();
    house = await House.open(t, { store, clock: plug.clock, wrap: plug.wrap });
  };
  for (const { step, crash, restart } of moves) {
    plug.pullAfter(crash ?? Infinity);
    const next = expected(model, step);
    const outcome = await plug.race(take(house.catalogue, step)).catch((error: unknown) => {
      assert.ok(next === model, `${JSON.stringify(step)} was refused: ${String(error)}`);
      assert.ok(hasCode(error, step.do === "create" ? "WORKFLOW_DUPLICATE" : "WORKFLOW_UNKNOWN"));
    });
    if (outcome === "pulled") await house.engine.stop();
    else if (restart) await house.stop();
    if (outcome === "pulled" || restart) await reopen();
    plug.pullAfter(Infinity);
    const now = await found(house);
    if (outcome === "pulled" && JSON.stringify([...now]) === JSON.stringify([...sorted(model)])) continue;
    assert.deepEqual(now, sorted(next), JSON.stringify(step));
    model = next;
  }
  await house.stop();
}

function sorted(model: Model): Model {
  return new Map([...model].sort(([a], [b]) => (a < b ? -1 : 1)));
}

test("in memory", async (t) => {
  const moves = fc.array(move, { minLength: 5, maxLength: 15 });
  await fc.assert(
    fc.asyncProperty(moves, (each) => play(t, memoryStore(), each)),
    { numRuns: 40 },
  );
});

test("on SQLite", async (t) => {
  const folder = temporaryFolder(t);
  let runs = 0;
  const moves = fc.array(move, { minLength: 5, maxLength: 15 });
  await fc.assert(
    fc.asyncProperty(moves, (each) => play(t, sqlite(join(folder, `${runs++}.db`)), each)),
    { numRuns: 8 },
  );
});
