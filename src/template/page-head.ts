import { isAppScheme } from "../contract/rules/app-rules.ts";
import { escapeText } from "../text/escape-html.ts";
import { isWebAddress } from "./html-rules.ts";
import type { PageIosApp, PageSubject } from "./page-input.ts";
import { isFilled, readVisibleTitle } from "./visible-title.ts";

/**
 * What programs read of a page: those that show a shared link (Open Graph, Twitter), iOS (the
 * Smart App Banner and the App Clip card), and those that open apps from it (App Links).
 */
export function renderHead(subject: PageSubject): string {
  const title = readVisibleTitle(subject);
  return [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">',
    '<meta name="color-scheme" content="light dark">',
    // A browser that is told of no icon asks the link host for one.
    '<link rel="icon" href="data:,">',
    `<title>${escapeText(title)}</title>`,
    ...describeSharing(subject, title),
    ...describeApps(subject),
  ].join("");
}

function describeSharing({ link, project }: PageSubject, title: string): readonly string[] {
  const { social_description: description, social_image_url: address } = link;
  const image = isFilled(address) && isWebAddress(address) ? address : null;
  const text = isFilled(description) ? description : null;
  return [
    tag("name", "description", text),
    `<link rel="canonical" href="${escapeText(link.address)}">`,
    tag("property", "og:type", "website"),
    tag("property", "og:site_name", project.name),
    tag("property", "og:title", title),
    tag("property", "og:description", text),
    tag("property", "og:url", link.address),
    tag("property", "og:image", image),
    tag("name", "twitter:card", image === null ? "summary" : "summary_large_image"),
    tag("name", "twitter:title", title),
    tag("name", "twitter:description", text),
    tag("name", "twitter:image", image),
  ];
}

function describeApps({ link, apps, opened = link.address }: PageSubject): readonly string[] {
  const { ios, android } = apps;
  const ofIos = ios && [
    tag("name", "apple-itunes-app", describeBanner(opened, ios)),
    tag("property", "al:ios:url", addressIn(opened, ios.custom_scheme)),
    tag("property", "al:ios:app_store_id", ios.app_store_id),
    tag("property", "al:ios:app_name", ios.name),
  ];
  const ofAndroid = android && [
    tag("property", "al:android:url", addressIn(opened, android.custom_scheme)),
    tag("property", "al:android:package", android.package_name),
    tag("property", "al:android:app_name", android.name),
  ];
  return [...(ofIos ?? []), ...(ofAndroid ?? []), tag("property", "al:web:url", link.address)];
}

/** Commas separate its parts, so that no part may have one. */
function describeBanner(
  address: string,
  { app_store_id, clip_bundle_id }: PageIosApp,
): string | null {
  const parts = [
    isFilled(app_store_id) ? `app-id=${app_store_id}` : "",
    isFilled(clip_bundle_id) ? `app-clip-bundle-id=${clip_bundle_id}` : "",
    isFilled(clip_bundle_id) ? "app-clip-display=card" : "",
  ].filter(isFilled);
  if (parts.length === 0) return null;
  return [...parts, `app-argument=${address.replaceAll(",", "%2C")}`].join(", ");
}

/**
 * The link's path under the app's own scheme; without one, the link itself. A remote server may
 * store a scheme that our rules refuse.
 */
function addressIn(address: string, scheme: string | null): string {
  if (scheme === null || !isAppScheme(scheme)) return address;
  return address.replace(/^https?:\/\/[^/]*\/?/i, `${scheme}://`);
}

function tag(kind: "name" | "property", name: string, content: string | null): string {
  if (content === null) return "";
  return `<meta ${kind}="${name}" content="${escapeText(content)}">`;
}
