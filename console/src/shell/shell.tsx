import { Button, Drawer, Dropdown, Tooltip } from "antd";
import { Suspense, useEffect, useState } from "react";
import { useSession } from "../api/session-context.ts";
import { navigate, usePlace } from "../base/place.ts";
import { setPreferences, usePreferences } from "../base/preferences.ts";
import { useNow } from "../base/server-clock.ts";
import { useLiveStatus } from "../live/use-live.ts";
import { Icon } from "../parts/icon.tsx";
import { Link } from "../parts/link.tsx";
import { Boundary, EmptyState, Loading, Problem } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";
import { CommandPalette } from "./command-palette.tsx";
import { KeyHelp } from "./key-help.tsx";
import { useKeys } from "./keys.ts";
import { Logo } from "./logo.tsx";
import { NamespaceSelect } from "./namespace-select.tsx";
import { type NavigationItem, useNavigation } from "./navigation.ts";
import { pageOf } from "./pages.tsx";
import { useIsDark } from "./theme.ts";

function isCurrent(item: NavigationItem, path: string): boolean {
  return item.path === "/" ? path === "/" : path === item.path || path.startsWith(`${item.path}/`);
}

export function Shell() {
  const text = useText(shellText);
  const { path } = usePlace();
  const groups = useNavigation();
  const [isSearching, setSearching] = useState(false);
  const [isHelping, setHelping] = useState(false);
  const goKeys = Object.fromEntries(
    groups.flat().flatMap(({ key, path: to }) => (key === undefined ? [] : [[`g ${key}`, () => navigate(to)]])),
  );
  useKeys({
    ...goKeys,
    "/": () => setSearching(true),
    "ctrl+k": () => setSearching(true),
    "?": () => setHelping(true),
  });
  const page = pageOf(path);
  useEffect(() => {
    const item = groups.flat().find((each) => isCurrent(each, path));
    document.title = item === undefined ? "Heddle" : `${text[item.name]} · Heddle`;
  });
  return (
    <div className="shell">
      <a className="skip-link" href="#content">
        {text.skip}
      </a>
      <Rail />
      <TopBar onSearch={() => setSearching(true)} onHelp={() => setHelping(true)} />
      <main id="content" className="content" tabIndex={-1}>
        <Boundary key={path} fallback={(error) => <Problem error={error} onRetry={() => location.reload()} />}>
          <Suspense fallback={<Loading />}>{page ?? <NotFound />}</Suspense>
        </Boundary>
      </main>
      <BottomTabs />
      <CommandPalette isOpen={isSearching} onClose={() => setSearching(false)} />
      <KeyHelp isOpen={isHelping} onClose={() => setHelping(false)} />
    </div>
  );
}

function NotFound() {
  const text = useText(shellText);
  return (
    <EmptyState title={text.notFound} icon="warning">
      <p>{text.notFoundHint}</p>
      <Button type="primary" onClick={() => navigate("/")}>
        {text.toOverview}
      </Button>
    </EmptyState>
  );
}

function Rail() {
  const text = useText(shellText);
  const { path } = usePlace();
  const { session } = useSession();
  return (
    <nav className="rail" aria-label={text.navigation}>
      <Link to="/" className="brand">
        <Logo />
        <span>Heddle</span>
      </Link>
      {useNavigation().map((group) => (
        <ul key={group[0]?.path}>
          {group.map((item) => (
            <li key={item.path}>
              <Link
                to={item.path}
                className="rail-link"
                title={text[item.name]}
                {...(isCurrent(item, path) && { "aria-current": "page" })}
              >
                <Icon name={item.name} />
                <span>{text[item.name]}</span>
              </Link>
            </li>
          ))}
        </ul>
      ))}
      <div className="rail-foot">{session.version}</div>
    </nav>
  );
}

function BottomTabs() {
  const text = useText(shellText);
  const { path } = usePlace();
  const [isOpen, setOpen] = useState(false);
  const groups = useNavigation();
  const first = groups[0] ?? [];
  return (
    <nav className="tabs-bottom" aria-label={text.more}>
      {first.map((item) => (
        <Link key={item.path} to={item.path} {...(isCurrent(item, path) && { "aria-current": "page" })}>
          <Icon name={item.name} size={18} />
          {text[item.name]}
        </Link>
      ))}
      <button type="button" onClick={() => setOpen(true)}>
        <Icon name="more" size={18} />
        {text.more}
      </button>
      <Drawer open={isOpen} onClose={() => setOpen(false)} placement="bottom" title={text.more} size={420}>
        <ul>
          {groups
            .slice(1)
            .flat()
            .map((item) => (
              <li key={item.path}>
                <Link to={item.path} className="rail-link rail-link-tall" onClick={() => setOpen(false)}>
                  <Icon name={item.name} />
                  <span>{text[item.name]}</span>
                </Link>
              </li>
            ))}
        </ul>
      </Drawer>
    </nav>
  );
}

function TopBar({ onSearch, onHelp }: { readonly onSearch: () => void; readonly onHelp: () => void }) {
  const text = useText(shellText);
  const { language, zone } = usePreferences();
  const isDark = useIsDark();
  return (
    <header className="top">
      <button type="button" className="search-button" aria-label={text.searchHint} onClick={onSearch}>
        <Icon name="search" size={14} />
        <span>{text.searchHint}</span>
        <kbd>/</kbd>
      </button>
      <NamespaceSelect />
      <div className="top-end">
        <LivePill />
        <Tooltip title={text.zone}>
          <button
            type="button"
            className="top-button top-wide"
            onClick={() => setPreferences({ zone: zone === "utc" ? "local" : "utc" })}
          >
            {zone === "utc" ? text.utc : text.local}
          </button>
        </Tooltip>
        <Tooltip title={text.language}>
          <button
            type="button"
            className="top-button"
            onClick={() => setPreferences({ language: language === "en" ? "zh" : "en" })}
          >
            {language === "en" ? "中" : "EN"}
          </button>
        </Tooltip>
        <Tooltip title={text.theme}>
          <button
            type="button"
            className="top-button"
            aria-label={`${text.theme}: ${isDark ? text.dark : text.light}`}
            onClick={() => setPreferences({ theme: isDark ? "light" : "dark" })}
          >
            <Icon name={isDark ? "moon" : "sun"} />
          </button>
        </Tooltip>
        <UserMenu onHelp={onHelp} />
      </div>
    </header>
  );
}

function UserMenu({ onHelp }: { readonly onHelp: () => void }) {
  const text = useText(shellText);
  const { session, signOut } = useSession();
  const items = [
    { key: "role", label: session.isOpen ? text.openAccess : text.role(session.role), disabled: true },
    { key: "keys", label: text.keys, onClick: onHelp },
    { key: "docs", label: text.documents, onClick: () => window.open("/api/docs", "_blank", "noopener") },
    { key: "settings", label: text.settings, onClick: () => navigate("/settings") },
    ...(session.isOpen ? [] : [{ key: "out", label: text.signOut, onClick: signOut }]),
  ];
  return (
    <Dropdown menu={{ items }} trigger={["click"]} placement="bottomRight">
      <button type="button" className="top-button" aria-label={session.name}>
        <Icon name="user" />
        <span className="top-wide">{session.name}</span>
      </button>
    </Dropdown>
  );
}

function LivePill() {
  const text = useText(shellText);
  const status = useLiveStatus();
  useNow();
  switch (status.kind) {
    case "live":
      return (
        <Tooltip title={text.liveHint}>
          <span className="live-pill tone-success" role="status">
            {text.live}
          </span>
        </Tooltip>
      );
    case "partial":
      return (
        <Tooltip title={text.hearsHint}>
          <span className="live-pill tone-success" role="status">
            {text.hears(status.heard, status.members)}
          </span>
        </Tooltip>
      );
    case "waiting":
      return (
        <Tooltip title={text.waitHint}>
          <span className="live-pill tone-waiting" role="status">
            {text.reconnecting(Math.max(0, Math.ceil((status.retryAt - Date.now()) / 1000)))}
          </span>
        </Tooltip>
      );
    default:
      return (
        <span className="live-pill" role="status">
          {text.connecting}
        </span>
      );
  }
}
