/** A member of a cluster in a process of its own: starts, tells and answers as its parent says. */
import { unreachable } from "../../src/base/assert.ts";
import { defineJob, defineWorkflow, Engine } from "../../src/index.ts";
import { nats } from "../../src/nats.ts";
import { storage } from "../../src/storage.ts";

export interface MemberPlace {
  readonly name: string;
  readonly storage: string;
  /** `notify`, or the address of a NATS server. */
  readonly bus: string;
}

/** The words that one instance waits for. */
export const wordCount = 12;

/** A question of the parent process; its answer has the same number. */
export type Question = { readonly number: number } & (
  | { readonly type: "start"; readonly id: string }
  | { readonly type: "raise"; readonly id: string; readonly word: string }
  | { readonly type: "result"; readonly id: string }
  | { readonly type: "bus" }
  | { readonly type: "stop" }
);

export interface Answer {
  readonly number: number;
  readonly value?: unknown;
  readonly error?: string;
}

const collect = defineWorkflow("collect", async (ctx) => {
  const words: string[] = [];
  while (words.length < wordCount) words.push(await ctx.waitForEvent<string>("word"));
  return await ctx.run("sort", words);
});

const sort = defineJob("sort", (words: string[]) => words.toSorted());

async function main({ name, storage: address, bus }: MemberPlace): Promise<void> {
  const engine = new Engine({
    storage: await storage(address),
    jobs: [sort],
    workflows: [collect],
    cluster: { name, shards: 8, bus: bus === "notify" ? "notify" : nats(bus) },
    logger: { debug: ignore, info: ignore, warn: ignore, error: report },
  });
  const answerTo = (question: Question): Promise<unknown> => {
    switch (question.type) {
      case "start":
        return engine
          .startWorkflow(collect, undefined, { instanceId: question.id })
          .then(({ instanceId }) => instanceId);
      case "raise":
        return engine.raiseEvent(question.id, "word", question.word);
      case "result":
        return engine.awaitWorkflowInstance(question.id);
      case "bus":
        return Promise.resolve(engine.health.bus);
      case "stop":
        return engine.stop();
      default:
        return unreachable(question, "question");
    }
  };
  process.on("message", (question: Question) => {
    const { number } = question;
    answerTo(question).then(
      (value) => process.send?.({ number, value } satisfies Answer),
      (error: unknown) => process.send?.({ number, error: String(error) } satisfies Answer),
    );
  });
  await engine.start();
  process.send?.({ number: 0 } satisfies Answer);
}

function ignore(): void {}

function report(fields: object, message: string): void {
  process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
}

const [, , place] = process.argv;
if (import.meta.main && place !== undefined) await main(JSON.parse(place) as MemberPlace);
