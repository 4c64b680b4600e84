import { findStoreKind, readStore } from "../contract/rules/store-address.ts";
import {
  decideVisit,
  readDestination,
  type Destination,
  type OpenButton,
  type Platform,
  type Visit,
  type VisitedApps,
  type VisitedLink,
  type VisitOptions,
} from "./decide-visit.ts";

/**
 * The buttons of a link's page, for the link host and for the preview alike: what `decideVisit`
 * decided, as addresses that a browser can follow.
 */
export type PageButton = {
  readonly kind: "open" | "app_store" | "play_store" | "continue";
  /** The name of the app that it opens, if that is known. */
  readonly app: string | null;
  readonly href: string;
};

export type PageButtonOptions = {
  readonly platform: Platform;
  readonly apps: VisitedApps;
  /** The link's whole address, as it is visited. */
  readonly address: string;
  /** The same address under the second host name, where there is one. */
  readonly second_address?: string | undefined;
};

export function listPageButtons(visit: Visit, options: PageButtonOptions): readonly PageButton[] {
  if (visit.action !== "preview_page") return [];
  const { open, next } = visit;
  const href = open && buildOpenAddress(open, next?.to, options);
  const buttons: PageButton[] = [];
  if (href !== undefined) {
    buttons.push({ kind: "open", app: nameApp(options) ?? null, href });
  }
  if (next !== undefined) {
    buttons.push({ kind: findButtonKind(next), app: null, href: next.to });
  }
  return buttons;
}

/**
 * The stores that phones are led to, for who meets a link on a computer and has nowhere to go
 * there. Undefined where no phone has anywhere to go either.
 */
export function listPhoneStores(
  link: VisitedLink,
  apps: VisitedApps,
  options: VisitOptions = {},
): readonly PageButton[] | undefined {
  const visits = phones.map((platform) => decideVisit(link, apps, { platform }, options));
  if (visits.every(({ action }) => action === "default_page")) return undefined;
  return visits.flatMap((visit) => {
    const href = readDestination(visit)?.to;
    // A computer knows the stores' web pages alone.
    if (href === undefined || !/^https?:/i.test(href)) return [];
    const kind = findStoreKind(href);
    return kind === undefined ? [] : [{ kind, app: null, href }];
  });
}

const phones = ["ios", "android"] as const;

/** A fallback may be the store's own address. */
export function findButtonKind({ to, reason }: Destination): Exclude<PageButton["kind"], "open"> {
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
      // Chrome takes a page alone here, and without one it opens the app's page in the store.
      if (fallback !== undefined && /^https?:/i.test(fallback)) {
        parts.push(`S.browser_fallback_url=${encode(fallback)}`);
      }
      return `intent://${place.replace("#", "%23")}#Intent;${parts.join(";")};end`;
    }
  }
}

/** A semicolon would end the value. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
