/** The example as its users run it: stopped, killed, and started again. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { exampleFolder, type JournalEntry, PipelineProcess, readJournal } from "./pipeline-process.ts";

/** Jobs that end once in a whole run; the decision and the nested workflow itself run no job. */
const jobsPerRun = 28;

describe("the example pipeline", { concurrency: true, skip: process.platform === "win32" && "has no signals" }, () => {
  test("stops on Ctrl-C, goes on where it stopped, and then starts anew", async (t) => {
    const folder = exampleFolder(t);
    const first = new PipelineProcess(t, folder);
    await first.prints(
      /↻ exchange-rates failed at attempt [12], is tried again at [\d:]+: the rate service answered 503/,
    );
    await first.prints(/✓ extract-orders/);
    first.kill("SIGINT");
    // npm passes the same Ctrl-C on once more.
    first.kill("SIGINT");
    assert.deepEqual(await first.ended, { code: 130, signal: null });
    const [what, where, hint] = first.out.split("\n");
    assert.match(what ?? "", /nightly data pipeline/);
    assert.ok(where?.includes(folder), where);
    assert.match(hint ?? "", /Ctrl-C.*start it again/);
    assert.match(first.out, /^Starting a new run, nightly-1\.$/m);
    const stopped = /^Stopped in good order, (\d+) of \d+ tasks done and kept\. Start it again to continue\.$/m;
    assert.equal(Number(stopped.exec(first.out)?.[1]), first.toldDone.length);

    const second = new PipelineProcess(t, folder);
    assert.deepEqual(await second.ended, { code: 0, signal: null }, second.errors);
    const continued = /^Continuing run nightly-1, (\d+) of \d+ tasks done\.$/m.exec(second.out);
    assert.ok(Number(continued?.[1]) >= first.toldDone.length, second.out);
    assert.match(second.out, /^Finished run nightly-1: 31 of 31 tasks, sales of [\d,]+ EUR\./m);
    assert.equal(first.errors + second.errors, "");

    const journal = readJournal(folder, "nightly-1");
    const ended = journal.filter(({ what }) => what === "ended").map(({ task }) => task);
    assert.equal(ended.length, jobsPerRun);
    assert.equal(new Set(ended).size, jobsPerRun, "a task ended twice");
    assert.deepEqual(beganAgain(journal, first), []);
    const rates = journal.filter(({ what, task }) => what === "ended" && task === "exchange-rates");
    assert.deepEqual(
      rates.map(({ attempt }) => attempt),
      [3],
    );

    const third = new PipelineProcess(t, folder);
    await third.prints(/^Run nightly-1 has ended \(Success\)\. Starting a new run, nightly-2\.$/m);
    third.kill("SIGTERM");
    assert.deepEqual(await third.ended, { code: 143, signal: null });
  });

  test("goes on after kill -9, without what was told to be done", async (t) => {
    const folder = exampleFolder(t);
    const killed: PipelineProcess[] = [];
    for (const moment of [/✓ extract-customers/, /✓ price-2/, /✓ sales-by-day/]) {
      const next = new PipelineProcess(t, folder);
      await next.prints(moment);
      next.kill("SIGKILL");
      assert.deepEqual(await next.ended, { code: null, signal: "SIGKILL" });
      killed.push(next);
    }
    const last = new PipelineProcess(t, folder);
    assert.deepEqual(await last.ended, { code: 0, signal: null }, last.out + last.errors);
    const continued = /^Continuing run nightly-1, (\d+) of 31 tasks done\.$/m.exec(last.out);
    const told = killed.flatMap(({ toldDone }) => toldDone);
    assert.ok(Number(continued?.[1]) >= told.length, last.out);
    assert.match(last.out, /^Finished run nightly-1: 31 of 31 tasks/m);
    const journal = readJournal(folder, "nightly-1");
    assert.equal(new Set(journal.map(({ task }) => task)).size, jobsPerRun);
    for (const process of killed) assert.deepEqual(beganAgain(journal, process), []);
  });

  test("leaves a database alone that another process holds", async (t) => {
    const folder = exampleFolder(t);
    const holder = new PipelineProcess(t, folder);
    await holder.prints(/Starting a new run/);
    const refused = new PipelineProcess(t, folder);
    assert.deepEqual(await refused.ended, { code: 1, signal: null });
    assert.equal(refused.out, "");
    assert.match(
      refused.errors,
      new RegExp(`^the database .*pipeline\\.db is in use by process ${holder.pid}; [^\\n]+[^.]\\n$`),
    );
    holder.kill("SIGTERM");
    assert.deepEqual(await holder.ended, { code: 143, signal: null });
  });
});

/** Tasks that a process told to be done and a later one began all the same. */
function beganAgain(journal: readonly JournalEntry[], process: PipelineProcess): string[] {
  const own = journal.findLastIndex(({ pid }) => pid === process.pid);
  const later = journal.slice(own + 1).filter(({ what }) => what === "began");
  return later.map(({ task }) => task).filter((task) => process.toldDone.includes(task));
}
