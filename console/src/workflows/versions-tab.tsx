import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Button } from "antd";
import { useState } from "react";
import { call } from "../api/client.ts";
import type { WorkflowDetail } from "../api/model.ts";
import { useMay } from "../api/session-context.ts";
import { type Operation, OperationDialog } from "../instance/operation-dialog.tsx";
import { DiffList } from "../parts/diff-list.tsx";
import { Moment } from "../parts/moment.tsx";
import { Card, EmptyState, Loaded } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { workflowsText } from "../text/workflows-text.ts";

export function VersionsTab({ workflow }: { readonly workflow: WorkflowDetail }) {
  const text = useText(workflowsText);
  if (workflow.origin !== "catalogue") {
    return (
      <Card>
        <EmptyState title={text.noVersions} icon="jobs" />
      </Card>
    );
  }
  return <SavedVersions name={workflow.name} />;
}

function SavedVersions({ name }: { readonly name: string }) {
  const text = useText(workflowsText);
  const mayOperate = useMay("operator");
  const client = useQueryClient();
  const [operation, setOperation] = useState<Operation>();
  const [compared, setCompared] = useState<{ from: string; to: string }>();
  const versions = useQuery({
    queryKey: ["versions", name],
    queryFn: () => call("listWorkflowVersions", { params: { id: name }, query: { limit: 200 } }),
  });
  const rollBack = (version: string): Operation => ({
    key: `rollback:${version}`,
    label: text.rollBack,
    sentence: text.rollBackSays(version),
    run: async () => {
      await call("rollBackWorkflow", { params: { id: name }, body: { version } });
      await client.invalidateQueries();
    },
  });
  return (
    <Loaded result={versions}>
      {({ items }) => (
        <div className="stack">
          <Card flush>
            <table className="table">
              <tbody>
                {items.map(({ version, at, by, isCurrent, operation: what }, number) => {
                  const before = items[number + 1];
                  return (
                    <tr key={`${version}${at}`}>
                      <td className="mono">{version}</td>
                      <td className="quiet">{isCurrent ? text.current : what}</td>
                      <td>
                        <Moment at={at} />
                      </td>
                      <td className="quiet">{by === null ? "" : text.by(by)}</td>
                      <td className="fit">
                        {before !== undefined && (
                          <Button size="small" onClick={() => setCompared({ from: before.version, to: version })}>
                            {text.compare}
                          </Button>
                        )}{" "}
                        {mayOperate && !isCurrent && (
                          <Button size="small" onClick={() => setOperation(rollBack(version))}>
                            {text.rollBack}
                          </Button>
                        )}
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </Card>
          {compared !== undefined && <Difference name={name} {...compared} />}
          <OperationDialog operation={operation} onClose={() => setOperation(undefined)} />
        </div>
      )}
    </Loaded>
  );
}

function Difference({ name, from, to }: { readonly name: string; readonly from: string; readonly to: string }) {
  const diff = useQuery({
    queryKey: ["diff", name, from, to],
    queryFn: () => call("diffWorkflow", { params: { id: name }, query: { from, to } }),
    staleTime: Infinity,
  });
  return (
    <Card title={`${from.slice(0, 12)} → ${to.slice(0, 12)}`}>
      <Loaded result={diff}>{({ changes }) => <DiffList changes={changes} />}</Loaded>
    </Card>
  );
}
