import { theme as antTheme, type ThemeConfig } from "antd";
import { useEffect, useSyncExternalStore } from "react";
import { usePreferences } from "../base/preferences.ts";

const systemDark = window.matchMedia("(prefers-color-scheme: dark)");

function useSystemDark(): boolean {
  return useSyncExternalStore(
    (listener) => {
      systemDark.addEventListener("change", listener);
      return () => systemDark.removeEventListener("change", listener);
    },
    () => systemDark.matches,
  );
}

export function useIsDark(): boolean {
  const { theme } = usePreferences();
  const isSystemDark = useSystemDark();
  return theme === "system" ? isSystemDark : theme === "dark";
}

/** Puts theme, palette and language on the document, where the style sheets look for them. */
export function useDocumentTheme(isDark: boolean): void {
  const { palette, language } = usePreferences();
  useEffect(() => {
    const { documentElement: root } = document;
    root.dataset["theme"] = isDark ? "dark" : "light";
    root.dataset["palette"] = palette;
    root.lang = language === "zh" ? "zh-CN" : "en";
  }, [isDark, palette, language]);
}

const shared = {
  borderRadius: 6,
  fontSize: 14,
  fontFamily: "var(--font)",
  motionDurationFast: "0.08s",
  motionDurationMid: "0.12s",
  motionDurationSlow: "0.16s",
  boxShadow: "none",
};

/** Components that wait for the end of an animation must know that there is none. */
const isStill = window.matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Colour means status, so that controls have none: the primary button is ink on paper. */
export function antThemeOf(isDark: boolean): ThemeConfig {
  const ink = isDark ? "#e8ebf0" : "#1b1f27";
  const paper = isDark ? "#0e1014" : "#ffffff";
  const quiet = isDark ? "#9ba5b4" : "#5a6372";
  return {
    hashed: false,
    algorithm: isDark ? antTheme.darkAlgorithm : antTheme.defaultAlgorithm,
    token: {
      ...shared,
      motion: !isStill,
      colorPrimary: isDark ? "#e8ebf0" : "#1b1f27",
      colorInfo: isDark ? "#6ba5f9" : "#1d5fd1",
      colorError: isDark ? "#ff7b83" : "#b4152b",
      colorSuccess: isDark ? "#2fd1ae" : "#0b7f6b",
      colorWarning: isDark ? "#ffd466" : "#8a5a00",
      colorText: ink,
      colorTextSecondary: quiet,
      colorTextDescription: quiet,
      colorTextPlaceholder: quiet,
      colorBgLayout: isDark ? "#0e1014" : "#f6f7f9",
      colorBgContainer: isDark ? "#15181e" : "#ffffff",
      colorBgElevated: isDark ? "#1d2128" : "#ffffff",
      colorBorder: isDark ? "#414a57" : "#c6cdd6",
      colorBorderSecondary: isDark ? "#2a303a" : "#e1e5ea",
    },
    components: {
      Button: {
        primaryColor: paper,
        colorPrimary: ink,
        colorPrimaryHover: isDark ? "#ffffff" : "#3d4552",
        colorPrimaryActive: quiet,
        primaryShadow: "none",
        defaultShadow: "none",
        dangerShadow: "none",
        fontWeight: 500,
      },
      Tabs: { horizontalMargin: "0 0 12px 0", inkBarColor: ink, itemSelectedColor: ink, itemColor: quiet },
      Segmented: { itemSelectedColor: ink, itemColor: quiet, trackBg: isDark ? "#1d2128" : "#e9ecf0" },
      Tooltip: { colorBgSpotlight: isDark ? "#343b47" : "#1b1f27" },
      Switch: { colorPrimary: isDark ? "#2fb597" : "#0b7f6b", colorPrimaryHover: isDark ? "#2fd1ae" : "#0e9c86" },
      Checkbox: { colorPrimary: isDark ? "#aab2bf" : "#1b1f27" },
    },
  };
}
