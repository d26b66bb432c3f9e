import { lazy, type ReactNode } from "react";

const Overview = lazy(() => import("../overview/overview-page.tsx").then((m) => ({ default: m.OverviewPage })));
const Instances = lazy(() => import("../instances/instances-page.tsx").then((m) => ({ default: m.InstancesPage })));
const Instance = lazy(() => import("../instance/instance-page.tsx").then((m) => ({ default: m.InstancePage })));
const Settings = lazy(() => import("../admin/settings-page.tsx").then((m) => ({ default: m.SettingsPage })));

const Workflows = lazy(() => import("../workflows/workflows-page.tsx").then((m) => ({ default: m.WorkflowsPage })));
const Workflow = lazy(() => import("../workflows/workflow-page.tsx").then((m) => ({ default: m.WorkflowPage })));
const Editor = lazy(() => import("../editor/editor-page.tsx").then((m) => ({ default: m.EditorPage })));
const Schedules = lazy(() => import("../schedules/schedules-page.tsx").then((m) => ({ default: m.SchedulesPage })));
const Schedule = lazy(() => import("../schedules/schedules-page.tsx").then((m) => ({ default: m.SchedulePage })));
const Jobs = lazy(() => import("../cluster/jobs-page.tsx").then((m) => ({ default: m.JobsPage })));
const Domains = lazy(() => import("../cluster/domains-page.tsx").then((m) => ({ default: m.DomainsPage })));
const Workers = lazy(() => import("../cluster/workers-page.tsx").then((m) => ({ default: m.WorkersPage })));
const Cluster = lazy(() => import("../cluster/cluster-page.tsx").then((m) => ({ default: m.ClusterPage })));
const Audit = lazy(() => import("../admin/audit-page.tsx").then((m) => ({ default: m.AuditPage })));
const Tokens = lazy(() => import("../admin/tokens-page.tsx").then((m) => ({ default: m.TokensPage })));

/** The page of a path; undefined if there is none. */
export function pageOf(path: string): ReactNode {
  const [first = "", second, ...rest] = path.split("/").slice(1).map(decode);
  const tab = rest[0];
  const isList = second === undefined || second === "";
  switch (first) {
    case "":
      return <Overview />;
    case "instances":
      return isList ? <Instances /> : <Instance key={second} id={second} tab={tab} />;
    case "workflows":
      if (tab === "edit" && !isList) return <Editor key={second} name={second} />;
      return isList ? <Workflows /> : <Workflow key={second} name={second} tab={tab} />;
    case "schedules":
      return isList ? <Schedules /> : <Schedule key={second} id={second} />;
    default:
      return isList ? plainPages[first] : undefined;
  }
}

/** Pages without a part below them. */
const plainPages: Readonly<Record<string, ReactNode>> = {
  jobs: <Jobs />,
  domains: <Domains />,
  workers: <Workers />,
  cluster: <Cluster />,
  audit: <Audit />,
  tokens: <Tokens />,
  settings: <Settings />,
};

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A part that is not encoded text is shown as it is.
    return part;
  }
}
