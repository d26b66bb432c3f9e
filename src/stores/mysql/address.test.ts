import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { hasCode } from "../../base/error.ts";
import { parseAddress } from "./address.ts";

const password = "pa55-w0rd";

describe("the address of a MySQL database", () => {
  for (const [url, words] of [
    ["", /cannot be parsed/],
    ["heddle", /cannot be parsed/],
    ["127.0.0.1:3306", /cannot be parsed/],
    [`postgres://user:${password}@host/database`, /cannot be parsed/],
    [`mysql//user:${password}@host`, /cannot be parsed/],
    [`mysql://user:${password}@ho st/database`, /cannot be parsed/],
    [`mysql://user:${password}@host:port/database`, /cannot be parsed/],
    [`mysql://user:${password}%@host/database`, /a password with a % that is not followed by two digits/],
    [`mysql://us%er:${password}@host/database`, /a user name with a %/],
    [`mysql://:${password}@host/database`, /has no user name/],
    [`mysql://user:${password}@host`, /has no database name/],
    [`mysql://user:${password}@host/`, /has no database name/],
    [`mysql://user:${password}@host/db?sslmode=require`, /parameter sslmode, and may have ssl-mode, ssl-ca, socket/],
    [`mysql://user:${password}@host/db?ssl-mode=maybe`, /an ssl-mode that is none of/],
    [`mysql://user:${password}@host/db?ssl-ca=x.pem`, /ssl-ca, which needs ssl-mode/],
    [`mysql://user:${password}@host/db?ssl-mode=VERIFY_CA&ssl-ca=/no/such.pem`, /an ssl-ca that cannot be read/],
  ] as const) {
    test(`${JSON.stringify(url.replace(password, "…"))} is refused, and the password not repeated`, () => {
      assert.throws(
        () => parseAddress(url),
        (error) => {
          assert.ok(hasCode(error, "OPTION_INVALID"));
          assert.match(error.message, words);
          assert.match(
            error.message,
            /^the URL of the MySQL database [^\n]*mysql:\/\/user:password@host:3306\/database$/,
          );
          assert.ok(!inspect(error, { depth: null, showHidden: true }).includes(password));
          return true;
        },
      );
    });
  }

  for (const [url, place] of [
    ["mysql://user:secret@example.org/orders", "orders on example.org:3306"],
    ["mariadb://user@[::1]:6000/orders", "orders on [::1]:6000"],
    ["mysql://us%40er:se%2Fcret@example.org:1/or%20ders", "or ders on example.org:1"],
    ["mysql://user:secret@localhost/orders?socket=/run/mysqld/mysqld.sock", "orders on /run/mysqld/mysqld.sock"],
  ] as const) {
    test(`${url} is called ${place}`, () => assert.equal(parseAddress(url).place, place));
  }

  test("every part is decoded", () => {
    assert.deepEqual(parseAddress("mysql://us%40er:se%2Fc%3Aret%25@[::1]:1/or%20ders?ssl-mode=verify_identity"), {
      host: "::1",
      port: 1,
      socketPath: undefined,
      user: "us@er",
      password: "se/c:ret%",
      database: "or ders",
      tls: { rejectUnauthorized: true, verifyIdentity: true },
      place: "or ders on [::1]:1",
    });
  });

  test("encryption is what the servers' own clients call it", () => {
    const tls = (mode: string) => parseAddress(`mysql://user@host/db?ssl-mode=${mode}`).tls;
    assert.equal(tls("DISABLED"), undefined);
    assert.deepEqual(tls("REQUIRED"), { rejectUnauthorized: false, verifyIdentity: false });
    assert.deepEqual(tls("VERIFY_CA"), { rejectUnauthorized: true, verifyIdentity: false });
    const own = parseAddress(`mysql://user@host/db?ssl-mode=REQUIRED&ssl-ca=${import.meta.filename}`).tls;
    assert.equal(own?.rejectUnauthorized, true);
    assert.match(own.ca ?? "", /^import assert/);
  });
});
