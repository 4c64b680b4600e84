import { findStoreKind, readStore } from "../contract/rules/store-address.ts";
import {
  decideVisit,
  readDestination,
  type Destination,
  type OpenButton,
  type Platform,
  type VisitDecision,
  type VisitedApps,
  type VisitedLink,
  type VisitOptions,
} from "./decide-visit.ts";

/** Lists the buttons of a link's page. */

/**
 * A button of a preview page. The link host and previews show the same buttons. `decideVisit`
 * decides what they open.
 */
export type VisitButton = {
  readonly kind: "open" | "app_store" | "play_store" | "continue";
  /** The display name of the app that the button opens, if known. */
  readonly app: string | null;
  readonly href: string;
};

export type PageButtonOptions = {
  readonly platform: Platform;
  readonly apps: VisitedApps;
  readonly address: string;
  /** The visited URL on the second host. Undefined if no second host is configured. */
  readonly second_address?: string | undefined;
};

export function listPageButtons(
  visit: VisitDecision,
  options: PageButtonOptions,
): readonly VisitButton[] {
  if (visit.action !== "preview_page") return [];
  const { open, next } = visit;
  const href = open && buildOpenAddress(open, next?.to, options);
  const buttons: VisitButton[] = [];
  if (href !== undefined) {
    buttons.push({ kind: "open", app: nameApp(options) ?? null, href });
  }
  if (next !== undefined) {
    buttons.push({ kind: findButtonKind(next), app: null, href: next.to });
  }
  return buttons;
}

/**
 * Returns the store buttons for a desktop page if the link has no desktop URL. Returns undefined if
 * phones have no destination either.
 */
export function listPhoneStores(
  link: VisitedLink,
  apps: VisitedApps,
  options: VisitOptions = {},
): readonly VisitButton[] | undefined {
  const visits = phones.map((platform) => decideVisit(link, apps, { platform }, options));
  if (visits.every(({ action }) => action === "default_page")) return undefined;
  return visits.flatMap((visit) => {
    const href = readDestination(visit)?.to;
    // A desktop browser can open a store's web page, but no store app.
    if (href === undefined || !/^https?:/i.test(href)) return [];
    const kind = findStoreKind(href);
    return kind === undefined ? [] : [{ kind, app: null, href }];
  });
}

const phones = ["ios", "android"] as const;

/** Returns the kind of button for a destination. A fallback URL may be a store's URL. */
export function findButtonKind({ to, reason }: Destination): Exclude<VisitButton["kind"], "open"> {
  const isStore = reason === "app_store" || reason === "play_store";
  return isStore ? reason : (readStore(to)?.kind ?? "continue");
}

function nameApp({ platform, apps }: PageButtonOptions): string | null | undefined {
  return platform === "desktop" ? undefined : apps[`${platform}_app`]?.name;
}

function buildOpenAddress(
  open: OpenButton,
  fallback: string | undefined,
  { address, second_address }: PageButtonOptions,
): string | undefined {
  const [, scheme = "", host = "", path = ""] =
    /^(https?):\/\/([^/]*)\/?(.*)$/is.exec(address) ?? [];
  switch (open.by) {
    case "second_host":
      return second_address;
    case "custom_scheme":
      return `${open.scheme}://${path}`;
    case "intent": {
      const place = open.scheme === null ? `${host}/${path}` : path;
      const parts = [`scheme=${open.scheme ?? scheme}`, `package=${open.package_name}`];
      // Chrome accepts only web pages as a fallback. Without a fallback, it opens the app's page in
      // Google Play.
      if (fallback !== undefined && /^https?:/i.test(fallback)) {
        parts.push(`S.browser_fallback_url=${encode(fallback)}`);
      }
      return `intent://${place.replace("#", "%23")}#Intent;${parts.join(";")};end`;
    }
  }
}

/** Encodes a value of an intent URL, because a semicolon would end the value. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
