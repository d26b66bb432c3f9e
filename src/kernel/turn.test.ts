import assert from "node:assert/strict";
import { test } from "node:test";
import type { Command } from "./command.ts";
import { Turn } from "./turn.ts";

test("each command of a turn is taken once, in order, those that come meanwhile too", () => {
  const turn = new Turn(1000, 0);
  assert.equal(turn.takeCommand(), undefined);
  const commands: Command[] = [0, 1, 2].map((task) => ({ type: "RunTasks", tasks: [task] }));
  for (const command of commands.slice(0, 2)) turn.command(command);
  const taken = [turn.takeCommand()];
  for (const command of commands.slice(2)) turn.command(command);
  taken.push(turn.takeCommand(), turn.takeCommand());
  assert.deepEqual(taken, commands);
  assert.equal(turn.takeCommand(), undefined);
});
