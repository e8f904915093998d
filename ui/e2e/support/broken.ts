import type { Page } from "playwright-core";

/** Returns the names that act as more than text: markup, scripts, and names that reorder the text around them. */
export function broken(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    if ("pwned" in globalThis) found.push("a script ran");
    const live =
      "script:not([src]):not([type='application/json']), img, iframe, object, embed, base, form[action], body style, a[href^='javascript:' i]";
    for (const element of document.body.querySelectorAll(live))
      found.push(`an element: ${element.outerHTML.slice(0, 100)}`);
    for (const element of document.body.querySelectorAll("*")) {
      for (const name of element.getAttributeNames())
        if (/^on/i.test(name)) found.push(`an attribute: ${element.outerHTML.slice(0, 100)}`);
    }
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      const element = text.parentElement;
      if (
        element === null ||
        element.closest("svg, option") !== null ||
        !/[\u202a-\u202e\u2066-\u2069]/.test(text.nodeValue ?? "")
      )
        continue;
      const { display, unicodeBidi } = getComputedStyle(element);
      if (display === "inline" && unicodeBidi === "normal")
        found.push(`turns its line around (needs unicode-bidi: isolate): ${element.outerHTML.slice(0, 100)}`);
    }
    return found;
  });
}
