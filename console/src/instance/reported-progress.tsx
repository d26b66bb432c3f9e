import { Progress } from "antd";
import type { TaskView } from "../api/model.ts";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";

/** The progress that a running job has reported. */
export function ReportedProgress({ progress }: { readonly progress: NonNullable<TaskView["progress"]> }) {
  const text = useText(instanceText);
  const { fraction, message } = progress;
  return (
    <div>
      <Progress percent={Math.round(fraction * 100)} size="small" aria-label={text.progress} />
      {message !== undefined && <p className="quiet small">{message}</p>}
    </div>
  );
}
