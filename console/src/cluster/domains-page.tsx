import { useQuery, useQueryClient } from "@tanstack/react-query";
import { App, Button, InputNumber } from "antd";
import { useState } from "react";
import { call, messageOf } from "../api/client.ts";
import type { DomainView } from "../api/model.ts";
import { useMay } from "../api/session-context.ts";
import { type Operation, OperationDialog } from "../instance/operation-dialog.tsx";
import { useChanges, useThrottled } from "../live/use-live.ts";
import { Card, Loaded, PageHead } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";
import { systemText } from "../text/system-text.ts";

const sizeMax = 10_000;

export function DomainsPage() {
  const text = useText(systemText);
  const title = useText(shellText).domains;
  const mayOperate = useMay("operator");
  const client = useQueryClient();
  const [operation, setOperation] = useState<Operation>();
  const domains = useQuery({ queryKey: ["domains"], queryFn: () => call("listDomains"), refetchInterval: 5000 });
  const readAgain = useThrottled(() => void client.invalidateQueries({ queryKey: ["domains"] }), 1000);
  useChanges({ all: true }, readAgain, readAgain);
  const create: Operation = {
    key: "new",
    label: text.newDomain,
    sentence: text.newDomainSays,
    fields: [
      { name: "name", label: text.domain, kind: "text", isNeeded: true },
      { name: "size", label: text.size, kind: "number", isNeeded: true, initial: "4" },
    ],
    run: async ({ name, size }) => {
      await call("resizeDomain", { params: { name: String(name) }, body: { size: Number(size) } });
      readAgain();
    },
  };
  return (
    <>
      <PageHead
        title={title}
        actions={mayOperate && <Button onClick={() => setOperation(create)}>{text.newDomain}</Button>}
      />
      <p className="quiet page-hint">{text.domainsHint}</p>
      <Loaded result={domains}>
        {({ items }) => (
          <Card flush>
            <table className="table">
              <thead>
                <tr>
                  <th>{text.domain}</th>
                  <th>{text.running}</th>
                  <th className="number">{text.waiting}</th>
                  <th className="number hide-narrow">{text.priority}</th>
                  <th className="fit">{text.size}</th>
                </tr>
              </thead>
              <tbody>
                {items.map((domain) => (
                  <DomainRow key={domain.domain} domain={domain} mayOperate={mayOperate} onChange={readAgain} />
                ))}
              </tbody>
            </table>
          </Card>
        )}
      </Loaded>
      <OperationDialog operation={operation} onClose={() => setOperation(undefined)} />
    </>
  );
}

interface RowProps {
  readonly domain: DomainView;
  readonly mayOperate: boolean;
  readonly onChange: () => void;
}

function DomainRow({ domain, mayOperate, onChange }: RowProps) {
  const text = useText(systemText);
  const { message } = App.useApp();
  const { domain: name, size, running, waiting, priority } = domain;
  const resize = (to: number): void => {
    call("resizeDomain", { params: { name }, body: { size: to } }).then(
      () => {
        onChange();
        if (to !== size) offerUndo(to);
      },
      (error: unknown) => void message.error(messageOf(error)),
    );
  };
  const offerUndo = (to: number): void => {
    void message.success({
      duration: 10,
      key: name,
      content: (
        <>
          {text.resize(name, to)}{" "}
          <Button size="small" type="link" onClick={() => resize(size)}>
            {text.undo}
          </Button>
        </>
      ),
    });
  };
  return (
    <tr>
      <td className="name">{name}</td>
      <td>
        <span className="slots">
          <span className={`meter tone-${running >= size && waiting > 0 ? "waiting" : "running"}`}>
            <i style={{ width: `${Math.min(100, (running / Math.max(1, size)) * 100)}%` }} />
          </span>
          {running}
        </span>
      </td>
      <td className="number">{waiting}</td>
      <td className="number hide-narrow quiet">{priority}</td>
      <td className="fit">
        {mayOperate ? (
          <InputNumber
            key={size}
            size="small"
            min={1}
            max={sizeMax}
            defaultValue={size}
            aria-label={`${text.size}, ${name}`}
            onPressEnter={(event) => resize(Number(event.currentTarget.value))}
            onBlur={(event) => Number(event.target.value) !== size && resize(Number(event.target.value))}
          />
        ) : (
          size
        )}
      </td>
    </tr>
  );
}
