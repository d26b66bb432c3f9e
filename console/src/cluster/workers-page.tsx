import { useQuery } from "@tanstack/react-query";
import { Button, InputNumber } from "antd";
import { useState } from "react";
import { call } from "../api/client.ts";
import type { WorkerView } from "../api/model.ts";
import { useMay } from "../api/session-context.ts";
import { workflowPath } from "../base/place.ts";
import { type Operation, OperationDialog } from "../instance/operation-dialog.tsx";
import { Command } from "../parts/copy.tsx";
import { Link } from "../parts/link.tsx";
import { Moment } from "../parts/moment.tsx";
import { Card, EmptyState, Loaded, PageHead } from "../parts/page.tsx";
import { StatusTag } from "../parts/status-tag.tsx";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";
import { systemText } from "../text/system-text.ts";

export function WorkersPage() {
  const text = useText(systemText);
  const title = useText(shellText).workers;
  const isAdmin = useMay("admin");
  const [operation, setOperation] = useState<Operation>();
  const workers = useQuery({ queryKey: ["workers"], queryFn: () => call("listWorkers"), refetchInterval: 2000 });
  const drainOf = (worker: string): Operation => ({
    key: `drain:${worker}`,
    label: text.drain,
    sentence: text.drainSays(worker),
    isDangerous: true,
    run: () => call("drain", { body: { worker } }),
  });
  return (
    <>
      <PageHead title={title} actions={<PoolSize />} />
      <Loaded result={workers}>
        {(items) => (
          <Card flush>
            {items.length === 0 ? (
              <EmptyState title={text.noWorkers} icon="workers" />
            ) : (
              <div className="table-wrap">
                <table className="table">
                  <thead>
                    <tr>
                      <th className="fit">{text.status}</th>
                      <th>{text.worker}</th>
                      <th>{text.slots}</th>
                      <th className="hide-narrow">{text.jobs}</th>
                      <th className="hide-narrow">{text.workflows}</th>
                      <th className="hide-narrow">{text.heard}</th>
                      {isAdmin && <th className="fit" aria-label={text.drain} />}
                    </tr>
                  </thead>
                  <tbody>
                    {items.map((worker) => (
                      <WorkerRow
                        key={worker.address}
                        worker={worker}
                        onDrain={isAdmin ? () => setOperation(drainOf(worker.address)) : undefined}
                      />
                    ))}
                  </tbody>
                </table>
              </div>
            )}
          </Card>
        )}
      </Loaded>
      <div className="page-teach">
        <p className="quiet">{text.addWorker}</p>
        <Command>{`npx heddle worker jobs.ts --url ${location.origin}`}</Command>
      </div>
      <OperationDialog operation={operation} onClose={() => setOperation(undefined)} />
    </>
  );
}

const statuses: Readonly<Record<string, string>> = { up: "Success", draining: "Paused", unreachable: "Failed" };

interface RowProps {
  readonly worker: WorkerView;
  readonly onDrain: (() => void) | undefined;
}

function WorkerRow({ worker, onDrain }: RowProps) {
  const text = useText(systemText);
  const { address, status, runningTasks, slots, lastHeardAt, jobs, tags, workflows } = worker;
  return (
    <tr>
      <td className="fit">
        <StatusTag status={statuses[status] ?? status} label={status} />
      </td>
      <td>
        <span className="mono">{address}</span>
        {tags.map((tag) => (
          <span key={tag} className="worker-tag">
            {tag}
          </span>
        ))}
      </td>
      <td>
        <span className="slots">
          <span className="meter tone-running">
            <i style={{ width: `${Math.min(100, (runningTasks / Math.max(1, slots)) * 100)}%` }} />
          </span>
          {runningTasks}/{slots}
        </span>
      </td>
      <td className="hide-narrow quiet" title={jobs.join(", ")}>
        {jobs.length}
      </td>
      <td className="hide-narrow">
        {workflows.map(({ name, version }) => (
          <Link key={`${name} ${version}`} to={workflowPath(name)} className="link worker-workflow" title={version}>
            {name}
          </Link>
        ))}
      </td>
      <td className="hide-narrow quiet">{lastHeardAt === null ? text.ownPool : <Moment at={lastHeardAt} />}</td>
      {onDrain !== undefined && (
        <td className="fit">
          <Button size="small" danger disabled={status === "draining"} onClick={onDrain}>
            {text.drain}
          </Button>
        </td>
      )}
    </tr>
  );
}

function PoolSize() {
  const text = useText(systemText);
  const mayOperate = useMay("operator");
  const executor = useQuery({ queryKey: ["executor"], queryFn: () => call("getExecutor"), refetchInterval: 5000 });
  if (executor.data === undefined || !mayOperate) return null;
  const own = executor.data.poolSize - executor.data.workerSlots;
  const resize = (size: number): void => {
    if (size === own || !(size >= 1)) return;
    void call("resizePool", { body: { poolSize: size } }).then(() => executor.refetch());
  };
  return (
    <label className="inline-field" title={text.poolSays}>
      {text.pool}
      <InputNumber
        key={own}
        size="small"
        min={1}
        max={10_000}
        defaultValue={own}
        onPressEnter={(event) => resize(Number(event.currentTarget.value))}
        onBlur={(event) => resize(Number(event.target.value))}
      />
    </label>
  );
}
