import { useEffect, useState } from "preact/hooks";

/** `system`: as the browser says. */
export type Theme = "system" | "light" | "dark";
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const KEY = "headroom-theme";

/** Returns the theme of the last visit. A browser may forbid to store it. */
function kept(): Theme {
  try {
    const text = localStorage.getItem(KEY);
    return text === "light" || text === "dark" ? text : "system";
  } catch {
    return "system";
  }
}

/** Returns the theme, and a function that changes to the next one. Drawings follow by useDark(). */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(kept);
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // The theme then lasts as long as the page.
    }
  }, [theme]);
  return [theme, () => setTheme(NEXT[theme])];
}
