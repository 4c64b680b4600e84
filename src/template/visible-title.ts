import type { PageSubject } from "./page-input.ts";

/** The title that visitors see. A link's name is internal and never shown to them. */
export function readVisibleTitle(subject: Pick<PageSubject, "link" | "apps" | "platform">): string {
  const { link, apps, platform } = subject;
  const own = platform === "android" ? [apps.android, apps.ios] : [apps.ios, apps.android];
  const titles = [link.social_title, ...own.map((app) => app?.name ?? null)];
  return titles.find(isFilled) ?? new URL(link.address).hostname;
}

export function isFilled(text: string | null): text is string {
  return text !== null && text.trim() !== "";
}
