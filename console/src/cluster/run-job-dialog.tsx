import { Modal } from "antd";
import { call } from "../api/client.ts";
import type { JobView } from "../api/model.ts";
import { instancePath, navigate } from "../base/place.ts";
import { focusFirst } from "../parts/focus-first.ts";
import { Problem } from "../parts/page.tsx";
import { InputEditor, useInputForm } from "../schema/input-editor.tsx";
import type { JsonSchema } from "../schema/json-schema.ts";
import { useSubmit } from "../schema/use-submit.ts";
import { useText } from "../text/define-text.ts";
import { systemText } from "../text/system-text.ts";

/** The schema of a job's parameters; text is the function's parameter list, of which no form can be made. */
function schemaOf({ parameters }: JobView): JsonSchema | undefined {
  return typeof parameters === "object" && parameters !== null ? parameters : undefined;
}

export function RunJobDialog({ job, onClose }: { readonly job: JobView; readonly onClose: () => void }) {
  const text = useText(systemText);
  const form = useInputForm(schemaOf(job));
  const { name } = job;
  const { submit, error, isBusy } = useSubmit(form, async (body) => {
    const { instanceId } = await call("runJob", { params: { name }, body });
    navigate(instancePath(instanceId));
  });
  return (
    <Modal
      open
      title={`${text.run} ${name}`}
      okText={text.run}
      okButtonProps={{ loading: isBusy }}
      onOk={submit}
      onCancel={onClose}
      afterOpenChange={focusFirst}
      width={560}
    >
      <p className="operation-sentence">{text.runSays(name)}</p>
      <InputEditor form={form} />
      {error !== undefined && <Problem error={error} />}
    </Modal>
  );
}
