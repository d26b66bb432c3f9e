import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { gunzipSync } from "node:zlib";
import Fastify, { type FastifyInstance } from "fastify";
import { consolePages } from "../../src/api/console-pages.ts";
import { consoleRoutes } from "../../src/server/console/console-routes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

function builtConsole(t: TestContext): string {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), `<meta nonce="__NONCE__"><script src="/assets/a-1.js"></script>`);
  writeFileSync(join(folder, "assets/a-1.js"), "export const a = 1;");
  writeFileSync(join(folder, "assets/a-1.css"), "a {}");
  writeFileSync(join(folder, "assets/a-1.js.map"), "{}");
  return folder;
}

function serving(t: TestContext, folder: string | undefined): FastifyInstance {
  const app = Fastify();
  consoleRoutes(app, folder);
  t.after(() => app.close());
  return app;
}

describe("the console", () => {
  test("12.4 is one document for the address of every page, with a new nonce each time", async (t) => {
    const app = serving(t, builtConsole(t));
    const nonces = new Set<string>();
    for (const url of ["/", ...consolePages.flatMap((page) => [`/${page}`, `/${page}/a%2Fb/graph`])]) {
      const answer = await app.inject(url);
      assert.equal(answer.statusCode, 200, url);
      assert.equal(answer.headers["content-type"], "text/html; charset=utf-8");
      const nonce = /nonce="([^"]+)"/.exec(answer.body)?.[1] ?? "";
      const policy = String(answer.headers["content-security-policy"]);
      assert.ok(policy.includes(`style-src 'self' 'nonce-${nonce}'`), policy);
      assert.ok(policy.includes("script-src 'self';"), policy);
      nonces.add(nonce);
    }
    assert.equal(nonces.size, 1 + 2 * consolePages.length);
  });

  test("has assets that are kept for ever, compressed for those who take it", async (t) => {
    const app = serving(t, builtConsole(t));
    const plain = await app.inject("/assets/a-1.js");
    assert.equal(plain.body, "export const a = 1;");
    assert.equal(plain.headers["cache-control"], "public, max-age=31536000, immutable");
    const zipped = await app.inject({ url: "/assets/a-1.js", headers: { "accept-encoding": "br, gzip" } });
    assert.equal(zipped.headers["content-encoding"], "gzip");
    assert.equal(gunzipSync(zipped.rawPayload).toString(), "export const a = 1;");
    assert.equal((await app.inject("/assets/a-1.css")).headers["content-type"], "text/css; charset=utf-8");
  });

  test("gives no other file", async (t) => {
    const app = serving(t, builtConsole(t));
    for (const url of [
      "/assets/a-1.js.map",
      "/assets/../index.html",
      "/assets/..%2findex.html",
      "/assets/b.js",
      "/assets/",
    ]) {
      assert.equal((await app.inject(url)).statusCode, 404, url);
    }
  });

  test("leads to the status page where it is not built", async (t) => {
    const answer = await serving(t, undefined).inject("/");
    assert.deepEqual([answer.statusCode, answer.headers.location], [302, "/status"]);
  });
});
