import { TaskBuilder, type Workflow, WorkflowBuilder } from "../../src/index.ts";
import { type SimulatedCluster, type SimulatedMember, workerTag } from "./simulated-cluster.ts";

const task = (): TaskBuilder => new TaskBuilder("task").withJobFunction("work");

const single = (name: string, builder = task()): WorkflowBuilder =>
  new WorkflowBuilder().withName(name).withTask(builder);

/** One of each is started by turns. */
function workflowsOf(maxInstances: number): Workflow[] {
  const child = single("child").build();
  return [
    single("plain").build(),
    single("on-worker", task().withWorkerTags(workerTag)).build(),
    single("in-domain", task().withDomain("shared")).build(),
    single("limited").withMaxInstances(maxInstances).build(),
    new WorkflowBuilder().withName("parent").withTask(new TaskBuilder("child").withNestedWorkflow(child)).build(),
  ];
}

/** Starts so many instances per second at every member. Returns the number of those that have ended. */
export async function playLoad(
  cluster: SimulatedCluster,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<number> {
  const workflows = workflowsOf(10 * cluster.size.members);
  const { time } = cluster;
  let ended = 0;
  const run = async ({ engine }: SimulatedMember, workflow: Workflow): Promise<void> => {
    await (await engine.submitWorkflow(workflow)).result();
    ended++;
  };
  const client = async (member: SimulatedMember, place: number): Promise<void> => {
    await time.sleep((1000 / perSecond) * (place / cluster.members.length));
    for (let number = place; number < place + perSecond * seconds && !member.isDead; number++) {
      const workflow = workflows[number % workflows.length];
      if (workflow !== undefined) void run(member, workflow).catch(() => undefined);
      await time.sleep(1000 / perSecond);
    }
  };
  await Promise.all(cluster.living.map(client));
  return ended;
}
