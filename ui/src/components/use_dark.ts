import { useEffect, useState } from "preact/hooks";

const query = () => matchMedia("(prefers-color-scheme: dark)");

function isDark(): boolean {
  const theme = document.documentElement.dataset.theme;
  return theme === undefined ? query().matches : theme === "dark";
}

/** Returns true if the page is dark, by the user's choice or the browser's; follows later changes. */
export function useDark(): boolean {
  const [dark, setDark] = useState(isDark);
  useEffect(() => {
    const follow = () => setDark(isDark());
    const preference = query();
    const choice = new MutationObserver(follow);
    choice.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    preference.addEventListener("change", follow);
    follow();
    return () => {
      choice.disconnect();
      preference.removeEventListener("change", follow);
    };
  }, []);
  return dark;
}
