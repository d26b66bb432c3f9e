/** Each save a commit, in a repository of the workflow's own: spec §12.3. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { Git } from "../../src/catalogue/git.ts";
import { memoryStore } from "../../src/testing.ts";
import { dag, House } from "./rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { eventually } from "../support/until.ts";

function git(folder: string, ...args: string[]): string {
  return execFileSync("git", args, { cwd: folder, encoding: "utf8" }).trim();
}

async function openHouse(t: TestContext, options: { binary?: string } = {}): Promise<{ house: House; path: string }> {
  const path = temporaryFolder(t);
  const house = await House.open(t, { store: memoryStore(), folder: path, git: new Git(options) });
  return { house, path };
}

const time = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/.source;

describe("a folder with git", () => {
  test("has a commit for each save, by whoever made it", async (t) => {
    const { house, path } = await openHouse(t);
    const folder = join(path, "etl");
    const one = await house.catalogue.create({ name: "etl", spec: dag("one"), by: "ann" });
    assert.equal(one.warning, null);
    await house.catalogue.update("etl", { spec: dag("two"), by: "bob <b@x>\nevil" });
    await house.catalogue.update("etl", { spec: dag("two"), by: "eve" });
    await house.catalogue.setSchedule("etl", { cronExpr: "0 * * * *", enable: false }, "eve");
    await house.catalogue.rollBack("etl", one.version, "--author=x");
    writeFileSync(join(folder, "metadata.json"), "{}");
    writeFileSync(join(folder, "dag-spec.json"), JSON.stringify(dag("three")));
    await eventually(() => assert.equal(git(folder, "rev-list", "--count", "HEAD"), "4"));
    await house.catalogue.delete("etl", "cas");
    const said = git(folder, "log", "--reverse", "--format=%s|%an").split("\n");
    const expected = [
      String.raw`create workflow with 2 nodes by ann`,
      String.raw`change node second \(nodeParams\) by bob  b@x evil`,
      String.raw`roll back: change node second \(nodeParams\) by --author=x`,
      String.raw`change node second \(nodeParams\) by unknown`,
      String.raw`delete workflow by cas`,
    ];
    assert.equal(said.length, expected.length);
    for (const [place, part] of expected.entries()) {
      assert.match(said[place] ?? "", new RegExp(`^Update DAG spec - ${part} at ${time}\\|`));
    }
    assert.ok(said[0]?.endsWith("|ann"));
    assert.equal(git(folder, "status", "--porcelain"), "?? metadata.json");
    assert.deepEqual(JSON.parse(git(folder, "show", "HEAD~4:dag-spec.json")), dag("one"));
  });

  test("is not disturbed by hooks, by settings, or by a repository around it", async (t) => {
    const path = temporaryFolder(t);
    git(path, "init", "--quiet");
    const folder = join(path, "etl");
    mkdirSync(folder);
    git(folder, "init", "--quiet");
    const trace = join(path, "ran");
    for (const hook of ["pre-commit", "commit-msg", "post-commit"]) {
      writeFileSync(join(folder, ".git/hooks", hook), `#!/bin/sh\ntouch ${trace}\nexit 1\n`, { mode: 0o755 });
    }
    git(folder, "config", "commit.gpgSign", "true");
    const around = { GIT_DIR: join(path, ".git"), GIT_INDEX_FILE: join(path, "index"), GIT_AUTHOR_NAME: "around" };
    Object.assign(process.env, around);
    const forget = (): void => {
      for (const name of Object.keys(around)) delete process.env[name];
    };
    t.after(forget);
    const house = await House.open(t, { store: memoryStore(), folder: path, git: new Git() });
    const saved = await house.catalogue.create({ name: "etl", spec: dag("one") });
    forget();
    assert.equal(saved.warning, null);
    assert.equal(git(folder, "rev-list", "--count", "HEAD"), "1");
    assert.equal(git(folder, "log", "--format=%an"), "heddle");
    assert.ok(!existsSync(trace) && !existsSync(around.GIT_INDEX_FILE));
    assert.throws(() => execFileSync("git", ["rev-parse", "--verify", "HEAD"], { cwd: path, stdio: "ignore" }));
  });

  test("that is missing is a warning, and the save stands", async (t) => {
    const { house, path } = await openHouse(t, { binary: "no-such-git" });
    const saved = await house.catalogue.create({ name: "etl", spec: dag("one") });
    assert.match(saved.warning ?? "", /not committed to git.*no program "no-such-git"; install git/);
    assert.ok(house.lines.find("warn", /not committed/));
    assert.deepEqual(JSON.parse(readFileSync(join(path, "etl/dag-spec.json"), "utf8")), dag("one"));
    await house.checkInForce();
  });

  test("that refuses, or a repository that is elsewhere, is a warning; the next save brings all along", async (t) => {
    const { house, path } = await openHouse(t);
    await house.catalogue.create({ name: "etl", spec: dag("one") });
    const lock = join(path, "etl/.git/index.lock");
    writeFileSync(lock, "");
    const saved = await house.catalogue.update("etl", { spec: dag("two") });
    assert.match(saved.warning ?? "", /index\.lock/);
    execFileSync("rm", [lock]);
    assert.equal((await house.catalogue.update("etl", { spec: dag("three") })).warning, null);
    assert.equal(git(join(path, "etl"), "status", "--porcelain"), "");

    mkdirSync(join(path, "linked"));
    writeFileSync(join(path, "linked/.git"), `gitdir: ${path}/etl/.git\n`);
    const linked = await house.catalogue.create({ name: "linked", spec: dag("one") });
    assert.match(linked.warning ?? "", /not a folder/);
    assert.equal(git(join(path, "etl"), "rev-list", "--count", "HEAD"), "2");
  });
});
