/** What a link's page is made from, and what can be wrong with a template. */

export type PageLink = {
  readonly name: string | null;
  readonly url: string | null;
  readonly path: string;
  readonly social_title: string | null;
  readonly social_description: string | null;
  readonly social_image_url: string | null;
  /** The whole address under which the link is visited. */
  readonly address: string;
};

type PageApps = {
  readonly ios?: PageIosApp | undefined;
  readonly android?: PageAndroidApp | undefined;
};

type PageIosApp = {
  readonly name: string | null;
  readonly bundle_id: string;
  readonly app_store_id: string | null;
  readonly clip_bundle_id: string | null;
  readonly custom_scheme: string | null;
  readonly team_id: string;
};

type PageAndroidApp = {
  readonly name: string | null;
  readonly package_name: string;
  readonly custom_scheme: string | null;
};

/** One way on from the page. Whoever asks for the page decides where each leads. */
export type PageButton = {
  readonly kind: "open" | "app_store" | "play_store" | "continue";
  readonly label: string;
  readonly href: string;
};

type PagePlatform = "ios" | "android" | "desktop";

/** What the page tells of, and what Liquid can name. */
export type PageSubject = {
  readonly link: PageLink;
  readonly apps: PageApps;
  readonly project: { readonly name: string };
  readonly platform: PagePlatform;
};

export type TemplateSource = { readonly body: string; readonly css: string };

export type TemplateProblem = {
  readonly field: "body" | "css";
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
};
