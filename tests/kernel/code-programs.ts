/** Random workflow code: a small language whose programs are run as async functions. */
import * as fc from "fast-check";
import type { WorkflowContext } from "../../src/authoring/workflow-context.ts";

export type Program =
  | { readonly op: "run"; readonly name: string; readonly isUndone: boolean }
  | { readonly op: "child" | "detach"; readonly whenParentEnds: "terminate" | "cancel" | "leave" }
  | { readonly op: "send" | "status" | "chance" | "fail" }
  | { readonly op: "sleep"; readonly ms: number }
  | { readonly op: "event"; readonly name: string; readonly timeoutMs: number | undefined }
  /** So many promises between one step and the next. */
  | { readonly op: "ticks"; readonly n: number }
  | { readonly op: "seq" | "all" | "race" | "any" | "settled"; readonly parts: readonly Program[] }
  /** Of what can be given up, and is asked for by the code itself; the first is kept for another race. */
  | { readonly op: "waits"; readonly parts: readonly Program[]; readonly isKept: boolean }
  | { readonly op: "try"; readonly body: Program; readonly rescue: Program }
  | { readonly op: "branch"; readonly body: Program; readonly rescue: Program }
  | { readonly op: "saga" | "background"; readonly body: Program };

export interface Code {
  readonly body: Program;
  /** What an update does. */
  readonly update: Program;
  readonly onCancel: Program;
  readonly begins: "once" | "anew";
}

const leaf: fc.Arbitrary<Program> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant("run" as const),
      name: fc.constantFrom("a", "b", "c"),
      isUndone: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("sleep" as const), ms: fc.constantFrom(0, 10, 10, 500) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("event" as const),
      name: fc.constantFrom("e", "f"),
      timeoutMs: fc.constantFrom(undefined, 10, 300),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("ticks" as const), n: fc.nat(5) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constantFrom("send" as const, "status" as const, "chance" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constantFrom("child" as const, "detach" as const),
      whenParentEnds: fc.constantFrom("terminate" as const, "cancel" as const, "leave" as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Program>({ op: "fail" }) },
);

const waits: fc.Arbitrary<Program[]> = fc.array(
  leaf.filter(({ op }) => op === "event" || op === "sleep" || op === "run"),
  { minLength: 2, maxLength: 4 },
);

const program: fc.Arbitrary<Program> = fc.letrec<{ program: Program }>((tie) => {
  const parts = fc.array(tie("program"), { minLength: 1, maxLength: 4 });
  const two = { body: tie("program"), rescue: tie("program") };
  return {
    program: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      { weight: 4, arbitrary: leaf },
      { weight: 4, arbitrary: fc.record({ op: fc.constant("seq" as const), parts }) },
      { weight: 4, arbitrary: fc.record({ op: fc.constantFrom("all", "race", "any", "settled"), parts }) },
      {
        weight: 4,
        arbitrary: fc.record({ op: fc.constant("waits" as const), parts: waits, isKept: fc.boolean() }),
      },
      { weight: 2, arbitrary: fc.record({ op: fc.constantFrom("try", "branch"), ...two }) },
      { weight: 2, arbitrary: fc.record({ op: fc.constantFrom("saga", "background"), body: tie("program") }) },
    ),
  };
}).program;

export const code: fc.Arbitrary<Code> = fc.record({
  // Long enough that most of them wait for something; most go on after a failure.
  body: fc
    .tuple(fc.array(program, { minLength: 3, maxLength: 8, size: "max" }), fc.nat(3))
    .map(([parts, frailty]): Program => ({ op: "seq", parts: frailty === 0 ? parts : parts.map(sturdy) })),
  update: program,
  onCancel: leaf,
  begins: fc.constantFrom("once" as const, "once" as const, "anew" as const),
});

function sturdy(body: Program): Program {
  return { op: "try", body, rescue: { op: "status" } };
}

export function functionOf({ body, update, onCancel, begins }: Code): (ctx: WorkflowContext) => Promise<unknown> {
  return async (ctx) => {
    ctx.onUpdate("set", () => exec(ctx, update));
    ctx.onCancel(() => exec(ctx, onCancel).then(() => undefined));
    const result = await exec(ctx, body);
    return begins === "once" ? result : await ctx.continueAsNew(result, { keepEvents: true });
  };
}

/** Gives back something of what it heard, so that a value that differs in a replay differs in a later step too. */
async function exec(ctx: WorkflowContext, program: Program): Promise<unknown> {
  switch (program.op) {
    case "run": {
      const { name, isUndone } = program;
      if (!isUndone) return await ctx.run(name);
      return await ctx.run(name, undefined, { undo: (output) => ctx.run("undo", output).then(() => undefined) });
    }
    case "child":
      return await ctx.callChild("child", ctx.now(), { whenParentEnds: program.whenParentEnds });
    case "detach":
      return ctx.startChild("child", undefined, { whenParentEnds: program.whenParentEnds });
    case "send":
      return ctx.sendEvent("other", "go", ctx.now());
    case "status":
      return ctx.setCustomStatus(ctx.now());
    case "chance":
      return await ctx.run("a", [ctx.random(), ctx.uuid(), ctx.now()]);
    case "fail":
      throw new Error("the code fails");
    case "sleep":
      return await ctx.sleep(program.ms);
    case "event": {
      const { name, timeoutMs } = program;
      return await ctx.waitForEvent(name, timeoutMs === undefined ? {} : { timeoutMs });
    }
    case "ticks":
      for (let n = 0; n < program.n; n++) await Promise.resolve();
      return undefined;
    default:
      return await execBlock(ctx, program);
  }
}

/** The promise that the context gave, or one that was derived from it. */
function waitOf(ctx: WorkflowContext, program: Program): Promise<unknown> {
  if (program.op === "sleep") return ctx.sleep(program.ms);
  if (program.op !== "event") return exec(ctx, program);
  const { name, timeoutMs } = program;
  if (timeoutMs === undefined) return ctx.waitForEvent(name);
  return ctx.waitForEvent(name, { timeoutMs }).then((value) => value);
}

/** To code whose instance has ended the context throws: nobody looks at the waits before that one any more. */
function waitsOf(ctx: WorkflowContext, parts: readonly Program[]): Promise<unknown>[] {
  const waits: Promise<unknown>[] = [];
  try {
    for (const part of parts) waits.push(waitOf(ctx, part));
    return waits;
  } catch (error) {
    void Promise.allSettled(waits);
    throw error;
  }
}

type Block = Extract<Program, { parts: unknown } | { body: unknown }>;

async function execBlock(ctx: WorkflowContext, program: Block): Promise<unknown> {
  switch (program.op) {
    case "seq": {
      let last: unknown;
      for (const part of program.parts) last = await exec(ctx, part);
      // Whatever was heard is part of the next step.
      ctx.setCustomStatus(last ?? null);
      return last;
    }
    case "all":
      return await ctx.all(program.parts.map((part) => exec(ctx, part)));
    case "race":
      return await ctx.race(program.parts.map((part) => exec(ctx, part)));
    case "any":
      return await ctx.any(program.parts.map((part) => exec(ctx, part)));
    case "waits": {
      const [kept, ...others] = waitsOf(ctx, program.parts);
      const first = await ctx.race([kept, ...others]);
      return program.isKept ? [first, await ctx.any([ctx.sleep(20), kept])] : first;
    }
    case "settled":
      return (await Promise.allSettled(program.parts.map((part) => exec(ctx, part)))).map(({ status }) => status);
    case "try":
      try {
        return await exec(ctx, program.body);
      } catch {
        return await exec(ctx, program.rescue);
      }
    case "branch":
      return await exec(ctx, ctx.random() < 0.5 ? program.body : program.rescue);
    case "saga":
      return await ctx.saga((own) => exec(own, program.body));
    case "background":
      void exec(ctx, program.body).catch(() => undefined);
      return undefined;
    default:
      throw new Error("no such block");
  }
}
