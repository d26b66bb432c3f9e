import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TurnAnswer, TurnQuestion } from "../kernel/code/turn-question.ts";
import type { AskedTurn, CodeHost } from "./code-host.ts";
import { CodeHosts, type OpenTurn } from "./code-hosts.ts";

class Host implements CodeHost {
  readonly address: string;
  readonly asked: AskedTurn[] = [];
  readonly withdrawn: AskedTurn[] = [];
  readonly isElsewhere: boolean;
  max: number;
  isReachable = true;

  constructor(address: string, max = 10, where: "here" | "elsewhere" = "here") {
    this.address = address;
    this.max = max;
    this.isElsewhere = where === "elsewhere";
  }

  get freeTurns(): number {
    return this.isReachable ? this.max - this.asked.length : 0;
  }

  canRun(workflow: string): boolean {
    return workflow === "w";
  }

  ask(turn: AskedTurn): void {
    this.asked.push(turn);
  }

  withdraw(turn: AskedTurn): void {
    this.withdrawn.push(turn);
  }

  /** Answers its first question. */
  answer(): void {
    this.asked.shift()?.answer(nothing, this);
  }
}

const nothing: TurnAnswer = { steps: [], queries: [], canCancel: true };

function question(instanceId: string, workflow = "w"): TurnQuestion {
  return {
    instanceId,
    workflow,
    version: "1",
    generation: 1,
    first: 0,
    events: 2,
    steps: 0,
    seen: 0,
    news: [],
    queries: [],
  };
}

class Rig {
  waits = 0;
  readonly hosts = new CodeHosts(undefined, () => void this.waits++);
  readonly answers: string[] = [];
  readonly losses: number[] = [];
  /** Questions with more losses are given up. */
  lossesMax = 3;

  ask(
    id: string,
    { losses = 0, ...options }: { losses?: number; warmHost?: CodeHost; isForeign?: boolean } = {},
  ): OpenTurn {
    return this.hosts.ask(question(id), {
      key: 1,
      losses,
      warmHost: undefined,
      ...options,
      owner: {
        history: () => Promise.resolve({ turns: [], next: 0 }),
        onAnswer: (_, host) => void this.answers.push(`${id} by ${host?.address}`),
        onLost: (count) => {
          this.losses.push(count);
          return count <= this.lossesMax;
        },
      },
    });
  }

  connect(...hosts: readonly Host[]): void {
    for (const host of hosts) this.hosts.onReady(host);
  }
}

const names = ({ asked }: Host): string[] => asked.map((turn) => turn.question.instanceId);

describe("questions about code", () => {
  test("wait for a host that has the code, and go to the one that answered last", () => {
    const rig = new Rig();
    const [a, b] = [new Host("a"), new Host("b")];
    rig.ask("1");
    assert.deepEqual([rig.hosts.waitingCount, rig.hosts.hasCode("w", "1")], [1, false]);
    rig.connect(a, b);
    assert.deepEqual([names(a), names(b), rig.hosts.waitingCount], [["1"], [], 0]);
    rig.ask("2", { warmHost: a });
    rig.ask("3");
    assert.deepEqual([names(a), names(b)], [["1", "2"], ["3"]]);
    assert.equal(rig.hosts.hasCode("other", "1"), false);
  });

  test("keep to the maximum of a host, and the next one follows an answer", () => {
    const rig = new Rig();
    const host = new Host("a", 1);
    rig.connect(host);
    for (const id of ["1", "2", "3"]) rig.ask(id);
    assert.deepEqual(names(host), ["1"]);
    host.answer();
    host.answer();
    assert.deepEqual([names(host), rig.answers], [["3"], ["1 by a", "2 by a"]]);
  });

  test("of a host out of touch are put to another one, and the first answer counts", () => {
    const rig = new Rig();
    const [a, b] = [new Host("a"), new Host("b")];
    rig.connect(a);
    rig.ask("1");
    a.isReachable = false;
    rig.hosts.onUnreachable(a);
    rig.connect(b);
    assert.deepEqual([names(a), names(b), rig.losses], [["1"], ["1"], []]);
    b.answer();
    assert.deepEqual([a.withdrawn.length, b.withdrawn.length], [1, 0]);
    a.answer();
    assert.equal(rig.answers.length, 1);
  });

  test("of a lost host count a loss, those of one that left do not", () => {
    const rig = new Rig();
    const [a, b, c] = [new Host("a"), new Host("b"), new Host("c")];
    rig.connect(a);
    rig.ask("1");
    rig.hosts.remove(a, "left");
    rig.connect(b);
    assert.deepEqual([names(b), rig.losses], [["1"], []]);
    rig.hosts.remove(b, "lost");
    rig.connect(c);
    assert.deepEqual([names(c), rig.losses], [["1"], [1]]);
  });

  test("that were lost too often are given up", () => {
    const rig = new Rig();
    rig.lossesMax = 1;
    const turn = rig.ask("1", { losses: 1 });
    const [a, b] = [new Host("a"), new Host("b")];
    rig.connect(a);
    rig.hosts.remove(a, "lost");
    rig.connect(b);
    assert.deepEqual([turn.isOver, names(b), rig.answers], [true, [], []]);
  });

  test("that were lost twice are asked alone, and a busy host is kept free for them", () => {
    const rig = new Rig();
    const host = new Host("a");
    rig.connect(host);
    rig.ask("1");
    rig.ask("suspect", { losses: 2 });
    rig.ask("2");
    assert.deepEqual([names(host), rig.hosts.waitingCount], [["1"], 2]);
    host.answer();
    assert.deepEqual(names(host), ["suspect"]);
    rig.ask("3");
    assert.deepEqual(names(host), ["suspect"]);
    host.answer();
    assert.deepEqual(names(host), ["2", "3"]);
  });

  test("that are withdrawn are not answered", () => {
    const rig = new Rig();
    const host = new Host("a");
    rig.connect(host);
    const [asked, waiting] = [rig.ask("1"), rig.ask("2")];
    rig.hosts.withdraw(asked);
    rig.hosts.withdraw(waiting);
    host.answer();
    assert.deepEqual([host.withdrawn.length, rig.answers], [2, []]);
  });
});

describe("questions about code and other members", () => {
  const elsewhere = (address: string, max = 10): Host => new Host(address, max, "elsewhere");

  test("go to hosts of this member first, and wait for no other member while one of them is free", () => {
    const rig = new Rig();
    const [own, other] = [new Host("own", 1), elsewhere("other")];
    rig.connect(other, own);
    for (const id of ["1", "2"]) rig.ask(id);
    assert.deepEqual([names(own), names(other)], [["1"], ["2"]]);
    rig.ask("3", { warmHost: other });
    assert.deepEqual(names(other), ["2", "3"]);
  });

  test("of another member are answered by hosts of this one, and wait for those alone", () => {
    const rig = new Rig();
    const other = elsewhere("other");
    rig.connect(other);
    rig.ask("foreign", { isForeign: true });
    rig.ask("own");
    assert.deepEqual([names(other), rig.hosts.needed, rig.hosts.freeTurns], [["own"], [], 0]);
    assert.deepEqual(
      [question("1"), question("1", "x")].map((code) => rig.hosts.hasOwnCode(code)),
      [false, false],
    );
    const own = new Host("own");
    rig.connect(own);
    assert.deepEqual([names(own), rig.hosts.hasOwnCode(question("1")), rig.hosts.freeTurns], [["foreign"], true, 9]);
  });

  test("say what code they need, until it is there", () => {
    const rig = new Rig();
    const withdrawn = rig.ask("1");
    rig.ask("2");
    rig.hosts.withdraw(withdrawn);
    const needed = [{ workflow: "w", version: "1" }];
    assert.deepEqual([rig.hosts.needed, rig.waits], [needed, 2]);
    const own = new Host("own");
    rig.connect(own);
    assert.deepEqual(rig.hosts.needed, []);
    rig.hosts.onUnreachable(own);
    assert.deepEqual([rig.hosts.needed, rig.waits], [needed, 3]);
  });

  test("that another member gives back are asked again: a loss counts, and a refusal does not", () => {
    const rig = new Rig();
    const [a, b] = [elsewhere("a"), elsewhere("b", 0)];
    rig.connect(a, b);
    const turn = rig.ask("1");
    turn.giveBack(a, "lost");
    assert.deepEqual([names(a), rig.losses], [["1", "1"], [1]]);
    a.max = 0;
    b.max = 10;
    turn.giveBack(a, "refused");
    assert.deepEqual([names(b), rig.losses], [["1"], [1]]);
    rig.lossesMax = 1;
    turn.giveBack(b, "lost");
    assert.deepEqual([turn.isOver, rig.answers], [true, []]);
    turn.giveBack(b, "lost");
    assert.deepEqual(rig.losses, [1, 2]);
  });

  test("whose worker is out of touch there are put to a second host, and the other is told of the answer", () => {
    const rig = new Rig();
    const [a, b] = [elsewhere("a"), elsewhere("b")];
    rig.connect(a);
    const turn = rig.ask("1");
    turn.giveBack(a, "stalled");
    assert.deepEqual([rig.hosts.needed.length, names(a)], [1, ["1"]]);
    rig.connect(b);
    assert.deepEqual([rig.hosts.needed.length, names(b)], [0, ["1"]]);
    turn.answer(nothing, b);
    assert.deepEqual([rig.answers, a.withdrawn.length, b.withdrawn.length], [["1 by b"], 1, 0]);
  });

  test("that were lost twice may go to another member beside others, which keeps them apart itself", () => {
    const rig = new Rig();
    const other = elsewhere("other");
    rig.connect(other);
    rig.ask("1");
    rig.ask("suspect", { losses: 2 });
    rig.ask("2");
    assert.deepEqual([names(other), rig.hosts.waitingCount], [["1", "suspect", "2"], 0]);
  });
});
