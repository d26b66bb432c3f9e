import { Button, Form, Input } from "antd";
import { useState } from "react";
import type { Session } from "../../../src/api/session.ts";
import { messageOf, openSession } from "../api/client.ts";
import { setPreferences, usePreferences } from "../base/preferences.ts";
import { Command } from "../parts/copy.tsx";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";
import { Logo } from "./logo.tsx";

export function SignIn({ onSignedIn }: { readonly onSignedIn: (session: Session) => void }) {
  const text = useText(shellText);
  const { language } = usePreferences();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = ({ token }: { token: string }): void => {
    setBusy(true);
    void openSession(token.trim())
      .then(onSignedIn, (error: unknown) => setProblem(messageOf(error)))
      .finally(() => setBusy(false));
  };
  return (
    <main className="sign-in">
      <section className="sign-in-card">
        <Logo />
        <h1>{text.signInTitle}</h1>
        <Form layout="vertical" onFinish={submit} requiredMark={false}>
          <Form.Item name="token" label={text.token} rules={[{ required: true, message: text.tokenNeeded }]}>
            <Input.Password autoFocus autoComplete="current-password" spellCheck={false} placeholder="hdl_…" />
          </Form.Item>
          {problem !== undefined && (
            <p className="problem tone-failed" role="alert">
              {problem}
            </p>
          )}
          <Button type="primary" htmlType="submit" block loading={isBusy}>
            {text.signIn}
          </Button>
        </Form>
        <p className="quiet small">{text.signInHint}</p>
        <Command>heddle token create me --role operator</Command>
        <button
          type="button"
          className="top-button"
          onClick={() => setPreferences({ language: language === "en" ? "zh" : "en" })}
        >
          {language === "en" ? "中文" : "English"}
        </button>
      </section>
    </main>
  );
}
