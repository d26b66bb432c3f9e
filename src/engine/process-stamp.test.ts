import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { thisMachine } from "./process-stamp.ts";

const isLinux = process.platform === "linux";
const { stamp, hasDied } = thisMachine();

describe("the stamp of a process", () => {
  test("tells whether it has died, where the system says so", { skip: !isLinux && "only Linux says so" }, async () => {
    assert.match(stamp ?? "", /^[0-9a-f-]{36}\/\d+\/\d+\/\d+$/);
    assert.equal(hasDied(stamp ?? ""), false);
    const [boot, space, pid, start] = (stamp ?? "").split("/");
    const before = `${boot}/${space}/${pid}/${Number(start) - 1}`;
    assert.equal(hasDied(before), true, "one of the same number that ran before");

    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    await once(child, "spawn");
    const started = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19];
    const childStamp = `${boot}/${space}/${child.pid}/${started}`;
    assert.equal(hasDied(childStamp), false);
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.equal(hasDied(childStamp), true);
  });

  test("says nothing of a process of another machine, another boot or another namespace", () => {
    for (const other of ["", "x", "boot/1/2/3", `z${stamp}`]) assert.equal(hasDied(other), false, other);
  });
});
