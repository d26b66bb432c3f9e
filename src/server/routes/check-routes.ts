import { Workflow } from "../../authoring/workflow.ts";
import { EngineError } from "../../base/error.ts";
import type { DataOf } from "../../api/routes.ts";
import { refuseTooLarge } from "../../catalogue/definition-size.ts";
import { checkWorkflowName } from "../../catalogue/workflow-name.ts";
import { mayStillCome, type WorkflowProblem } from "../../engine/submission.ts";
import type { AuthorizedRequest, Handlers } from "../http/handler.ts";
import type { RouteParts } from "./route-parts.ts";

type Checked = DataOf<"checkWorkflow">;

export function checkRoutes({ engine }: RouteParts): Pick<Handlers, "checkWorkflow"> {
  return {
    checkWorkflow: async ({ body }) => ({ problems: (await problemsOf(engine, body)).map(problemView) }),
  };
}

/** Problems for which a save of the definition would be refused, or would warn. */
async function problemsOf(
  engine: RouteParts["engine"],
  { name, dagSpec }: AuthorizedRequest<"checkWorkflow">["body"],
): Promise<WorkflowProblem[]> {
  try {
    checkWorkflowName(name);
    refuseTooLarge(dagSpec, name);
    const problems: WorkflowProblem[] = [];
    await engine.checkWorkflow(Workflow.fromJSON(dagSpec, { name }), (problem) => problems.push(problem));
    return problems;
  } catch (error) {
    if (error instanceof EngineError && !error.retryable) return [{ error }];
    throw error;
  }
}

function problemView({ error, task }: WorkflowProblem): Checked["problems"][number] {
  const { code, message } = error;
  return { code, message, mayStillCome: mayStillCome(error), ...(task !== undefined && { task }) };
}
