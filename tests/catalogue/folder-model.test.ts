/** Random saves, edits by hand, deletions, crashes and restarts: file and catalogue are alike, and no edit is lost. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import type { Catalogue } from "../../src/catalogue/catalogue.ts";
import { type DagSpec, hasCode } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { dag, House, Plug } from "./rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { eventually } from "../support/until.ts";

interface Move {
  readonly do: "save" | "delete" | "edit" | "edit while down" | "restart";
  readonly name: string;
  readonly params: string;
  /** The process ends after so many changes, or not at all. */
  readonly crash: number | undefined;
}

const move: fc.Arbitrary<Move> = fc.record({
  do: fc.constantFrom("save", "save", "delete", "edit", "edit while down", "restart"),
  name: fc.constantFrom("a", "b"),
  params: fc.constantFrom("one", "two", "three"),
  crash: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
});

/** What each workflow was last told to be. */
type Model = ReadonlyMap<string, string>;

class Player {
  readonly #t: TestContext;
  readonly #path: string;
  readonly #definitions: string;
  #plug = new Plug();
  #house: House | undefined;

  constructor(t: TestContext) {
    this.#t = t;
    this.#path = temporaryFolder(t);
    this.#definitions = join(this.#path, "definitions");
  }

  async play(moves: readonly Move[]): Promise<void> {
    let model: Model = new Map();
    await this.#open();
    for (const each of moves) {
      const next = expected(model, each);
      const isCut = await this.#take(each);
      if (isCut) await this.#house?.engine.stop();
      if (isCut) await this.#open();
      model = await this.#settled(isCut ? [model, next] : [next], each);
    }
    await this.#house?.stop();
  }

  async #open(): Promise<void> {
    this.#plug = new Plug();
    const { clock, wrap } = this.#plug;
    const store = sqlite(join(this.#path, "heddle.db"));
    this.#house = await House.open(this.#t, { store, clock, wrap, pace: 10, folder: this.#definitions });
  }

  async #take({ do: what, name, params, crash }: Move): Promise<boolean> {
    const house = this.#house as House;
    if (what === "edit") this.#edit(name, params);
    if (what === "edit while down" || what === "restart") {
      await house.stop();
      if (what !== "restart") this.#edit(name, params);
      await this.#open();
    }
    if (what !== "save" && what !== "delete") return false;
    this.#plug.pullAfter(crash ?? Infinity);
    const change = what === "save" ? save(house.catalogue, name, dag(params)) : house.catalogue.delete(name);
    const outcome = await this.#plug.race(change).catch((error: unknown) => {
      assert.ok(hasCode(error, "WORKFLOW_UNKNOWN"), String(error));
    });
    if (outcome !== "pulled") this.#plug.pullAfter(Infinity);
    return outcome === "pulled";
  }

  #edit(name: string, params: string): void {
    mkdirSync(join(this.#definitions, name), { recursive: true });
    writeFileSync(join(this.#definitions, name, "dag-spec.json"), JSON.stringify(dag(params)));
  }

  /** The one of them that it has come to be. */
  async #settled(possible: readonly Model[], after: Move): Promise<Model> {
    const house = this.#house as House;
    let found: Model | undefined;
    await eventually(async () => {
      const { items } = await house.catalogue.list({ limit: 10 });
      const stored = items.map(({ name, spec }) => [name, paramsOf(spec)] as const);
      assert.deepEqual(this.#files(), stored, `file and catalogue differ after ${JSON.stringify(after)}`);
      found = possible.find((model) => isDeepStrictEqual(new Map(stored), model));
      assert.ok(found !== undefined, `after ${JSON.stringify(after)} there is ${JSON.stringify(stored)}`);
    });
    return found ?? new Map();
  }

  #files(): (readonly [string, string])[] {
    const names = readdirSync(this.#definitions).filter((name) => !name.startsWith("."));
    return names.sort().flatMap((name) => {
      const folder = join(this.#definitions, name);
      if (!readdirSync(folder).includes("dag-spec.json")) return [];
      return [[name, paramsOf(JSON.parse(readFileSync(join(folder, "dag-spec.json"), "utf8")) as DagSpec)] as const];
    });
  }
}

function expected(model: Model, { do: what, name, params }: Move): Model {
  const next = new Map(model);
  if (what === "delete") next.delete(name);
  else if (what !== "restart") next.set(name, params);
  return next;
}

async function save(catalogue: Catalogue, name: string, spec: DagSpec): Promise<unknown> {
  try {
    return await catalogue.update(name, { spec });
  } catch (error) {
    if (!hasCode(error, "WORKFLOW_UNKNOWN")) throw error;
  }
  return await catalogue.create({ name, spec });
}

function paramsOf(spec: DagSpec): string {
  return JSON.parse(spec.nodes[1]?.nodeParams ?? "null") as string;
}

test("a folder and its catalogue", async (t) => {
  const moves = fc.array(move, { minLength: 5, maxLength: 15 });
  await fc.assert(
    fc.asyncProperty(moves, (each) => new Player(t).play(each)),
    { numRuns: 10 },
  );
});
