import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import Fastify from "fastify";
import { pageRoutes } from "../../src/server/page/page-routes.ts";

function read(file: string): string {
  return readFileSync(new URL(`../../src/server/page/${file}`, import.meta.url), "utf8");
}

describe("the status page", () => {
  test("is served with its two files, and not again while nothing has changed", async () => {
    const app = Fastify();
    pageRoutes(app);
    for (const [url, type] of [
      ["/status", "text/html"],
      ["/status/status.css", "text/css"],
      ["/status/status.js", "text/javascript"],
    ] as const) {
      const first = await app.inject(url);
      assert.equal(first.statusCode, 200);
      assert.equal(first.headers["content-type"], `${type}; charset=utf-8`);
      const etag = String(first.headers.etag);
      const again = await app.inject({ url, headers: { "if-none-match": etag } });
      assert.equal(again.statusCode, 304);
      assert.equal(again.body, "");
      assert.equal((await app.inject({ url, headers: { "if-none-match": '"other"' } })).statusCode, 200);
    }
    await app.close();
  });

  test("brings nothing from elsewhere and runs nothing of its text", () => {
    const page = read("status.html");
    assert.doesNotMatch(page, /<script(?![^>]* src=)|<style|\son\w+=|\sstyle=|javascript:/);
    const addresses = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, address]) => address ?? "");
    assert.ok(addresses.length > 3);
    for (const address of addresses) assert.match(address, /^(?:\/(?!\/)|data:image\/svg)/);
    assert.doesNotMatch(read("status.css"), /@import|url\(/);
  });

  test("shows what users wrote as text only, and finds all the places it fills", () => {
    const script = read("status.js");
    assert.doesNotMatch(script, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function/);
    const page = read("status.html");
    const places = [...script.matchAll(/(?:at|pill|tile)\("([\w-]+)"/g)].map(([, id]) => id);
    assert.ok(places.length > 10);
    for (const id of places) assert.ok(page.includes(`id="${id}"`), `there is no place "${id}"`);
    for (const status of ["Success", "Failed", "Terminated"]) assert.ok(page.includes(`id="count-${status}"`));
  });
});
