/** Spec §14.1: a page in Chinese has the headings, the tables and the code of its English original. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

const root = join(import.meta.dirname, "../..");
const translations = globSync(["README.zh-CN.md", "docs/zh/**/*.md"], { cwd: root }).map((path) =>
  path.replaceAll("\\", "/"),
);

describe("14.1 pages in two languages", () => {
  test("are there", () => {
    assert.deepEqual(translations.toSorted(), [
      "README.zh-CN.md",
      "docs/zh/coming-from.md",
      "docs/zh/getting-started.md",
      "docs/zh/guide.md",
      "docs/zh/recipes.md",
    ]);
  });

  for (const path of translations) {
    test(`${path} follows its original`, () => {
      assert.deepEqual(differences(read(originalOf(path)), read(path)), []);
    });

    test(`${path} and its original link to each other`, () => {
      assert.match(read(path).slice(0, 300), /\[English\]\(.+\) \| 简体中文/);
      assert.match(read(originalOf(path)).slice(0, 300), /English \| \[简体中文\]\(.+\)/);
    });
  }
});

/** Words of the console and the pages, and the words that were used for the same before. */
const replaced = {
  业务域: /资源域/,
  判断: /决策/,
  槽位: /空位|执行位/,
  并发名额: /并发位/,
  补跑: /回填/,
  发送事件: /触发事件/,
};

/** Where other words stand for good reason: code, addresses, the terms of another system in the first column, and the English word beside ours. */
const elsewhere = /^```.*?^```$|`[^`\n]*`|\]\([^)]*\)|^\| [^|]* \||（worker）/gms;

describe("14.1 the console and the pages in Chinese", () => {
  const texts = globSync("console/src/text/*.ts", { cwd: root });

  test("have one word for one thing", () => {
    assert.ok(texts.length > 5);
    for (const path of [...translations, ...texts]) {
      for (const [word, other] of Object.entries(replaced)) assert.doesNotMatch(read(path), other, `${path}: ${word}`);
    }
  });

  test("call a worker as the console does", () => {
    for (const path of translations) {
      assert.deepEqual(
        read(path)
          .replaceAll(elsewhere, "")
          .match(/.{0,10}worker.{0,10}/g) ?? [],
        [],
        path,
      );
    }
  });
});

describe("a page that drifted is noticed", () => {
  const page = "# A\n\n```sh\nnpm test # all\n```\n\n## B\n\n| a |\n|---|\n\n```ts\nrun(1); // one\n```\n";

  test("comments may differ", () => {
    const other = page.replace("# all", "# 全部").replace("// one", "// 一").replace("## B", "## 乙");
    assert.deepEqual(differences(page, other), []);
  });

  test("a heading that is missing, or on another level", () => {
    for (const other of ["", "### B\n"]) {
      assert.match(differences(page, page.replace("## B\n", other))[0] ?? "", /^headings: 1 2 in English/);
    }
  });

  test("a row of a table that is missing, or in another section", () => {
    assert.equal(differences(page, page.replace("|---|\n", "")).length, 1);
    assert.equal(differences(page, page.replace("| a |\n", "").replace("# A\n", "# A\n\n| a |\n")).length, 1);
  });

  test("code that differs, or is missing", () => {
    assert.equal(differences(page, page.replace("run(1)", "run(2)")).length, 1);
    assert.equal(differences(page, page.replace("```sh\nnpm test # all\n```\n", "")).length, 1);
  });
});

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

function originalOf(path: string): string {
  return path === "README.zh-CN.md" ? "README.md" : path.replace("docs/zh/", "docs/");
}

function differences(original: string, translation: string): string[] {
  const found: string[] = [];
  const [levels, others] = [levelsOf(original), levelsOf(translation)];
  if (levels !== others) found.push(`headings: ${levels} in English, ${others} in Chinese`);
  const [rows, theirRows] = [rowsOf(original), rowsOf(translation)];
  if (rows !== theirRows) found.push(`rows of tables by section: ${rows} in English, ${theirRows} in Chinese`);
  const [blocks, theirs] = [blocksOf(original), blocksOf(translation)];
  if (blocks.length !== theirs.length) {
    found.push(`${blocks.length} code blocks in English, ${theirs.length} in Chinese`);
  } else {
    for (const [place, block] of blocks.entries()) {
      if (block !== theirs[place]) found.push(`code block ${place + 1}:\n${block}\nin Chinese:\n${theirs[place]}`);
    }
  }
  return found;
}

function levelsOf(page: string): string {
  const text = page.replaceAll(/^```.*?^```$/gms, "");
  return [...text.matchAll(/^(#+) /gm)].map((heading) => (heading[1] ?? "").length).join(" ");
}

/** The number of rows of tables in each section. */
function rowsOf(page: string): string {
  const sections = page.replaceAll(/^```.*?^```$/gms, "").split(/^#+ /m);
  return sections.map((section) => [...section.matchAll(/^\|/gm)].length).join(" ");
}

/** Code without comments and the white space before them. */
function blocksOf(page: string): string[] {
  return [...page.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = "", code = ""]) => {
    const comment = language === "sh" ? /\s*(?<=^|\s)# .*$/gm : /\s*(?<=^|\s)\/\/ .*$/gm;
    return `${language}\n${code.replaceAll(comment, "")}`;
  });
}
