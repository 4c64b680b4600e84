/** What a link's page is made from, and what can be wrong with a template. */

export type PageLink = {
  readonly url: string | null;
  readonly path: string;
  readonly social_title: string | null;
  readonly social_description: string | null;
  readonly social_image_url: string | null;
  /** The whole address under which the link is visited. */
  readonly address: string;
};

type PageApp = { readonly name: string | null; readonly custom_scheme: string | null };

export type PageIosApp = PageApp & {
  readonly bundle_id: string;
  readonly app_store_id: string | null;
  readonly clip_bundle_id: string | null;
  readonly team_id: string;
};

/** A button of the page; the caller decides which there are and where each leads. */
export type PageButton = {
  readonly kind: "open" | "app_store" | "play_store" | "continue";
  /** The name of the app that it opens, if that is known. */
  readonly app: string | null;
  readonly href: string;
};

/** How to go on by phone, for who has come by a computer. */
export type PhoneWays = {
  readonly stores: readonly PageButton[];
  /** The link's QR code, as an SVG of ours; undefined where it is longer than any code. */
  readonly code: string | undefined;
};

/** What the page tells of, and what Liquid can name. */
export type PageSubject = {
  readonly link: PageLink;
  readonly apps: {
    readonly ios?: PageIosApp | undefined;
    readonly android?: (PageApp & { readonly package_name: string }) | undefined;
  };
  /** The address that apps are opened with; left out, the link's own. */
  readonly opened?: string;
  readonly project: { readonly name: string };
  readonly platform: "ios" | "android" | "desktop";
};

export type TemplateSource = { readonly body: string; readonly css: string };

/** What is wrong at an offset of a body or a stylesheet. */
export type Fault = { readonly offset: number; readonly message: string };

export type ReportFault = (offset: number, message: string) => void;

export type TemplateProblem = {
  readonly field: "body" | "css";
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
};
