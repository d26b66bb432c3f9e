import { App, Form, Input, Modal } from "antd";
import { useState } from "react";
import { messageOf } from "../api/client.ts";
import { JsonView } from "../parts/json-view.tsx";
import { Problem } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { operationText } from "../text/operation-text.ts";

export interface OperationField {
  readonly name: string;
  readonly label: string;
  readonly kind: "text" | "json" | "number";
  readonly isNeeded?: boolean;
  readonly initial?: string;
}

/** The sentence that says what an operation will do, before it does it. */
export interface Operation {
  readonly key: string;
  readonly label: string;
  readonly sentence: string;
  readonly fields?: readonly OperationField[];
  readonly isDangerous?: boolean;
  /** The result is shown instead of closing the dialog. */
  readonly showsAnswer?: boolean;
  readonly run: (values: Readonly<Record<string, unknown>>) => Promise<unknown>;
}

interface DialogProps {
  readonly operation: Operation | undefined;
  readonly onClose: () => void;
}

export function OperationDialog({ operation, onClose }: DialogProps) {
  return operation === undefined ? null : <Dialog key={operation.key} operation={operation} onClose={onClose} />;
}

function Dialog({ operation, onClose }: { readonly operation: Operation; readonly onClose: () => void }) {
  const text = useText(operationText);
  const { message } = App.useApp();
  const [form] = Form.useForm<Record<string, string>>();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [answer, setAnswer] = useState<{ readonly value: unknown }>();
  const { fields = [], isDangerous = false } = operation;
  const submit = (given: Record<string, string | undefined>): void => {
    setBusy(true);
    setError(undefined);
    operation
      .run(valuesOf(fields, given))
      .then(
        (value) => {
          if (operation.showsAnswer === true) return setAnswer({ value });
          void message.success(text.done(operation.label));
          onClose();
        },
        (problem: unknown) => setError(problem),
      )
      .finally(() => setBusy(false));
  };
  return (
    <Modal
      open
      title={operation.label}
      okText={operation.label}
      okButtonProps={{ danger: isDangerous, loading: isBusy }}
      onOk={() => form.submit()}
      cancelText={text.back}
      onCancel={onClose}
      width={520}
    >
      <p className="operation-sentence">{operation.sentence}</p>
      {isDangerous && <p className="quiet small">{text.undone}</p>}
      <Form form={form} layout="vertical" onFinish={submit} requiredMark={false}>
        {fields.map((field) => (
          <Form.Item
            key={field.name}
            name={field.name}
            label={field.label}
            initialValue={field.initial}
            rules={[
              { required: field.isNeeded ?? false, message: text.needed },
              ...(field.kind === "json" ? [{ validator: checkJson(text.notJson) }] : []),
            ]}
          >
            {field.kind === "json" ? (
              <Input.TextArea rows={5} className="mono" spellCheck={false} />
            ) : (
              <Input spellCheck={false} inputMode={field.kind === "number" ? "numeric" : "text"} />
            )}
          </Form.Item>
        ))}
      </Form>
      {answer !== undefined && <JsonView value={answer.value} label={text.answer} />}
      {error !== undefined && <Problem error={messageOf(error)} />}
    </Modal>
  );
}

function checkJson(notJson: (message: string) => string) {
  return (_rule: unknown, value: string | undefined): Promise<void> => {
    if (value === undefined || value.trim() === "") return Promise.resolve();
    try {
      JSON.parse(value);
      return Promise.resolve();
    } catch (error) {
      return Promise.reject(new Error(notJson(messageOf(error))));
    }
  };
}

/** The fields as values; an empty one is absent. */
function valuesOf(
  fields: readonly OperationField[],
  given: Record<string, string | undefined>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { name, kind } of fields) {
    const text = given[name]?.trim() ?? "";
    if (text === "") continue;
    if (kind === "json") values[name] = JSON.parse(text) as unknown;
    else values[name] = kind === "number" ? Number(text) : text;
  }
  return values;
}
