import assert from "node:assert/strict";
import { test } from "node:test";
import type { Alert } from "./alert.ts";
import { type AlertTemplate, requestOf } from "./alert-request.ts";

const alert: Alert = {
  kind: "failure",
  namespace: "default",
  instanceId: "a\u202Eb",
  workflow: "<!channel> *urgent* [x](http://evil.example)",
  status: "Failed",
  at: 2000,
  startedAt: 1000,
  reason: '<http://evil.example|click>\nreason: all good <at user_id="all">all</at>',
  failedTasks: [{ name: "t\r\n# h", message: "a & b" }],
};

function textOf(template: AlertTemplate): string {
  const body = JSON.parse(requestOf(alert, { url: "http://x/", template }, 1).body) as Record<string, unknown>;
  const { text, markdown, content } = body as {
    text?: string;
    markdown?: { text: string };
    content?: { text: string };
  };
  return text ?? markdown?.text ?? content?.text ?? "";
}

for (const template of ["slack", "dingtalk", "feishu"] as const) {
  test(`what users write is no markup of ${template}, and stays on its line`, () => {
    const text = textOf(template);
    assert.doesNotMatch(text, /(?<!\\)<[!ha]/);
    assert.doesNotMatch(text, /[\u202E\r]/);
    const lines = text.split("\n");
    assert.equal(lines.length, 7);
    assert.equal(lines.filter((line) => line.includes("reason:")).length, 1);
  });
}

test("Slack is told not to look for markup, and gets its three characters escaped", () => {
  const body = JSON.parse(requestOf(alert, { url: "http://x/", template: "slack" }, 1).body) as object;
  assert.equal((body as { mrkdwn: boolean }).mrkdwn, false);
  assert.match(textOf("slack"), /Workflow &lt;!channel&gt; \*urgent\*/);
  assert.match(textOf("slack"), /a &amp; b/);
});

test("DingTalk's markdown is escaped", () => {
  assert.match(textOf("dingtalk"), /\\<\\!channel\\> \\\*urgent\\\* \\\[x\\\]\\\(http:/);
});
