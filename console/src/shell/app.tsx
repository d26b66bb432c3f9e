import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { App as AntApp, ConfigProvider } from "antd";
import zhCN from "antd/locale/zh_CN";
import { useEffect, useMemo, useState } from "react";
import type { Session } from "../../../src/api/session.ts";
import { endSession, namespaceQuery, readSession, whenSignedOut } from "../api/client.ts";
import { SessionContext } from "../api/session-context.ts";
import { enterNamespace, usePlace } from "../base/place.ts";
import { usePreferences } from "../base/preferences.ts";
import { setServerTime } from "../base/server-clock.ts";
import { LiveConnection } from "../live/live-connection.ts";
import { LiveContext } from "../live/use-live.ts";
import { Loading, Problem } from "../parts/page.tsx";
import { Shell } from "./shell.tsx";
import { SignIn } from "./sign-in.tsx";
import { styleNonce } from "./style-nonce.ts";
import { antThemeOf, useDocumentTheme, useIsDark } from "./theme.ts";

function newQueries(): QueryClient {
  // The client retries by itself; the live connection says when something has changed.
  return new QueryClient({
    defaultOptions: { queries: { retry: false, staleTime: 2000, refetchOnWindowFocus: true } },
  });
}

export function App() {
  const isDark = useIsDark();
  useDocumentTheme(isDark);
  const { language } = usePreferences();
  const theme = useMemo(() => antThemeOf(isDark), [isDark]);
  return (
    <ConfigProvider
      theme={theme}
      {...(language === "zh" && { locale: zhCN })}
      csp={{ nonce: styleNonce }}
      wave={{ disabled: true }}
      button={{ autoInsertSpace: false }}
    >
      <AntApp>
        <SessionGate />
      </AntApp>
    </ConfigProvider>
  );
}

/** The pages, once it is known who asks; the sign-in form otherwise. */
function SessionGate() {
  const [session, setSession] = useState<Session | null>();
  const [error, setError] = useState<unknown>();
  const take = (read: Session | null): void => {
    if (read !== null) setServerTime(read.now);
    setError(undefined);
    setSession(read);
  };
  const load = (): void => void readSession().then(take, setError);
  useEffect(load, []);
  const { namespace } = usePlace();
  useEffect(() => {
    if (session?.isBound === true && namespace !== session.namespace) {
      enterNamespace(session.namespace, { replace: true });
    }
  }, [session, namespace]);
  useEffect(() => whenSignedOut(() => setSession(null)), []);
  if (error !== undefined) return <Problem error={error} onRetry={load} />;
  if (session === undefined) return <Loading />;
  if (session === null) return <SignIn onSignedIn={take} />;
  const signOut = (): void => {
    void endSession().then(() => setSession(null), setError);
  };
  if (session.isBound && namespace !== session.namespace) return <Loading />;
  return <SignedIn key={`${session.name} ${namespace}`} session={session} signOut={signOut} />;
}

function socketAddress(): string {
  const query = new URLSearchParams(namespaceQuery()).toString();
  return `${location.origin.replace(/^http/, "ws")}/ws${query === "" ? "" : `?${query}`}`;
}

function SignedIn({ session, signOut }: { readonly session: Session; readonly signOut: () => void }) {
  // Each namespace has its own: nothing of one is shown in another.
  const [queries] = useState(newQueries);
  const [connection] = useState(() => new LiveConnection(socketAddress()));
  useEffect(() => {
    connection.open();
    return () => connection.close();
  }, [connection]);
  const state = useMemo(() => ({ session, signOut }), [session, signOut]);
  return (
    <SessionContext value={state}>
      <QueryClientProvider client={queries}>
        <LiveContext value={connection}>
          <Shell />
        </LiveContext>
      </QueryClientProvider>
    </SessionContext>
  );
}
