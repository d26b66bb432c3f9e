import { useInfiniteQuery } from "@tanstack/react-query";
import { Button, Input } from "antd";
import { call } from "../api/client.ts";
import { changeQuery, usePlace } from "../base/place.ts";
import { Moment } from "../parts/moment.tsx";
import { Card, EmptyState, Loading, PageHead, Problem } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";
import { systemText } from "../text/system-text.ts";

const pageSize = 100;

export function AuditPage() {
  const text = useText(systemText);
  const title = useText(shellText).audit;
  const { query } = usePlace();
  const who = query.get("who") ?? "";
  const operation = query.get("operation") ?? "";
  const log = useInfiniteQuery({
    queryKey: ["audit", who, operation],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      call("listAudit", {
        query: {
          limit: pageSize,
          ...(cursor !== undefined && { cursor }),
          ...(who !== "" && { who }),
          ...(operation !== "" && { operation }),
        },
      }),
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: 10_000,
  });
  const lines = (log.data?.pages ?? []).flatMap(({ items }) => items);
  return (
    <>
      <PageHead title={title} />
      <div className="filters">
        <Input.Search
          className="grow"
          allowClear
          defaultValue={who}
          placeholder={text.who}
          aria-label={text.who}
          onSearch={(value) => changeQuery({ who: value.trim() })}
        />
        <Input.Search
          className="grow"
          allowClear
          defaultValue={operation}
          placeholder={text.what}
          aria-label={text.what}
          onSearch={(value) => changeQuery({ operation: value.trim() })}
        />
      </div>
      {log.error !== null && <Problem error={log.error} onRetry={() => void log.refetch()} />}
      <Card flush>
        {log.data === undefined && log.error === null && <Loading />}
        {log.data !== undefined && lines.length === 0 && <EmptyState title={text.noAudit} icon="audit" />}
        {lines.length > 0 && <AuditTable lines={lines} />}
        {log.hasNextPage && (
          <div className="table-foot">
            <Button size="small" onClick={() => void log.fetchNextPage()}>
              {text.more}
            </Button>
          </div>
        )}
      </Card>
    </>
  );
}

type Line = Awaited<ReturnType<typeof call<"listAudit">>>["items"][number];

function AuditTable({ lines }: { readonly lines: readonly Line[] }) {
  const text = useText(systemText);
  return (
    <div className="table-wrap">
      <table className="table">
        <thead>
          <tr>
            <th className="fit">{text.at}</th>
            <th>{text.who}</th>
            <th>{text.what}</th>
            <th>{text.target}</th>
            <th className="number">{text.answer}</th>
            <th className="hide-narrow">{text.address}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr key={`${line.number}.${line.at}`}>
              <td className="fit quiet">
                <Moment at={line.at} />
              </td>
              <td className="name">
                {line.who} <span className="quiet small">{line.role}</span>
              </td>
              <td>{line.what}</td>
              <td className="mono wide ellipsis" title={line.target ?? ""}>
                {line.target}
              </td>
              <td className={`number ${line.status >= 400 ? "status tone-failed" : "quiet"}`}>
                {line.status} {line.code} {line.count !== undefined && `×${line.count}`}
              </td>
              <td className="mono quiet hide-narrow">{line.address}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
