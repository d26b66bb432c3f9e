/** Workflow code that ends its process, on members of a cluster: it takes one after the other along, and is quarantined. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Process } from "../recovery/process.ts";
import { newDatabase } from "./databases.ts";

/** Once before anybody records it, and then as often as is allowed and once more. */
const deathsMax = 1 + 3 + 1;

class Member {
  readonly process: Process;
  readonly lines: string[] = [];
  /** Resolves with false when it has died of the code, with true when it has seen the instance quarantined. */
  readonly end: Promise<boolean>;

  constructor(url: string) {
    this.process = new Process("./poison-code-child.ts", [url, "exit", "timer"]);
    this.end = this.#follow();
  }

  async #follow(): Promise<boolean> {
    for (let line = await this.process.line(); line !== undefined; line = await this.process.line()) {
      if (line !== "beat") this.lines.push(line);
    }
    const { code } = await this.process.exit;
    assert.ok(code === 0 || code === 7, `it ended with ${code}: ${this.process.stderr}`);
    return code === 0;
  }
}

test(
  "code that ends its process is quarantined over members, and its neighbours go on",
  { timeout: 300_000 },
  async (t) => {
    const url = await newDatabase("postgres", t);
    const members = new Set([new Member(url), new Member(url)]);
    t.after(() => Promise.all([...members].map(({ process }) => process.kill())));
    let deaths = 0;
    for (;;) {
      const ends = [...members].map((member) => member.end.then((isThrough) => ({ member, isThrough })));
      const { member, isThrough } = await Promise.race(ends);
      members.delete(member);
      if (isThrough) {
        const last = member.lines.at(-1) ?? "";
        assert.match(last, /^quarantined: .*its code ended or blocked the process 4 times at step \d/);
        assert.ok(member.lines.includes("neighbours done"));
        break;
      }
      deaths++;
      assert.ok(deaths <= deathsMax, `${deaths} members died`);
      // The other one takes over from the first: nobody else is there.
      if (deaths === 1) assert.equal(await [...members][0]?.end, false, "the member that took over died too");
      else while (members.size < 2) members.add(new Member(url));
    }
    assert.equal(deaths, deathsMax);
  },
);
