/**
 * Interprets a small language: a program is data, its statements are activities, sequences and parallel branches.
 * Elsewhere: "dsl-interpreter" in Temporal's samples.
 */
import { defineJob, defineWorkflow, type WorkflowContext } from "../../src/index.ts";

export type Statement =
  | { readonly call: string; readonly with: readonly string[]; readonly into: string }
  | { readonly sequence: readonly Statement[] }
  | { readonly parallel: readonly Statement[] };

export interface Program {
  readonly variables: Readonly<Record<string, number>>;
  readonly body: Statement;
}

export const sumUp = defineJob("sum-up", (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0));
export const multiply = defineJob("multiply", (values: readonly number[]) =>
  values.reduce((product, value) => product * value, 1),
);

export const interpret = defineWorkflow("interpret", async (ctx, program: Program) => {
  const variables: Record<string, number> = { ...program.variables };
  await execute(ctx, program.body, variables);
  return variables;
});

async function execute(ctx: WorkflowContext, statement: Statement, variables: Record<string, number>): Promise<void> {
  if ("sequence" in statement) {
    for (const each of statement.sequence) await execute(ctx, each, variables);
  } else if ("parallel" in statement) {
    await ctx.all(statement.parallel.map((each) => execute(ctx, each, variables)));
  } else {
    const values = statement.with.map((name) => variables[name] ?? 0);
    variables[statement.into] = (await ctx.run(statement.call, values)) as number;
  }
}
