/** The content of a link's page, and the faults found in a template. */

export type PageLink = {
  readonly url: string | null;
  readonly path: string;
  readonly social_title: string | null;
  readonly social_description: string | null;
  readonly social_image_url: string | null;
  readonly address: string;
};

type PageApp = { readonly name: string | null; readonly custom_scheme: string | null };

export type PageIosApp = PageApp & {
  readonly bundle_id: string;
  readonly app_store_id: string | null;
  readonly clip_bundle_id: string | null;
  readonly team_id: string;
};

/** A button of the page. The caller decides which buttons to show and what they open. */
export type PageButton = {
  readonly kind: "open" | "app_store" | "play_store" | "continue";
  /** The display name of the app that the button opens, if known. */
  readonly app: string | null;
  readonly href: string;
};

/** The part of a desktop page that helps visitors continue on a phone. */
export type PhoneSection = {
  readonly stores: readonly PageButton[];
  /** The QR code as an SVG; undefined if the link's URL is too long. */
  readonly code: string | undefined;
};

/** The content of the page. Templates can read it with Liquid. */
export type PageSubject = {
  readonly link: PageLink;
  readonly apps: {
    readonly ios?: PageIosApp | undefined;
    readonly android?: (PageApp & { readonly package_name: string }) | undefined;
  };
  /** The URL for opening apps. If omitted, the link's own URL opens them. */
  readonly opened?: string;
  readonly project: { readonly name: string };
  readonly platform: "ios" | "android" | "desktop";
};

export type TemplateSource = { readonly body: string; readonly css: string };

export type TemplateFault = { readonly offset: number; readonly message: string };

export type ReportFault = (offset: number, message: string) => void;

export type TemplateProblem = {
  readonly field: "body" | "css";
  /** Line and column numbers start at 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
};

/** Returns the title that visitors see. A link's name is internal and never shown to them. */
export function readVisibleTitle(subject: Pick<PageSubject, "link" | "apps" | "platform">): string {
  const { link, apps, platform } = subject;
  const own = platform === "android" ? [apps.android, apps.ios] : [apps.ios, apps.android];
  const titles = [link.social_title, ...own.map((app) => app?.name ?? null)];
  return titles.find(isFilled) ?? new URL(link.address).hostname;
}

export function isFilled(text: string | null): text is string {
  return text !== null && text.trim() !== "";
}
