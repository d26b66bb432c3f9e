import { call } from "../api/client.ts";
import type { ScheduleView } from "../api/model.ts";
import { instancePath, navigate } from "../base/place.ts";
import type { Operation } from "../instance/operation-dialog.tsx";
import type { Bilingual } from "../text/define-text.ts";
import type { systemText } from "../text/system-text.ts";

type Words = typeof systemText extends Bilingual<infer T> ? Bilingual<T>["zh"] : never;

export function newScheduleOperation(text: Words): Operation {
  return {
    key: "new",
    label: text.newSchedule,
    sentence: text.newScheduleSays,
    fields: [
      { name: "scheduleId", label: text.scheduleId, kind: "text", isNeeded: true },
      { name: "workflow", label: text.workflow, kind: "text", isNeeded: true },
      { name: "cron", label: text.cron, kind: "text", isNeeded: true, initial: "0 2 * * *" },
      { name: "timeZone", label: text.timeZone, kind: "text" },
      { name: "input", label: text.input, kind: "json" },
    ],
    run: async ({ scheduleId, workflow, cron, timeZone, input }) => {
      const every = { cron: String(cron), ...(typeof timeZone === "string" && { timeZone }) };
      const body = { scheduleId: String(scheduleId), workflow: String(workflow), every, input };
      await call("createSchedule", { body });
    },
  };
}

/** Operations on a schedule, the most likely first. */
export function scheduleOperations({ scheduleId: id, isEnabled }: ScheduleView, text: Words): Operation[] {
  const params = { id };
  return [
    {
      key: `trigger:${id}`,
      label: text.trigger,
      sentence: text.triggerSays(id),
      run: async () => {
        const { instanceId } = await call("triggerSchedule", { params });
        navigate(instancePath(instanceId));
      },
    },
    isEnabled
      ? {
          key: `pause:${id}`,
          label: text.pause,
          sentence: text.pauseSays(id),
          run: () => call("pauseSchedule", { params }),
        }
      : {
          key: `resume:${id}`,
          label: text.resume,
          sentence: text.resumeSays(id),
          run: () => call("resumeSchedule", { params }),
        },
    {
      key: `backfill:${id}`,
      label: text.backfill,
      sentence: text.backfillSays(id),
      showsAnswer: true,
      fields: [
        { name: "from", label: text.from, kind: "text", isNeeded: true },
        { name: "to", label: text.to, kind: "text", isNeeded: true },
      ],
      run: ({ from, to }) =>
        call("backfillSchedule", { params, body: { from: momentOf(from), to: momentOf(to), parallelism: 1 } }),
    },
    {
      key: `remove:${id}`,
      label: text.remove,
      sentence: text.removeSchedule(id),
      isDangerous: true,
      run: async () => {
        await call("deleteSchedule", { params });
        navigate("/schedules");
      },
    },
  ];
}

function momentOf(text: unknown): number {
  const at = Date.parse(String(text).replace(" ", "T"));
  if (Number.isNaN(at)) throw new Error(`${String(text)}: YYYY-MM-DD hh:mm`);
  return at;
}
