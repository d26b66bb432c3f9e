import { Segmented } from "antd";
import { useSession } from "../api/session-context.ts";
import { type Preferences, setPreferences, usePreferences } from "../base/preferences.ts";
import { Card, PageHead } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";

export function SettingsPage() {
  const text = useText(shellText);
  const { theme, language, zone, palette } = usePreferences();
  const { session } = useSession();
  return (
    <>
      <PageHead title={text.settings} />
      <Card>
        <dl className="facts settings">
          <dt>{text.theme}</dt>
          <dd>
            <Segmented<Preferences["theme"]>
              value={theme}
              onChange={(value) => setPreferences({ theme: value })}
              options={[
                { value: "system", label: text.system },
                { value: "light", label: text.light },
                { value: "dark", label: text.dark },
              ]}
            />
          </dd>
          <dt>{text.language}</dt>
          <dd>
            <Segmented<Preferences["language"]>
              value={language}
              onChange={(value) => setPreferences({ language: value })}
              options={[
                { value: "en", label: "English" },
                { value: "zh", label: "中文" },
              ]}
            />
          </dd>
          <dt>{text.zone}</dt>
          <dd>
            <Segmented<Preferences["zone"]>
              value={zone}
              onChange={(value) => setPreferences({ zone: value })}
              options={[
                { value: "local", label: text.local },
                { value: "utc", label: text.utc },
              ]}
            />
          </dd>
          <dt>{text.palette}</dt>
          <dd>
            <Segmented<Preferences["palette"]>
              value={palette}
              onChange={(value) => setPreferences({ palette: value })}
              options={[
                { value: "standard", label: text.standard },
                { value: "classic", label: text.classic },
              ]}
            />
          </dd>
          <dt>Heddle</dt>
          <dd>
            {session.version} · <a href="/api/docs">{text.documents}</a> · <a href="/status">{text.statusPage}</a>
          </dd>
        </dl>
      </Card>
    </>
  );
}
