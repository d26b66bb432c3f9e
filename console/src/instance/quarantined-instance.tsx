import { Button } from "antd";
import { useState } from "react";
import { call, messageOf } from "../api/client.ts";
import { useMay } from "../api/session-context.ts";
import { PageHead } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";
import { operationText } from "../text/operation-text.ts";
import { type Operation, OperationDialog } from "./operation-dialog.tsx";

/** An instance that the server refuses to touch: why, and the one thing that can be done. */
export function QuarantinedInstance({ id, error }: { readonly id: string; readonly error: unknown }) {
  const text = useText(instanceText);
  const words = useText(operationText);
  const mayOperate = useMay("operator");
  const [operation, setOperation] = useState<Operation>();
  const resume: Operation = {
    key: "resume",
    label: words.resume,
    sentence: words.resumeSays,
    run: () => call("resumeInstance", { params: { id } }),
  };
  return (
    <>
      <PageHead
        title={text.quarantined}
        detail={<span className="mono quiet">{id}</span>}
        actions={
          mayOperate && (
            <Button type="primary" onClick={() => setOperation(resume)}>
              {words.resume}
            </Button>
          )
        }
      />
      <p className="quiet">{text.quarantinedHint}</p>
      <pre className="failure-text">{messageOf(error)}</pre>
      <OperationDialog operation={operation} onClose={() => setOperation(undefined)} />
    </>
  );
}
