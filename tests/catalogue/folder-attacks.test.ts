/** Whoever may write in the folder of definitions must not lead the server out of it, nor keep it waiting. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { FolderFiles } from "../../src/catalogue/folder-files.ts";
import { FileAccess } from "../../src/catalogue/file-access.ts";
import { Git } from "../../src/catalogue/git.ts";
import { memoryStore } from "../../src/testing.ts";
import { says } from "../engine/rig.ts";
import { dag, House } from "./rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { eventually } from "../support/until.ts";

const isRoot = process.getuid?.() === 0;
const isWindows = process.platform === "win32";

interface Site {
  readonly path: string;
  /** A folder that the server has no business in, with one file. */
  readonly outside: string;
  readonly t: TestContext;
}

/** What is put where the server expects a file or a folder of its own. */
const kinds: Record<string, { skip?: string | false; make: (site: Site) => Promise<void> | void }> = {
  "a link to a file": { make: ({ path, outside }) => symlinkSync(join(outside, "file"), path) },
  "a link to nothing": { make: ({ path, outside }) => symlinkSync(join(outside, "planted"), path) },
  "a link to a folder": { make: ({ path, outside }) => symlinkSync(outside, path) },
  "a pipe": { skip: isWindows && "no pipes", make: ({ path }) => void execFileSync("mkfifo", [path]) },
  "a socket": {
    skip: isWindows && "no sockets",
    make: async ({ path, t }) => {
      // The path of a socket is short, and closing its server deletes what is at that path: so it is moved.
      const server = createServer();
      const made = join(temporaryFolder(t), "s");
      await new Promise<void>((resolve) => server.listen(made, resolve));
      renameSync(made, path);
      t.after(() => server.close());
    },
  },
  "a device": {
    skip: !isRoot && "only root makes devices",
    make: ({ path }) => void execFileSync("mknod", [path, "c", "1", "5"]),
  },
  "a folder": { make: ({ path }) => mkdirSync(path) },
  "a file": { make: ({ path }) => writeFileSync(path, "not what it should be") },
};

/** Where the server opens or makes something for workflow `etl`, and what belongs there. */
const places: Record<string, "file" | "folder"> = {
  ".heddle": "folder",
  ".heddle/etl.json": "file",
  ".heddle/etl.json.tmp": "file",
  etl: "folder",
  "etl/dag-spec.json": "file",
  "etl/.dag-spec.json.tmp": "file",
  "etl/.git": "folder",
  "etl/.git/HEAD": "file",
  "etl/.git/config": "file",
  "etl/.git/packed-refs": "file",
  "etl/.git/index": "file",
  "etl/.git/index.lock": "file",
  "etl/.git/objects": "folder",
  "etl/.git/objects/pack": "folder",
  "etl/.git/objects/info": "folder",
  "etl/.git/objects/00": "folder",
  "etl/.git/refs": "folder",
  "etl/.git/refs/heads": "folder",
};

/** What is deleted or not looked at needs no warning: temporary files, packed branches that are not needed, stray files. */
function isHarmless(place: string, kind: string): boolean {
  return place.endsWith(".tmp") || place.endsWith("packed-refs") || (kind === "a file" && /objects\/\w+$/.test(place));
}

async function isCalm(house: House): Promise<void> {
  await house.catalogue.create({ name: "other", spec: dag("one") });
  await house.checkInForce();
}

describe("a folder of definitions that somebody else writes to", () => {
  for (const [place, wanted] of Object.entries(places)) {
    for (const [kind, { make, skip = false }] of Object.entries(kinds)) {
      if (kind === `a ${wanted}`) continue;
      test(`${kind} at ${place}`, { skip, timeout: 60_000 }, async (t) => {
        const folder = temporaryFolder(t);
        const outside = temporaryFolder(t);
        writeFileSync(join(outside, "file"), "secret");
        const store = memoryStore();
        const first = new House({ store, folder, ...(place.includes(".git") && { git: new Git() }) });
        await first.start();
        t.after(() => first.stop());
        await first.catalogue.create({ name: "etl", spec: dag("one") });
        const path = join(folder, place);
        rmSync(path, { recursive: true, force: true });
        await make({ path, outside, t });

        const saved = await first.catalogue.update("etl", { spec: dag("two") });
        if (!isHarmless(place, kind)) {
          assert.match(saved.warning ?? "none", new RegExp(`${place.split("/").at(-1)}`));
          assert.ok(first.lines.find("warn", /./) ?? first.lines.find("error", /./));
        }
        await isCalm(first);
        await first.stop();
        if (!place.includes(".git")) {
          const second = new House({ store, folder });
          await second.start();
          t.after(() => second.stop());
          await second.catalogue.update("etl", { spec: dag("three") });
          await second.checkInForce();
          await second.stop();
        }
        assert.deepEqual(readdirSync(outside), ["file"]);
        assert.equal(readFileSync(join(outside, "file"), "utf8"), "secret");
      });
    }
  }

  test("links at all folders of objects: no commit, and nothing is written elsewhere", async (t) => {
    const folder = temporaryFolder(t);
    const outside = temporaryFolder(t);
    const house = await House.open(t, { store: memoryStore(), folder, git: new Git() });
    await house.catalogue.create({ name: "etl", spec: dag("one") });
    for (let byte = 0; byte < 256; byte++) {
      const name = byte.toString(16).padStart(2, "0");
      const path = join(folder, "etl/.git/objects", name);
      if (existsSync(path)) continue;
      mkdirSync(join(outside, name));
      symlinkSync(join(outside, name), path);
    }
    const saved = await house.catalogue.update("etl", { spec: dag("two") });
    assert.match(saved.warning ?? "", /not committed to git.*is not a file but a link/);
    assert.ok(readdirSync(outside).every((name) => readdirSync(join(outside, name)).length === 0));
  });

  test("a link in place of the whole folder is followed: its owner has put it there", async (t) => {
    const real = temporaryFolder(t);
    const link = join(temporaryFolder(t), "definitions");
    symlinkSync(real, link);
    const house = await House.open(t, { store: memoryStore(), folder: link, git: new Git() });
    assert.equal((await house.catalogue.create({ name: "etl", spec: dag("one") })).warning, null);
    assert.ok(existsSync(join(real, "etl/dag-spec.json")));
  });
});

describe("a file system that does not answer", () => {
  /** Does not end before it is told to. */
  const hang = (): { promise: Promise<void>; end: () => void } => {
    const { promise, resolve } = Promise.withResolvers<void>();
    return { promise, end: resolve };
  };

  test("is given up after the limit, and refused at once until it answers", async () => {
    const access = new FileAccess("/mnt/x", { limitMs: 20 });
    const hung = hang();
    const queued = [access.run("read a", () => hung.promise), access.run("read b", () => Promise.resolve("b"))];
    await assert.rejects(queued[0] as Promise<unknown>, says("FOLDER_UNRESPONSIVE", "within 0.02 s (read a)"));
    await assert.rejects(queued[1] as Promise<unknown>, says("FOLDER_UNRESPONSIVE", "earlier call (read a)"));
    assert.equal(access.isOverdue, true);
    hung.end();
    await hung.promise;
    assert.equal(await access.run("read c", () => Promise.resolve("c")), "c");
    await assert.rejects(
      access.run("read d", () => Promise.reject(new Error("no"))),
      /no/,
    );
    assert.equal(access.isOverdue, false);
  });

  test("holds up neither saves nor the stop, and its files follow when it answers", async (t) => {
    const folder = temporaryFolder(t);
    const house = await House.open(t, { store: memoryStore(), folder, pace: 50 });
    await house.catalogue.create({ name: "etl", spec: dag("one") });
    const hung = hang();
    const access = (house.folder as NonNullable<typeof house.folder>).files.access;
    await assert.rejects(
      access.run("read x", () => hung.promise, 20),
      says("FOLDER_UNRESPONSIVE"),
    );
    const saved = await house.catalogue.update("etl", { spec: dag("two") });
    assert.match(saved.warning ?? "", /is not up to date: the file system of .* is still busy/);
    assert.equal((await house.catalogue.get("etl")).version, saved.version);
    hung.end();
    await eventually(() => {
      assert.deepEqual(JSON.parse(readFileSync(join(folder, "etl/dag-spec.json"), "utf8")), dag("two"));
    });
    const again = hang();
    await assert.rejects(
      access.run("read x", () => again.promise, 20),
      says("FOLDER_UNRESPONSIVE"),
    );
    await house.stop();
    again.end();
  });

  test("that writes late does not undo what was saved meanwhile", async (t) => {
    const folder = temporaryFolder(t);
    const house = await House.open(t, { store: memoryStore(), folder, folderLimitMs: 200 });
    await house.catalogue.create({ name: "etl", spec: dag("one") });
    const { files } = house.folder as NonNullable<typeof house.folder>;
    const hung = hang();
    const replace = files.replace.bind(files);
    // As if the disk had stood still between the check and the rename.
    t.mock.method(files, "replace", (...given: Parameters<typeof replace>) =>
      files.access.run("write", async () => {
        await hung.promise;
        writeFileSync(join(folder, given[0]), given[1]);
      }),
    );
    assert.match((await house.catalogue.update("etl", { spec: dag("two") })).warning ?? "", /did not answer within/);
    await house.catalogue.update("etl", { spec: dag("three") });
    t.mock.restoreAll();
    hung.end();
    await eventually(() => {
      assert.deepEqual(JSON.parse(readFileSync(join(folder, "etl/dag-spec.json"), "utf8")), dag("two"));
    });
    await house.catalogue.setSchedule("etl", { enable: false });
    await eventually(() => {
      assert.deepEqual(JSON.parse(readFileSync(join(folder, "etl/dag-spec.json"), "utf8")), dag("three"));
    });
    assert.deepEqual((await house.catalogue.get("etl")).spec, dag("three"));
  });
});

test("files of a folder are looked at, not opened, where they are no files", async (t) => {
  const folder = temporaryFolder(t);
  const files = new FolderFiles(folder);
  symlinkSync("/etc", join(folder, "out"));
  await assert.rejects(files.read("out/passwd"), says("WORKFLOW_INVALID", "is not a folder but a link"));
  await assert.rejects(files.replace("out/x", "", "t"), says("WORKFLOW_INVALID", "is not a folder but a link"));
  await assert.rejects(files.makeFolder("out/x"), says("WORKFLOW_INVALID", "is not a folder but a link"));
  await assert.rejects(files.remove("out/x"), says("WORKFLOW_INVALID", "is not a folder but a link"));
  await assert.rejects(files.list("out"), says("WORKFLOW_INVALID", "is not a folder but a link"));
  await assert.rejects(files.create("out/x", ""), says("WORKFLOW_INVALID", "is not a folder but a link"));
  assert.equal(await files.read("nothing/at/all"), undefined);
});
