/** A ready-made job in place of one of PowerJob's official processors. */
export interface ReadyMadeJob {
  readonly jobName: string;
  readonly params: object;
  readonly remark?: string;
}

/** The ready-made job that does what a processor does with these params; undefined if there is none. */
export function readyMadeOf(processor: string, params: string): ReadyMadeJob | undefined {
  switch (processor.trim().split(".").at(-1)) {
    case "HttpProcessor":
      return httpOf(params);
    case "ShellProcessor":
      return commandOf(params, { jobName: "shell", params: { command: params } });
    case "PythonProcessor":
      return commandOf(params, { jobName: "script", params: { language: "python", source: params } });
    default:
      return undefined;
  }
}

interface HttpParams {
  readonly url?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly mediaType?: string;
  readonly timeout?: number;
}

function httpOf(text: string): ReadyMadeJob | undefined {
  const given = objectOf(text);
  if (typeof given?.url !== "string") return undefined;
  const { url, method, headers, body, mediaType, timeout } = given;
  return {
    jobName: "http",
    params: {
      url,
      ...(method !== undefined && { method: method.toUpperCase() }),
      ...(headers !== undefined && { headers }),
      ...(body !== undefined && { body }),
      ...(mediaType !== undefined && { mediaType }),
      ...(timeout !== undefined && { timeoutSeconds: timeout }),
      expectStatus: [200],
    },
    remark: "runs as the ready-made job http: secrets in url, headers or body belong into references",
  };
}

function objectOf(text: string): HttpParams | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A script at an address would have to be downloaded first. */
function commandOf(params: string, job: ReadyMadeJob): ReadyMadeJob | undefined {
  if (params.trim() === "" || /^https?:\/\/\S+$/.test(params.trim())) return undefined;
  return { ...job, remark: `runs as the ready-made job ${job.jobName}, which workers have only with allowShell` };
}
