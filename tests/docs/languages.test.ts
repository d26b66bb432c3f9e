/** Spec §14.1: a page in Chinese has the headings and the code of its English original. */
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
    for (const path of ["README.zh-CN.md", "docs/zh/getting-started.md"]) assert.ok(translations.includes(path), path);
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

describe("a page that drifted is noticed", () => {
  const page = "# A\n\n```sh\nnpm test # all\n```\n\n## B\n\n```ts\nrun(1); // one\n```\n";

  test("comments may differ", () => {
    const other = page.replace("# all", "# 全部").replace("// one", "// 一").replace("## B", "## 乙");
    assert.deepEqual(differences(page, other), []);
  });

  test("a heading that is missing, or on another level", () => {
    assert.equal(differences(page, page.replace("## B\n", "")).length, 1);
    assert.equal(differences(page, page.replace("## B", "### B")).length, 1);
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

/** Code without comments and the white space before them. */
function blocksOf(page: string): string[] {
  return [...page.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = "", code = ""]) => {
    const comment = language === "sh" ? /\s*(?<=^|\s)# .*$/gm : /\s*(?<=^|\s)\/\/ .*$/gm;
    return `${language}\n${code.replaceAll(comment, "")}`;
  });
}
