import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { thisMachine } from "./process-stamp.ts";
import type { ProcessTable } from "./process-table.ts";

const isLinux = process.platform === "linux";
const onLinux = { skip: !isLinux && "only Linux says which processes there are" };
const { stamp, hasDied } = thisMachine();

const boot = "0b8f1a52-6f0e-4b7e-9d0c-0123456789ab";

interface Process {
  readonly startedAt: number;
  readonly state: string;
}

/** A machine in memory. A test decides which of its answers fail. */
class FakeTable implements ProcessTable {
  readonly ownPid = 10;
  readonly processes = new Map<number, Process>([[10, { startedAt: 500, state: "R" }]]);
  /** The pid that /proc gives to the process that asks. */
  selfPid = 10;
  timeSpace: string | undefined = "time:[4026531834]";
  /** Throws, or gives another text, in place of an answer. */
  fault: (call: string) => string | undefined = () => undefined;

  probe(pid: number): void {
    this.fault(`probe ${pid}`);
    if (!this.processes.has(pid)) throw systemError("ESRCH");
  }

  readFile(path: string): string {
    const lie = this.fault(`read ${path}`);
    if (lie !== undefined) return lie;
    if (path === "/proc/sys/kernel/random/boot_id") return `${boot}\n`;
    const pid = Number(/^\/proc\/(\d+)\/stat$/.exec(path)?.[1]);
    const found = this.processes.get(pid);
    if (found === undefined) throw systemError("ENOENT");
    return `${pid} (a ) (b) ${found.state} ${"0 ".repeat(18)}${found.startedAt} 0 0\n`;
  }

  readLink(path: string): string {
    const lie = this.fault(`link ${path}`);
    if (lie !== undefined) return lie;
    if (path === "/proc/self") return String(this.selfPid);
    if (path === "/proc/self/ns/pid") return "pid:[4026531836]";
    if (this.timeSpace === undefined) throw systemError("ENOENT");
    return this.timeSpace;
  }
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** Runs in the process `pid` of the same machine, and gives its stamp. */
function stampOf(pid: number, startedAt: number): string {
  return `${boot}/4026531836-4026531834/${pid}/${startedAt}`;
}

describe("the stamp of a process", () => {
  test("tells whether it has died, where the system says so", onLinux, async () => {
    assert.match(stamp ?? "", /^[0-9a-f-]{36}\/\d+(-\d+)?\/\d+\/\d+$/);
    assert.equal(hasDied(stamp ?? ""), false);
    const [bootId, space, pid, start] = (stamp ?? "").split("/");
    const before = `${bootId}/${space}/${pid}/${Number(start) - 1}`;
    assert.equal(hasDied(before), true, "one of the same number that ran before");

    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    await once(child, "spawn");
    const started = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19];
    const childStamp = `${bootId}/${space}/${child.pid}/${started}`;
    assert.equal(hasDied(childStamp), false);
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.equal(hasDied(childStamp), true);
  });

  test("says nothing of a process of another machine, another boot or another namespace", () => {
    for (const other of ["", "x", "boot/1/2/3", `z${stamp}`, `${stamp}/1`]) assert.equal(hasDied(other), false, other);
  });

  test(
    "a process without file descriptors takes nobody for dead that lives, and still knows who has died",
    onLinux,
    () => {
      const script = join(import.meta.dirname, "../../tests/recovery/without-descriptors.ts");
      const command = 'ulimit -n 64; exec "$0" --disable-warning=ExperimentalWarning "$@"';
      const child = spawnSync("sh", ["-c", command, process.execPath, script, stamp ?? ""], { encoding: "utf8" });
      assert.deepEqual(JSON.parse(child.stdout || "{}"), { code: "EMFILE", living: false, ended: true }, child.stderr);
    },
  );
});

describe("death is proven", () => {
  const living = { startedAt: 700, state: "S" };
  const errnos = Object.keys(constants.errno);
  const steps = ["probe 20", "read /proc/20/stat"];

  test("by a number that nobody has, one that another process has by now, and a zombie", () => {
    const table = new FakeTable();
    const machine = thisMachine(table);
    assert.equal(machine.stamp, stampOf(10, 500));
    assert.equal(machine.hasDied(stampOf(20, 700)), true);
    table.processes.set(20, living);
    assert.equal(machine.hasDied(stampOf(20, 700)), false);
    assert.equal(machine.hasDied(stampOf(20, 699)), true);
    table.processes.set(20, { startedAt: 700, state: "Z" });
    assert.equal(machine.hasDied(stampOf(20, 700)), true);
  });

  for (const step of steps) {
    test(`not by an error of "${step}", whichever it is`, () => {
      for (const code of errnos) {
        const table = new FakeTable();
        table.processes.set(20, living);
        const machine = thisMachine(table);
        table.fault = (call) => {
          if (call === step) throw systemError(code);
          return undefined;
        };
        // ESRCH of a signal is the proof itself: the kernel gives it only if there is no such process.
        assert.equal(machine.hasDied(stampOf(20, 700)), step === "probe 20" && code === "ESRCH", code);
      }
    });
  }

  test("not by a /proc that hides the processes of other users, dead or alive", () => {
    const table = new FakeTable();
    table.processes.set(20, living);
    const machine = thisMachine(table);
    table.fault = (call) => {
      if (call === "read /proc/20/stat") throw systemError("ENOENT");
      if (call === "probe 20" && table.processes.has(20)) throw systemError("EPERM");
      return undefined;
    };
    assert.equal(machine.hasDied(stampOf(20, 700)), false);
    table.processes.delete(20);
    assert.equal(machine.hasDied(stampOf(20, 700)), true);
  });

  test("not by a stamp of another pid namespace, time namespace or boot, and not by one that is malformed", () => {
    const { hasDied: judge } = thisMachine(new FakeTable());
    for (const other of [
      `${boot}/1-4026531834/20/700`,
      `${boot}/4026531836-1/20/700`,
      `${boot}/4026531836/20/700`,
      `${boot.replace("0", "1")}/4026531836-4026531834/20/700`,
      ...["0", "-1", "x", "", "4294967296", "1.5"].map((pid) => `${boot}/4026531836-4026531834/${pid}/700`),
      `${boot}/4026531836-4026531834/20/`,
      `${boot}/4026531836-4026531834/20`,
    ]) {
      assert.equal(judge(other), false, other);
    }
  });

  test("not in a process whose /proc shows another pid namespace", () => {
    const table = new FakeTable();
    table.selfPid = 4711;
    const machine = thisMachine(table);
    assert.equal(machine.stamp, undefined);
    assert.equal(machine.hasDied(stampOf(20, 700)), false);
  });

  test("on a kernel without time namespaces too", () => {
    const table = new FakeTable();
    table.timeSpace = undefined;
    const machine = thisMachine(table);
    assert.equal(machine.stamp, `${boot}/4026531836/10/500`);
    assert.equal(machine.hasDied(`${boot}/4026531836/20/700`), true);
  });

  test("never of a living process, with errors and cut-off texts at any step and any time", () => {
    const cutOff = fc.tuple(fc.constant("cut" as const), fc.nat(70));
    const failed = fc.tuple(fc.constant("fail" as const), fc.constantFrom(...errnos));
    const faults = fc.array(fc.option(fc.oneof(cutOff, failed), { freq: 2 }), { maxLength: 12 });
    fc.assert(
      fc.property(faults, faults, (atStart, later) => {
        const table = new FakeTable();
        table.processes.set(20, living);
        const honest = new FakeTable();
        honest.processes.set(20, living);
        let plan = atStart;
        let calls = 0;
        table.fault = (call) => {
          const fault = plan[calls++];
          if (fault === null || fault === undefined) return undefined;
          if (fault[0] === "fail") {
            // The kernel does not give ESRCH to a signal for a process that is there.
            if (call.startsWith("probe") && fault[1] === "ESRCH") return undefined;
            throw systemError(fault[1]);
          }
          const [kind, path] = call.split(" ") as [string, string];
          if (kind === "probe") return undefined;
          const text = kind === "read" ? honest.readFile(path) : honest.readLink(path);
          return text.slice(0, fault[1]);
        };
        const machine = thisMachine(table);
        plan = later;
        calls = 0;
        for (let look = 0; look < 4; look++) assert.equal(machine.hasDied(stampOf(20, 700)), false);
      }),
      { numRuns: 2000 },
    );
  });
});
