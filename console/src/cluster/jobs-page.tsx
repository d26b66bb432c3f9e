import { useQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { useState } from "react";
import { call } from "../api/client.ts";
import type { JobView } from "../api/model.ts";
import { useMay } from "../api/session-context.ts";
import { Moment } from "../parts/moment.tsx";
import { Card, EmptyState, Loaded, PageHead } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";
import { systemText } from "../text/system-text.ts";
import { RunJobDialog } from "./run-job-dialog.tsx";

export function JobsPage() {
  const text = useText(systemText);
  const title = useText(shellText).jobs;
  const mayOperate = useMay("operator");
  const [run, setRun] = useState<JobView>();
  const jobs = useQuery({ queryKey: ["jobs"], queryFn: () => call("listJobs"), refetchInterval: 15_000 });
  return (
    <>
      <PageHead title={title} />
      <Loaded result={jobs}>
        {({ items }) => (
          <Card flush>
            {items.length === 0 ? (
              <EmptyState title={text.noJobs} icon="jobs" command="npx heddle dev jobs.ts">
                {text.noJobsHint}
              </EmptyState>
            ) : (
              <JobTable items={items} onRun={mayOperate ? setRun : undefined} />
            )}
          </Card>
        )}
      </Loaded>
      {run !== undefined && <RunJobDialog job={run} onClose={() => setRun(undefined)} />}
    </>
  );
}

function parametersOf({ parameters }: JobView): string {
  if (parameters === null || parameters === undefined) return "";
  return typeof parameters === "string" ? parameters : JSON.stringify(parameters);
}

interface JobTableProps {
  readonly items: readonly JobView[];
  readonly onRun: ((job: JobView) => void) | undefined;
}

function JobTable({ items, onRun }: JobTableProps) {
  const text = useText(systemText);
  return (
    <div className="table-wrap">
      <table className="table">
        <thead>
          <tr>
            <th>{text.job}</th>
            <th>{text.parameters}</th>
            <th className="hide-narrow">{text.code}</th>
            <th className="hide-narrow">{text.registered}</th>
            {onRun !== undefined && <th className="fit" aria-label={text.run} />}
          </tr>
        </thead>
        <tbody>
          {items.map((job) => (
            <tr key={job.id}>
              <td className="name">
                {job.name} {job.missing && <span className="status tone-waiting">{text.missing}</span>}
              </td>
              <td className="mono wide ellipsis" title={parametersOf(job)}>
                {parametersOf(job)}
              </td>
              <td className="mono quiet hide-narrow wide ellipsis" title={job.codePath}>
                {job.codePath}
              </td>
              <td className="quiet hide-narrow">
                <Moment at={job.createdAt} />
              </td>
              {onRun !== undefined && (
                <td className="fit">
                  <Button size="small" disabled={job.missing} onClick={() => onRun(job)}>
                    {text.run}
                  </Button>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
