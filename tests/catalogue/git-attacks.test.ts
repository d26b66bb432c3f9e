/** Whoever may write in a workflow's folder must not be able to run programs as the server, or to write elsewhere. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  appendFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { FolderFiles } from "../../src/catalogue/folder-files.ts";
import { Git } from "../../src/catalogue/git.ts";
import { dag } from "./rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const save = { operation: "Update", by: "ann", at: 0 };

function git(folder: string, ...args: string[]): string {
  return execFileSync("git", ["-c", "safe.directory=*", ...args], { cwd: folder, encoding: "utf8" }).trim();
}

interface Trap {
  /** The folder of the workflow, which is a repository with one commit. */
  readonly folder: string;
  /** A command that leaves a file behind. */
  readonly command: (name: string) => string;
  /** The path of a program that does. */
  readonly program: (name: string) => string;
  readonly config: (text: string) => void;
  readonly attributes: (text: string) => void;
}

const hooks = [
  "pre-commit",
  "post-commit",
  "commit-msg",
  "prepare-commit-msg",
  "post-index-change",
  "reference-transaction",
  "pre-auto-gc",
  "post-checkout",
];

/** Each makes plain git, or an earlier way of committing, run a program. */
const traps: Record<string, (trap: Trap) => void> = {
  hooks: ({ folder, program }) => {
    mkdirSync(join(folder, ".git/hooks"), { recursive: true });
    for (const hook of hooks) symlinkSync(program(hook), join(folder, ".git/hooks", hook));
  },
  "core.hooksPath": ({ folder, program, config }) => {
    mkdirSync(join(folder, "elsewhere"));
    for (const hook of hooks) symlinkSync(program(`path-${hook}`), join(folder, "elsewhere", hook));
    config(`[core]\n\thooksPath = ${join(folder, "elsewhere")}\n`);
  },
  "core.fsmonitor": ({ command, config }) => config(`[core]\n\tfsmonitor = "${command("fsmonitor")};false"\n`),
  "core.sshCommand": ({ command, config }) => config(`[core]\n\tsshCommand = ${command("ssh")}\n`),
  "core.pager": ({ command, config }) =>
    config(`[core]\n\tpager = ${command("pager")}\n[pager]\n\tcat-file = ${command("p2")}\n`),
  "core.editor": ({ command, config }) =>
    config(`[core]\n\teditor = "${command("editor")};"\n[commit]\n\tverbose = true\n`),
  "core.askPass": ({ command, config }) => config(`[core]\n\taskPass = ${command("askpass")}\n`),
  "sequence.editor": ({ command, config }) => config(`[sequence]\n\teditor = ${command("sequence")}\n`),
  "diff.external": ({ command, config }) => config(`[diff]\n\texternal = ${command("diff")}\n`),
  "diff textconv": ({ command, config, attributes }) => {
    config(`[diff "d"]\n\ttextconv = ${command("textconv")}\n`);
    attributes("dag-spec.json diff=d\n");
  },
  "gc and maintenance": ({ command, config }) =>
    config(`[gc]\n\tauto = 1\n\trecentObjectsHook = ${command("gc")}\n[maintenance]\n\tauto = true\n`),
  aliases: ({ command, config }) =>
    config(
      `[alias]\n${["hash-object", "mktree", "commit-tree", "update-index", "ls-tree", "commit", "status"].map((name) => `\t${name} = !${command(`alias-${name}`)}\n`).join("")}`,
    ),
  "filter.clean": ({ command, config, attributes }) => {
    config(`[filter "x"]\n\tclean = "${command("clean")}; cat"\n\tsmudge = cat\n`);
    attributes("dag-spec.json filter=x\n");
  },
  "filter.process": ({ folder, command, config }) => {
    config(`[filter "y"]\n\tprocess = "${command("process")}"\n\trequired = false\n`);
    writeFileSync(join(folder, ".gitattributes"), "dag-spec.json filter=y\n");
  },
  "a filter by include": ({ folder, command, config }) => {
    writeFileSync(
      join(folder, "evil.inc"),
      `[filter "z"]\n\tclean = "${command("include")}; cat"\n[core]\n\tattributesFile = ${join(folder, "evil.attr")}\n`,
    );
    writeFileSync(join(folder, "evil.attr"), "* filter=z\n");
    config(`[include]\n\tpath = ${join(folder, "evil.inc")}\n`);
  },
  "gpg.program": ({ program, config }) => config(`[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = ${program("gpg")}\n`),
  trailers: ({ command, config }) => config(`[trailer "x"]\n\tcommand = "${command("trailer")}"\n\tifmissing = add\n`),
};

describe("a commit into a hostile repository", () => {
  for (const [name, set] of Object.entries(traps)) {
    test(`runs nothing of its settings: ${name}`, async (t) => {
      const folder = join(temporaryFolder(t), "w");
      const traces = temporaryFolder(t);
      mkdirSync(folder);
      const commit = async (params: string): Promise<void> => {
        writeFileSync(join(folder, "dag-spec.json"), JSON.stringify(dag(params)));
        await new Git().commit(new FolderFiles(folder), "dag-spec.json", save);
      };
      await commit("one");
      set({
        folder,
        command: (trace) => `touch ${join(traces, trace)}`,
        program: (trace) => {
          const path = join(folder, `run-${trace}`);
          writeFileSync(path, `#!/bin/sh\ntouch ${join(traces, trace)}\n`);
          chmodSync(path, 0o755);
          return path;
        },
        config: (text) => appendFileSync(join(folder, ".git/config"), text),
        attributes: (text) => {
          mkdirSync(join(folder, ".git/info"), { recursive: true });
          writeFileSync(join(folder, ".git/info/attributes"), text);
        },
      });
      await commit("two");
      rmSync(join(folder, "dag-spec.json"));
      await new Git().commit(new FolderFiles(folder), "dag-spec.json", save);
      await commit("three");
      assert.deepEqual(readdirSync(traces), []);
      // Read without the repository's settings.
      writeFileSync(join(folder, ".git/config"), "[core]\n\trepositoryformatversion = 0\n");
      assert.equal(git(folder, "rev-list", "--count", "HEAD"), "4");
      assert.deepEqual(JSON.parse(git(folder, "cat-file", "blob", "HEAD:dag-spec.json")), dag("three"));
    });
  }

  const detours: Record<string, (folder: string, victim: string) => void> = {
    commondir: (folder, victim) => writeFileSync(join(folder, ".git/commondir"), `${join(victim, ".git")}\n`),
    gitdir: (folder, victim) => writeFileSync(join(folder, ".git/gitdir"), `${join(victim, ".git")}\n`),
    "objects/info/alternates": (folder, victim) => {
      mkdirSync(join(folder, ".git/objects/info"), { recursive: true });
      writeFileSync(join(folder, ".git/objects/info/alternates"), `${join(victim, ".git/objects")}\n`);
    },
    ...Object.fromEntries(
      ["", "/objects", "/refs", "/refs/heads", "/HEAD"].map((part) => [
        `a link at .git${part}`,
        (folder: string, victim: string): void => {
          rmSync(join(folder, `.git${part}`), { recursive: true });
          symlinkSync(join(victim, `.git${part}`), join(folder, `.git${part}`));
        },
      ]),
    ),
    "a branch that leads out": (folder, victim) =>
      writeFileSync(join(folder, ".git/HEAD"), `ref: refs/heads/../../../../${join(victim, "x").slice(1)}\n`),
    "a branch with a link in it": (folder, victim) => {
      symlinkSync(join(victim, ".git/refs/heads"), join(folder, ".git/refs/heads/out"));
      writeFileSync(join(folder, ".git/HEAD"), "ref: refs/heads/out/main\n");
    },
  };

  for (const [name, set] of Object.entries(detours)) {
    test(`is refused where it would be written elsewhere: ${name}`, async (t) => {
      const [folder, victim] = [join(temporaryFolder(t), "w"), join(temporaryFolder(t), "v")] as const;
      for (const each of [folder, victim]) {
        mkdirSync(each);
        writeFileSync(join(each, "dag-spec.json"), JSON.stringify(dag("one")));
        await new Git().commit(new FolderFiles(each), "dag-spec.json", save);
      }
      const before = git(victim, "rev-list", "--all", "--objects");
      const files = readdirSync(join(victim, ".git"), { recursive: true }).length;
      set(folder, victim);
      writeFileSync(join(folder, "dag-spec.json"), JSON.stringify(dag("two")));
      await assert.rejects(
        new Git().commit(new FolderFiles(folder), "dag-spec.json", save),
        /nothing is committed|names no branch|is not a f/,
      );
      assert.equal(git(victim, "rev-list", "--all", "--objects"), before);
      assert.equal(readdirSync(join(victim, ".git"), { recursive: true }).length, files);
    });
  }

  for (const config of [
    "[extensions]\n\tobjectFormat = sha256\n",
    "[extensions] objectformat = sha256\n",
    "[core]\n\tbare = false\n[extensions]\n\trefStorage=reftable\n",
    "[extensions]\n\tworktreeConfig\n",
    `${"\n".repeat(300_000)}[extensions]\n\tobjectFormat = sha256\n`,
  ]) {
    test(`is refused where it is kept in another way: ${JSON.stringify(config.slice(-60))}`, async (t) => {
      const folder = temporaryFolder(t);
      writeFileSync(join(folder, "dag-spec.json"), JSON.stringify(dag("one")));
      await new Git().commit(new FolderFiles(folder), "dag-spec.json", save);
      writeFileSync(join(folder, ".git/config"), config);
      writeFileSync(join(folder, "dag-spec.json"), JSON.stringify(dag("two")));
      await assert.rejects(
        new Git().commit(new FolderFiles(folder), "dag-spec.json", save),
        /which is not supported here/,
      );
    });
  }

  const isRoot = process.getuid?.() === 0;
  for (const part of ["", ".git", ".git/objects"]) {
    const options = { skip: !isRoot && "only root can give files away" };
    test(`is refused where somebody else owns ${part === "" ? "the folder" : part}`, options, async (t) => {
      const folder = join(temporaryFolder(t), "w");
      mkdirSync(folder);
      writeFileSync(join(folder, "dag-spec.json"), JSON.stringify(dag("one")));
      await new Git().commit(new FolderFiles(folder), "dag-spec.json", save);
      chownSync(join(folder, part), 65534, 65534);
      writeFileSync(join(folder, "dag-spec.json"), JSON.stringify(dag("two")));
      await assert.rejects(new Git().commit(new FolderFiles(folder), "dag-spec.json", save), /belongs to user 65534/);
    });
  }
});
