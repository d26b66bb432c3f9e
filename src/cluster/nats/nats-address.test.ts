import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type NatsOptions, parseNatsAddress, subjectOf } from "./nats-address.ts";

function problemOf(url: string, options?: NatsOptions): string {
  try {
    parseNatsAddress(url, options);
  } catch (error) {
    assert.ok(error instanceof Error && "code" in error && error.code === "OPTION_INVALID");
    return error.message.replace("the NATS bus cannot be used: ", "");
  }
  return "none";
}

const nothing = {
  prefix: "heddle",
  user: undefined,
  password: undefined,
  token: undefined,
  credentials: undefined,
  nkeySeed: undefined,
  tls: undefined,
};

describe("an address of NATS", () => {
  test("names servers, and may log in", () => {
    assert.deepEqual(parseNatsAddress("nats://localhost"), {
      ...nothing,
      servers: ["localhost:4222"],
      place: "localhost:4222",
    });
    assert.deepEqual(parseNatsAddress("nats://us%40er:p%3Aw@a:1, nats://b"), {
      ...nothing,
      servers: ["a:1", "b:4222"],
      place: "a:1, b:4222",
      user: "us@er",
      password: "p:w",
    });
    assert.equal(parseNatsAddress("nats://sesame@a").token, "sesame");
    assert.deepEqual(parseNatsAddress("nats://[::1]:4333").servers, ["[::1]:4333"]);
  });

  test("demands TLS with tls://, or with an authority", () => {
    assert.deepEqual(parseNatsAddress("tls://a").tls, {});
    assert.deepEqual(parseNatsAddress("nats://a", { tls: { ca: "ca.pem" } }).tls, { ca: "ca.pem" });
    assert.equal(parseNatsAddress("nats://a").tls, undefined);
  });

  test("is refused with a reason that has no secret in it", () => {
    const wrong = "the address must be nats://host:4222 or tls://host:4222";
    for (const url of [
      "",
      "localhost",
      "http://user:secret@a",
      "nats:",
      "nats://",
      "nats://user:secret@",
      "nats://a,b",
    ]) {
      assert.equal(problemOf(url), wrong, url);
    }
    assert.equal(problemOf("nats://a/b"), "the address must end after the port; everything else is an option");
    assert.equal(
      problemOf("nats://a", { prefix: "a.*" }),
      'the prefix of subjects must be words of letters, digits, _ and -, joined by dots, got "a.*"',
    );
    assert.equal(problemOf("nats://u:secret@a", { token: "t" }), "give one way to log in, not user and token");
    assert.equal(
      problemOf("nats://a", { credentials: "c", nkeySeed: "n" }),
      "give one way to log in, not credentials and nkeySeed",
    );
    assert.equal(problemOf("nats://a", { password: "secret" }), "a password needs a user");
    assert.equal(problemOf("nats://a", { tls: { cert: "c" } }), "tls needs cert and key together");
  });
});

test("a subject is one token after the prefix, whatever the address", () => {
  assert.equal(
    subjectOf("team.heddle", "host.example.org:12:01J-a_b"),
    "team.heddle.host%2Eexample%2Eorg%3A12%3A01J-a_b",
  );
  assert.equal(subjectOf("heddle", "*> .\t"), "heddle.%2A%3E%20%2E%09");
});
