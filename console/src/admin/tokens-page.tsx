import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input, InputNumber, Modal, Select } from "antd";
import { useState } from "react";
import type { Role } from "../../../src/api/route.ts";
import { call } from "../api/client.ts";
import { serverNow } from "../base/server-clock.ts";
import { type Operation, OperationDialog } from "../instance/operation-dialog.tsx";
import { Command } from "../parts/copy.tsx";
import { Moment } from "../parts/moment.tsx";
import { Card, EmptyState, Loaded, PageHead, Problem } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";
import { systemText } from "../text/system-text.ts";

export function TokensPage() {
  const text = useText(systemText);
  const title = useText(shellText).tokens;
  const client = useQueryClient();
  const [isCreating, setCreating] = useState(false);
  const [operation, setOperation] = useState<Operation>();
  const tokens = useQuery({ queryKey: ["tokens"], queryFn: () => call("listTokens") });
  const readAgain = (): void => void client.invalidateQueries({ queryKey: ["tokens"] });
  const removeOf = (name: string): Operation => ({
    key: `remove:${name}`,
    label: text.remove,
    sentence: text.removeToken(name),
    isDangerous: true,
    run: async () => {
      await call("deleteToken", { params: { name } });
      readAgain();
    },
  });
  return (
    <>
      <PageHead
        title={title}
        actions={
          <Button type="primary" onClick={() => setCreating(true)}>
            {text.newToken}
          </Button>
        }
      />
      <Loaded result={tokens}>
        {({ items }) => (
          <Card flush>
            {items.length === 0 ? (
              <EmptyState title={text.noTokens} icon="tokens" command="npx heddle token create me --role admin">
                {text.noTokensHint}
              </EmptyState>
            ) : (
              <TokenTable items={items} onRemove={(name) => setOperation(removeOf(name))} />
            )}
          </Card>
        )}
      </Loaded>
      {isCreating && (
        <NewToken
          onClose={() => {
            setCreating(false);
            readAgain();
          }}
        />
      )}
      <OperationDialog operation={operation} onClose={() => setOperation(undefined)} />
    </>
  );
}

interface TokenTableProps {
  readonly items: Awaited<ReturnType<typeof call<"listTokens">>>["items"];
  readonly onRemove: (name: string) => void;
}

function TokenTable({ items, onRemove }: TokenTableProps) {
  const text = useText(systemText);
  return (
    <table className="table">
      <thead>
        <tr>
          <th>{text.token}</th>
          <th>{text.role}</th>
          <th>{text.created}</th>
          <th>{text.expires}</th>
          <th className="fit" aria-label={text.remove} />
        </tr>
      </thead>
      <tbody>
        {items.map(({ name, role, createdAt, expiresAt }) => (
          <tr key={name}>
            <td className="name">{name}</td>
            <td>{role}</td>
            <td className="quiet">{createdAt === null ? text.configured : <Moment at={createdAt} />}</td>
            <td className="quiet">{expiresAt === null ? text.never : <Moment at={expiresAt} />}</td>
            <td className="fit">
              {createdAt !== null && (
                <Button size="small" danger onClick={() => onRemove(name)}>
                  {text.remove}
                </Button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface TokenForm {
  readonly name: string;
  readonly role: Role;
  readonly days?: number | null;
}

const dayMs = 86_400_000;
const roles = ["viewer", "operator", "worker", "admin"].map((value) => ({ value, label: value }));

function NewToken({ onClose }: { readonly onClose: () => void }) {
  const text = useText(systemText);
  const [form] = Form.useForm<TokenForm>();
  const [error, setError] = useState<unknown>();
  const [secret, setSecret] = useState<string>();
  const create = ({ name, role, days }: TokenForm): void => {
    setError(undefined);
    const expiry = days == null ? {} : { expiresAt: Math.floor(serverNow() + days * dayMs) };
    call("createToken", { body: { name, role, ...expiry } }).then(({ token }) => setSecret(token), setError);
  };
  return (
    <Modal
      open
      title={text.newToken}
      onCancel={onClose}
      okText={secret === undefined ? text.newToken : text.close}
      onOk={() => (secret === undefined ? form.submit() : onClose())}
    >
      <p className="operation-sentence">{secret === undefined ? text.newTokenSays : text.secret}</p>
      {secret === undefined ? (
        <Form form={form} layout="vertical" onFinish={create} requiredMark={false} initialValues={{ role: "viewer" }}>
          <Form.Item name="name" label={text.tokenName} rules={[{ required: true }]}>
            <Input spellCheck={false} />
          </Form.Item>
          <Form.Item name="role" label={text.role}>
            <Select options={roles} />
          </Form.Item>
          <Form.Item name="days" label={text.days}>
            <InputNumber min={1} max={3650} />
          </Form.Item>
        </Form>
      ) : (
        <Command>{secret}</Command>
      )}
      {error !== undefined && <Problem error={error} />}
    </Modal>
  );
}
