/** The files of a program without a server: random calls beside a model, and what is refused. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { DagSpecBuilder, WorkflowFileManager } from "../../src/dag.ts";
import { type DagSpec, type ErrorCode, hasCode, Workflow } from "../../src/index.ts";
import { memoryStore } from "../../src/testing.ts";
import { dag, House } from "./rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { eventually } from "../support/until.ts";

function open(t: TestContext): { files: WorkflowFileManager; path: string } {
  const path = join(temporaryFolder(t), "definitions");
  return { files: new WorkflowFileManager(path), path };
}

function git(folder: string, ...args: string[]): string {
  return execFileSync("git", args, { cwd: folder, encoding: "utf8" }).trim();
}

const refused =
  (code: ErrorCode, says = /./) =>
  (error: unknown): boolean => {
    assert.ok(hasCode(error, code), String(error));
    assert.match(error.message, says);
    return true;
  };

type Move =
  | { readonly do: "save" | "edit"; readonly name: string; readonly params: string }
  | { readonly do: "load" | "delete" | "commit" | "reopen" | "break"; readonly name: string };

const name = fc.constantFrom("etl", "nightly report", "größe", "a.b-c_d");
const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ do: fc.constantFrom("save", "edit"), name, params: fc.string() }),
  fc.record({ do: fc.constantFrom("load", "delete", "commit", "reopen", "break"), name }),
);

/** What a file holds: a definition, or text that is none. */
interface Model {
  readonly contents: Map<string, DagSpec | "broken">;
  /** By workflow: the contents of its commits; undefined for a deletion. */
  readonly commits: Map<string, (DagSpec | undefined)[]>;
}

class Player {
  readonly #path: string;
  readonly #model: Model = { contents: new Map(), commits: new Map() };
  #files: WorkflowFileManager;

  constructor(path: string) {
    this.#path = path;
    this.#files = new WorkflowFileManager(path);
  }

  async play(moves: readonly Move[]): Promise<void> {
    for (const each of moves) await this.#take(each);
    const { contents, commits } = this.#model;
    assert.deepEqual(await this.#files.listWorkflows(), [...contents.keys()].sort());
    for (const [workflow, made] of commits) {
      const folder = this.#files.getWorkflowDir(workflow);
      assert.equal(git(folder, "rev-list", "--count", "HEAD"), String(made.length));
      const last = made.at(-1);
      const listed = git(folder, "ls-tree", "--name-only", "HEAD");
      assert.equal(listed, last === undefined ? "" : "dag-spec.json");
      if (last !== undefined) assert.deepEqual(JSON.parse(git(folder, "show", "HEAD:dag-spec.json")), last);
    }
  }

  async #take(move: Move): Promise<void> {
    const { contents } = this.#model;
    const content = contents.get(move.name);
    assert.equal(await this.#files.exists(move.name), content !== undefined);
    if (move.do === "reopen") this.#files = new WorkflowFileManager(this.#path);
    else if (move.do === "save") {
      await this.#files.saveDagSpec(move.name, dag(move.params));
      contents.set(move.name, { ...dag(move.params), name: move.name });
    } else if (move.do === "edit" || move.do === "break") {
      const text = move.do === "edit" ? JSON.stringify({ ...dag(move.params), name: "another" }) : '{ "nodes": [ }';
      mkdirSync(join(this.#path, move.name), { recursive: true });
      writeFileSync(join(this.#path, move.name, "dag-spec.json"), text);
      contents.set(move.name, move.do === "edit" ? { ...dag(move.params), name: "another" } : "broken");
    } else if (move.do === "load") await this.#load(move.name, content);
    else if (move.do === "delete") await this.#delete(move.name, content);
    else await this.#commit(move.name, content);
  }

  async #load(workflow: string, content: DagSpec | "broken" | undefined): Promise<void> {
    const loading = this.#files.loadDagSpec(workflow);
    if (content === undefined) return assert.rejects(loading, refused("WORKFLOW_UNKNOWN"));
    if (content === "broken") return assert.rejects(loading, refused("WORKFLOW_INVALID", /dag-spec\.json:1:14 {2}/));
    assert.deepEqual(await loading, { ...content, name: workflow });
  }

  async #delete(workflow: string, content: DagSpec | "broken" | undefined): Promise<void> {
    const deleting = this.#files.deleteDagSpec(workflow);
    if (content === undefined) return assert.rejects(deleting, refused("WORKFLOW_UNKNOWN"));
    await deleting;
    this.#model.contents.delete(workflow);
  }

  async #commit(workflow: string, content: DagSpec | "broken" | undefined): Promise<void> {
    const { commits } = this.#model;
    const committing = this.#files.commitDagSpec(workflow, { by: "ann" });
    if (content === "broken") return assert.rejects(committing, refused("WORKFLOW_INVALID"));
    const made = commits.get(workflow);
    if (content === undefined && made === undefined) return assert.rejects(committing, refused("WORKFLOW_UNKNOWN"));
    await committing;
    // What is written anew as it was, is the same text only if it was saved in the same way: ask git.
    const count = Number(git(this.#files.getWorkflowDir(workflow), "rev-list", "--count", "HEAD"));
    const before = made?.length ?? 0;
    if (JSON.stringify(made?.at(-1)) !== JSON.stringify(content)) assert.equal(count, before + 1);
    commits.set(workflow, count === before ? (made ?? []) : [...(made ?? []), content]);
  }
}

describe("WorkflowFileManager", () => {
  test("does what a map of definitions with a list of commits would do", { timeout: 240_000 }, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(move, { maxLength: 15 }), async (moves) => {
        await new Player(join(temporaryFolder(t), "definitions")).play(moves);
      }),
      { numRuns: 25 },
    );
  });

  test("brings back every definition that it saves", async (t) => {
    const { files } = open(t);
    const spec = new DagSpecBuilder("elsewhere")
      .addNode({ nodeId: 7, nodeName: "dump", jobName: "work", nodeParams: '{"a":"ü\u2028"}' })
      .addNode({ nodeId: 9, nodeName: "join", jobName: "work", skipWhenFailed: true })
      .addEdge(7, 9);
    await files.saveDagSpec("etl", spec);
    assert.deepEqual(await files.loadDagSpec("etl"), { ...spec.toJSON(), name: "etl" });
    const workflow = Workflow.fromJSON(await files.loadDagSpec("etl"));
    assert.equal(workflow.name, "etl");
    await files.saveDagSpec("copy", workflow);
    assert.deepEqual(await files.loadDagSpec("copy"), { ...workflow.toJSON(), name: "copy" });
  });

  test("makes its folder with the first save, and touches nothing beside its file", async (t) => {
    const { files, path } = open(t);
    assert.deepEqual(await files.listWorkflows(), []);
    assert.equal(await files.exists("etl"), false);
    assert.equal(existsSync(path), false);
    await files.saveDagSpec("etl", dag("one"));
    assert.equal(files.getWorkflowDir("etl"), join(path, "etl"));
    const text = readFileSync(join(path, "etl/dag-spec.json"), "utf8");
    assert.equal(text, `${JSON.stringify({ name: "etl", ...dag("one") }, undefined, 2)}\n`);
    writeFileSync(join(path, "etl/metadata.json"), "{}");
    mkdirSync(join(path, "not a workflow"));
    await files.deleteDagSpec("etl");
    assert.deepEqual(readdirSync(join(path, "etl")), ["metadata.json"]);
    assert.deepEqual(await files.listWorkflows(), []);
  });

  test("takes calls that are made together in their order", async (t) => {
    const { files, path } = open(t);
    const params = Array.from({ length: 20 }, (_, number) => `save ${number}`);
    await Promise.all([
      ...params.map((each) => files.saveDagSpec("etl", dag(each))),
      files.commitDagSpec("etl"),
      files.deleteDagSpec("etl"),
      files.commitDagSpec("etl"),
    ]);
    assert.equal(await files.exists("etl"), false);
    assert.equal(git(join(path, "etl"), "rev-list", "--count", "HEAD"), "2");
    assert.deepEqual(JSON.parse(git(join(path, "etl"), "show", "HEAD~1:dag-spec.json")), {
      name: "etl",
      ...dag("save 19"),
    });
  });

  test("says in each commit what changed, and who did it", async (t) => {
    const { files, path } = open(t);
    await files.saveDagSpec("etl", dag("one"));
    await files.commitDagSpec("etl", { by: "ann" });
    await files.saveDagSpec("etl", dag("two"));
    await files.commitDagSpec("etl");
    await files.commitDagSpec("etl", { by: "eve" });
    await files.deleteDagSpec("etl");
    await files.commitDagSpec("etl", { by: "cas" });
    const said = git(join(path, "etl"), "log", "--reverse", "--format=%s").split("\n");
    assert.deepEqual(
      said.map((line) => line.replace(/ at .*/, "")),
      [
        "Update DAG spec - create workflow with 2 nodes by ann",
        "Update DAG spec - change node second (nodeParams) by unknown",
        "Update DAG spec - delete workflow by cas",
      ],
    );
    const folder = join(path, "etl");
    assert.equal(git(folder, "log", "--format=%an", "-1"), "cas");
    assert.equal(git(folder, "status", "--porcelain"), "");
  });

  test("says so if git does not commit, and the file stays", async (t) => {
    const { files, path } = open(t);
    await files.saveDagSpec("etl", dag("one"));
    writeFileSync(join(path, "etl/.git"), "gitdir: /elsewhere\n");
    await assert.rejects(
      files.commitDagSpec("etl"),
      refused("GIT_FAILED", /workflow "etl" was not committed: .*\.git/),
    );
    assert.deepEqual(await files.loadDagSpec("etl"), { name: "etl", ...dag("one") });
  });

  test("refuses names that are no folder's, definitions that cannot run, and unknown options", async (t) => {
    const { files, path } = open(t);
    for (const wrong of ["", " ", "../etl", "a/b", ".git", "con", "x\0", 7, undefined] as string[]) {
      assert.throws(() => files.getWorkflowDir(wrong), refused("WORKFLOW_INVALID"));
      await assert.rejects(files.exists(wrong), refused("WORKFLOW_INVALID"));
      await assert.rejects(files.saveDagSpec(wrong, dag("one")), refused("WORKFLOW_INVALID"));
      await assert.rejects(files.loadDagSpec(wrong), refused("WORKFLOW_INVALID"));
      await assert.rejects(files.deleteDagSpec(wrong), refused("WORKFLOW_INVALID"));
      await assert.rejects(files.commitDagSpec(wrong), refused("WORKFLOW_INVALID"));
    }
    const circle = { ...dag("one"), edges: [...(dag("one").edges ?? []), { from: 2, to: 1 }] };
    await assert.rejects(files.saveDagSpec("etl", circle), refused("WORKFLOW_CYCLE"));
    await assert.rejects(files.saveDagSpec("etl", undefined as never), refused("WORKFLOW_INVALID"));
    await assert.rejects(files.saveDagSpec("etl", { nodes: [] }), refused("WORKFLOW_EMPTY"));
    assert.equal(existsSync(path), false);
    await assert.rejects(files.commitDagSpec("etl", { By: "x" } as never), refused("OPTION_INVALID", /"by"/));
    for (const wrong of ["", 7, undefined] as string[]) {
      assert.throws(() => new WorkflowFileManager(wrong), refused("OPTION_INVALID", /path/));
    }
  });

  test("refuses links in its folder", async (t) => {
    const { files, path } = open(t);
    const outside = temporaryFolder(t);
    writeFileSync(join(outside, "dag-spec.json"), JSON.stringify(dag("secret")));
    mkdirSync(join(path, "file"), { recursive: true });
    symlinkSync(outside, join(path, "folder"));
    symlinkSync(join(outside, "dag-spec.json"), join(path, "file/dag-spec.json"));
    for (const workflow of ["folder", "file"]) {
      await assert.rejects(files.loadDagSpec(workflow), refused("WORKFLOW_INVALID", /not a (file|folder) but a link/));
      await assert.rejects(
        files.commitDagSpec(workflow),
        refused("WORKFLOW_INVALID", /not a (file|folder) but a link/),
      );
    }
    await assert.rejects(
      files.saveDagSpec("folder", dag("one")),
      refused("WORKFLOW_INVALID", /not a (file|folder) but a link/),
    );
    await assert.rejects(files.deleteDagSpec("folder"), refused("WORKFLOW_INVALID", /not a (file|folder) but a link/));
    assert.deepEqual(JSON.parse(readFileSync(join(outside, "dag-spec.json"), "utf8")), dag("secret"));
  });

  test("leaves the old file as it is if the new one cannot be written", async (t) => {
    const { files, path } = open(t);
    await files.saveDagSpec("etl", dag("one"));
    mkdirSync(join(path, "etl/.dag-spec.json.tmp"));
    await assert.rejects(files.saveDagSpec("etl", dag("two")), { code: "ERR_FS_EISDIR" });
    assert.deepEqual(await files.loadDagSpec("etl"), { name: "etl", ...dag("one") });
  });

  test("writes what a server with that folder takes as an edit", async (t) => {
    const { files, path } = open(t);
    const house = await House.open(t, { store: memoryStore(), folder: path });
    await files.saveDagSpec("etl", dag("one"));
    await eventually(async () =>
      assert.deepEqual((await house.catalogue.get("etl")).spec, { name: "etl", ...dag("one") }),
    );
    await house.catalogue.update("etl", { spec: dag("two") });
    assert.deepEqual(await files.loadDagSpec("etl"), { name: "etl", ...dag("two") });
  });
});
